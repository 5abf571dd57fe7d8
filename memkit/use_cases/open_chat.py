"""Open a conversation of one user with the agent of a store."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from memkit.agent import Parts, ReferenceAgent, Setting
from memkit.domains.files import StoreDomain, store_domains
from memkit.errors import NotFound, NotTrusted, UsageError
from memkit.runtime.loop.interface import DeclaredTool
from memkit.runtime.loop.planner import Procedure
from memkit.runtime.memory.gate.gate import event_problems
from memkit.runtime.memory.log.clone import state_folder
from memkit.runtime.memory.record.lines import Refused, parse_duration
from memkit.runtime.memory.record.record import Origin
from memkit.skills.skill import StoreProcedures
from memkit.store.config import DEFAULT
from memkit.store.layout import MANIFEST
from memkit.workspace import LEFT_ASIDE, Workspace

if TYPE_CHECKING:
    from memkit.runtime.htn.language.domain import Domain
    from memkit.runtime.htn.language.methods import Method

NOBODY = ""
"""The user of a conversation without a named user."""


def open_chat(
    workspace: Workspace,
    setting: Setting,
    *,
    resume: bool = False,
    provider: str | None = None,
    model: str | None = None,
    adapt: Callable[[Parts], Parts] = lambda parts: parts,
) -> ReferenceAgent:
    """Return the agent of the store, ready to talk.

    Args:
        workspace: The store.
        setting: Whom it talks to, in which session and under which circumstances; the store's settings bound them.
        resume: Continue the session that this user had last.
        provider: The model's provider, as in ``scripted:answers.yaml``; the configured one by default.
        model: The model's name, for providers that have several.
        adapt: Changes the agent's parts, such as its tools in a dry run.

    Raises:
        NotFound: There is no such session to continue or to fork.
        NotTrusted: The store chose the provider, or has tools of its own, and nobody trusted it.
        UsageError: The name is not allowed, or the fork would replace an existing session.
        Refused: A name holds a secret.
    """
    parts = _parts(workspace, setting.user or None, provider, model)
    agent = ReferenceAgent(adapt(parts), _settled(workspace, setting, resume=resume))
    workspace.release_at_close(agent.close)
    return agent


def _settled(workspace: Workspace, setting: Setting, *, resume: bool) -> Setting:
    """Return the setting with names resolved to ids, within the bounds of the store."""
    user, settings = setting.user, workspace.settings
    _check_names(user, setting.session or "", setting.agent_id)  # an id made here is a date and four digits
    session = _session(workspace, setting, resume=resume)
    if user and setting.name is not None:
        from memkit.use_cases.sessions import require_name

        require_name(workspace, setting.name, user=user, session=session)
    is_fork = user and setting.fork_of is not None
    return replace(
        setting,
        session=session,
        fork_of=_forked(workspace, setting.fork_of or "", user=user, session=session) if is_fork else None,
        long_term=bool(user) and settings["privacy.long_term"] != "off",
        max_seconds=parse_duration(str(settings["turn.within"])),
    )


def _parts(workspace: Workspace, user: str | None, provider: str | None, model: str | None) -> Parts:
    """Return the parts of the store's agent."""
    settings, domains = workspace.settings, store_domains(workspace.root, partial(_learned, workspace))
    tools = _tools(workspace, provider)
    return Parts(
        archive=workspace.archive,
        root=workspace.root,
        sessions=workspace.sessions,
        shared=workspace.shared,
        clock=workspace.clock,
        model=workspace.language_model(provider, model),
        guard=workspace.live_guard,
        persona=settings["persona"],
        domains=domains,
        tools=tools,
        objection=lambda tool: _objection(workspace, tool),
        procedures=StoreProcedures(lambda: workspace.skills, lambda: _rules_and_methods(workspace, domains)),
        observe=workspace.audit.append,
        sealer=workspace.sealer,
        similar=workspace.by_meaning,
        leave_traces=workspace.leave_traces,
        cut_off_plans=lambda: _cut_off_plans(workspace, user),
        side_model=workspace.side_model(provider),
        sums_up=workspace.summary_model != "off",
        notice=workspace.notice,
        shelve=lambda proposed, taint: _shelved(workspace, domains, provider or settings["provider"], proposed, taint),
    )


