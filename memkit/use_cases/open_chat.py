"""Open a conversation of one user with the agent of a store."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any

from memkit.agent import Parts, ReferenceAgent, Setting
from memkit.domains import load_domains
from memkit.errors import NotFound
from memkit.learned.shelf import Shelf
from memkit.loop.events import Listener
from memkit.loop.interface import Approval
from memkit.memory.errors import Refused
from memkit.memory.gate import event_problems
from memkit.memory.record import Origin
from memkit.workspace import Workspace

NOBODY = ""
"""The user of a conversation that nobody is named for."""


def open_chat(
    workspace: Workspace,
    *,
    user: str | None,
    session: str | None = None,
    resume: bool = False,
    provider: str | None = None,
    model: str | None = None,
    context: Mapping[str, Any] | None = None,
    remembers: bool = True,
    approve: Approval | None = None,
    agent_id: str | None = None,
    listen: Listener | None = None,
    adapt: Callable[[Parts], Parts] = lambda parts: parts,
) -> ReferenceAgent:
    """Return the agent of the store, ready to talk to ``user``.

    Args:
        workspace: The store.
        user: Whose memory it is; with None nothing is stored or recalled long-term.
        session: The session to go on with or to begin; a new one without it.
        resume: Go on with the session that this user had last.
        provider: The model's provider, as in ``scripted:answers.yaml``; the configured one without it.
        model: The model's name, for providers that have several.
        context: What the host program says about where it runs, for the policies.
        remembers: False for a conversation that neither reads nor writes anything that lasts.
        approve: Asks a person about a call that a policy wants confirmed.
        agent_id: Which of the user's agents this is; None for the one agent of a user who has no other.
        listen: Is told what happens in a turn while it happens.
        adapt: Changes what the agent is made of, such as its tools in a dry run.
    """
    settings, domains = workspace.settings, load_domains(workspace.root)
    parts = Parts(
        archive=workspace.archive,
        root=workspace.root,
        sessions=workspace.sessions,
        clock=workspace.clock,
        model=workspace.language_model(provider, model),
        guard=workspace.live_guard,
        persona=settings["persona"],
        domains=domains,
        learned={
            name: Shelf.of_store(workspace.root, name).methods(domain, workspace.notice)
            for name, domain in domains.items()
        },
        tools=workspace.tools,
        observe=workspace.audit.append,
        sealer=workspace.sealer,
    )
    session = session or (_last_session(workspace, user) if resume and user else _new_session(workspace))
    _check_names(user or NOBODY, session, agent_id)
    setting = Setting(
        user=user or NOBODY,
        session=session,
        context=dict(context or {}),
        remembers=remembers,
        long_term=user is not None and settings["privacy.long_term"] != "off",
        approve=approve,
        agent_id=agent_id,
        listen=listen,
    )
    return ReferenceAgent(adapt(parts), setting)


def _check_names(user: str, session: str, agent: str | None) -> None:
    """Raise ``Refused`` where a name holds a secret: names stand in every line that a conversation leaves behind."""
    if problems := event_problems({}, Origin(actor="user", user_id=user, session_id=session, agent_id=agent)):
        raise Refused(problems)


def _new_session(workspace: Workspace) -> str:
    return f"{workspace.clock():%Y%m%dT%H%M%S}-{secrets.token_hex(2)}"


def _last_session(workspace: Workspace, user: str) -> str:
    found = workspace.recall.sessions(user)
    if not found:
        raise NotFound(f"{user!r:.60} has no session to go on with. Leave out -c, or name one with --session.")
    return found[0]
