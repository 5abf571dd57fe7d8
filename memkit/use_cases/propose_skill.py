"""Draft a skill from what worked in a session, on a branch that a person reviews and merges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memkit.errors import NegativeAnswer, NotFound, UsageError
from memkit.runtime.memory.record.record import union
from memkit.runtime.memory.tiers.fence import visible
from memkit.runtime.memory.tiers.sessions import SessionTurn, session_owners
from memkit.skills.draft import default_name, draft_text, worked
from memkit.skills.skill import SKILL, Skill, read_skill, skill_findings
from memkit.store.file_history import FileHistory
from memkit.store.git_objects import GitObjects
from memkit.store.layout import schema_comment
from memkit.store.schema import suggestion
from memkit.store.yaml import load_yaml
from memkit.workspace import Workspace


@dataclass(frozen=True)
class Proposal:
    """A drafted skill, and where it waits."""

    skill: Skill
    path: str
    text: str
    branch: str | None
    """None for a dry run."""
    commit: str | None
    taint: tuple[str, ...] = ()
    """What may have steered the session that it is drafted from."""


def propose_skill(
    workspace: Workspace,
    session: str,
    *,
    user: str | None = None,
    name: str | None = None,
    branch: str | None = None,
    quote: bool = False,
    dry_run: bool = False,
) -> Proposal:
    """Put a skill that repeats what worked in ``session`` on a branch as one commit.

    The working tree, the index and the checked-out branch stay as they are, so nothing loads the draft
    before a person merges it. It is visible to everybody, so without ``quote`` it holds no word of what was said.

    Args:
        workspace: The store.
        session: The session to learn from.
        user: Whose session it is; not needed if only one user has one of this name.
        name: The skill's name; by default the tools' names.
        branch: The new branch; by default ``memkit/skill-<name>``.
        quote: Whether the user's own words become examples, in git, for everybody to read.
        dry_run: Whether only to draft.

    Raises:
        NotFound: The user has no such session.
        NegativeAnswer: No declared tool was called in it with success.
        UsageError: Several users have such a session, there is such a skill or branch
            already, or the repository has no commit yet.
        EnvironmentFault: The store is not in a repository, or git cannot commit.
    """
    tools = {tool.name: tool for tool in workspace.tools}
    user = user or _owner(workspace, session)
    turns = _turns(workspace, session, user)
    taint = union(*(turn.taint for turn in turns))
    asked = worked(turns, tools.keys())
    if not asked:
        raise NegativeAnswer(f"No declared tool worked in the session {session!r}, so there is nothing to draft from.")
    name = name or default_name(asked)
    path, branch = SKILL.path(name), branch or f"memkit/skill-{name}"
    objects = GitObjects(workspace.git)
    head = objects.commit_id("HEAD")
    if (workspace.root / path).exists() or FileHistory(workspace.git, path).text_at(head) is not None:
        raise UsageError(f"A skill {name!r} already exists. Name the draft with --name.")
    if objects.branch(branch) is not None:
        raise UsageError(
            f"The branch {branch!r} already exists. Merge or delete it ('git branch -D {branch}'), or give --branch."
        )
    text = (
        schema_comment(workspace.root, "skill")
        + _mark(taint)
        + draft_text(name, asked, tools, workspace.guard, quote=quote)
    )
    skill = _checked(text, name, path)
    if dry_run:
        return Proposal(skill, path, text, None, None, taint)
    commit = objects.commit(branch, {path: text.encode()}, _message(skill, taint), parent=head)
    event = {"event": "skill_proposed", "actor": "person", "user_id": user, "session_id": session, "skill": name}
    workspace.audit.append(event)
    return Proposal(skill, path, text, branch, commit, taint)


def _owner(workspace: Workspace, session: str) -> str:
    owners = session_owners(workspace.sessions, session)
    if len(owners) > 1:
        raise UsageError(f"Several users have a session {session!r}. Name the user with --user.")
    return owners[0] if owners else workspace.user(None)


def _turns(workspace: Workspace, session: str, user: str) -> list[SessionTurn]:
    turns = workspace.recall.turns(session, user)
    if not turns:
        known = workspace.recall.sessions(user)
        hint = suggestion(session, known) or (f" The last one is {known[0]!r}." if known else " There is none.")
        raise NotFound(f"{user} has no session {session!r} here.{hint}")
    return turns


def _checked(text: str, name: str, path: str) -> Skill:
    """Return the drafted skill; an invalid draft, for example due to the name of a tool, is not put on a branch."""
    document = load_yaml(text, name=path)
    for finding in skill_findings(document, name):
        raise NegativeAnswer(f"The session cannot be drafted as a skill: {finding.message}")
    return read_skill(document.data)


def _mark(taint: Sequence[str]) -> str:
    """Return the line of a draft that names what may have steered it; empty if nothing has."""
    origins = ", ".join(visible(" ".join(origin.split())) for origin in taint)
    return f"# Drafted from a session whose prompt contained text from outside ({origins}).\n" if taint else ""


def _message(skill: Skill, taint: Sequence[str] = ()) -> str:
    tools = ", ".join(skill.required_tools)
    lines = (
        f"Propose the skill {skill.name}", "", f"Drafted from what worked in a session, with {tools}.",
        "Read every step before you merge it, and say in description and when_to_use what it is for.",
        *(["", _mark(taint).removeprefix("# ").rstrip()] if taint else []), "",
    )  # fmt: skip
    return "\n".join(lines)