def _tools(workspace: Workspace, provider: str | None) -> list[DeclaredTool]:
    """Return the tools that may run; without trust, a requested reference model has those of memkit."""
    own, settings = workspace.own_tools, workspace.settings
    named = provider or (
        settings["provider"] if settings.values["provider"].origin not in (MANIFEST, DEFAULT) else None
    )
    if not own or named != "reference":
        workspace.require_tools()
    elif not workspace.trust.holds():
        workspace.notice(LEFT_ASIDE.format(f"the tools {', '.join(sorted(own))}"))
        return [tool for tool in workspace.tools if tool.name not in own]
    return workspace.tools


def _objection(workspace: Workspace, tool: str) -> str | None:
    """Return why a declared tool may not run now, though it could when the conversation began."""
    try:
        if tool in workspace.own_tools:
            workspace.require_tools()
    except NotTrusted as refused:
        return str(refused)
    return None


def _learned(workspace: Workspace, name: str, domain: Domain) -> Sequence[Method]:
    """Return the learned methods of a domain; code that reads them is loaded only for planning."""
    from memkit.domains.learned import LearnedMethods

    return LearnedMethods.of_store(workspace.root, name).methods(domain, workspace.notice)


def _shelved(
    workspace: Workspace,
    domains: Mapping[str, StoreDomain],
    provider: str,
    proposed: Mapping[str, Any],
    taint: Sequence[str],
) -> str | None:
    """Store what was proposed under taint where a person can promote it; return its name."""
    from memkit.runtime.htn.language.domain import Problem
    from memkit.use_cases.lessons import ProposedBy, keep_proposal

    by = ProposedBy(provider, None, Problem(tasks=()), workspace.clock(), tuple(taint))
    return keep_proposal(workspace.root, domains, proposed, by, workspace.notice)


def _rules_and_methods(workspace: Workspace, domains: Mapping[str, StoreDomain]) -> Iterator[Procedure]:
    """Yield the store's procedures other than skills."""
    for rule in workspace.live_guard.advice():
        yield Procedure("policy", rule.name, rule.rule)
    for domain, known in domains.items():
        for method in known.learned:
            steps = "; ".join(map(str, method.steps))
            yield Procedure("method", method.name, f"learned way to {method.task} in {domain}: {steps}")


def _cut_off_plans(workspace: Workspace, user: str | None) -> list[str]:
    """Return a sentence on each of this user's runs of a plan that was begun and not ended."""
    from memkit.domains.runs import PlanRuns

    states = PlanRuns(state_folder(workspace.root) / "plans").states(workspace.notice)
    waiting = (state for state in states if state.run.user == user and state.outcome is None)
    return [
        f"The plan for {'; '.join(state.to_data()['tasks'])} was interrupted after {state.completed} of "
        f"{state.started} steps, or is running: memkit plan --resume {state.run.id}"
        for state in waiting
    ]


def _check_names(user: str, session: str, agent: str | None) -> None:
    """Raise ``Refused`` if a name holds a secret: names are in every line that a conversation leaves behind."""
    if problems := event_problems({}, Origin(actor="user", user_id=user, session_id=session, agent_id=agent)):
        raise Refused(problems)


def _session(workspace: Workspace, setting: Setting, *, resume: bool) -> str:
    """Return the id of the meant session, or of a new one; only a named user's sessions have names."""
    user, given = setting.user, setting.session
    if user and given:
        return workspace.session_book.called(user, given) or given
    if user and resume:
        return last_session(workspace, user, setting.agent_id)
    return given or _new_session(workspace)


def _new_session(workspace: Workspace) -> str:
    return f"{workspace.clock():%Y%m%dT%H%M%S}-{os.urandom(2).hex()}"


def last_session(workspace: Workspace, user: str, agent_id: str | None = None) -> str:
    """Return this user's last session with this agent; raise ``NotFound`` without one."""
    found = [card for card in workspace.session_book.of(user) if card.agent_id == agent_id]
    if not found:
        raise NotFound(f"{user!r:.60} has no session to continue. Leave out -c and -r, or name one with --session.")
    return found[0].session


def _forked(workspace: Workspace, word: str, *, user: str, session: str) -> str:
    """Return the id of the session that ``session`` starts as a copy of."""
    book = workspace.session_book
    origin = book.find(user, word)
    if not book.content(origin):
        raise NotFound(f"Only the turns of {origin.session!r:.60} are left, and no prompt to fork from.")
    if any(card.session == session for card in book.of(user)):
        raise UsageError(
            f"Session {session!r:.60} already exists, and here --session names the new one. To fork {session!r:.60}: "
            f"--fork {shlex.quote(session)}."
        )
    return origin.session
