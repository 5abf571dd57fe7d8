"""Bring back an earlier version of a core section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memkit.errors import NegativeAnswer, NotFound, UsageError
from memkit.runtime.memory.interface import Decision
from memkit.workspace import Workspace

HIDDEN = ("quarantined", "rejected")


@dataclass(frozen=True)
class RolledBack:
    """What a roll-back came to."""

    decision: Decision
    text: str
    """What the section says now."""


def roll_back_core(
    workspace: Workspace, section: str, version: str, *, user: str, agent_id: str | None = None, reason: str = ""
) -> RolledBack:
    """Offer an earlier text of ``section`` as a new edit; ``version`` is a number of versions back, or an edit's id.

    Raises:
        NotFound: The section has no such version.
        NegativeAnswer: The version was never admitted, or its text stands already.
        UsageError: A number of versions that is none.
    """
    history = workspace.archive.core_history(user)
    edits = [edit for edit in history if edit["section"] == section and edit["agent_id"] == agent_id]
    text = _text_of(edits, section, version)
    if text == workspace.archive.core_sections(user, agent_id).get(section, ""):
        raise NegativeAnswer(f"{section} says that already.")
    why = reason or f"back to {version}"
    decision = workspace.archive.edit_core(user, section, text, workspace.person(user, agent=agent_id), reason=why)
    if decision.decision != "refused":
        workspace.commit_memory()
    return RolledBack(decision, text)


def _text_of(edits: Sequence[Mapping[str, object]], section: str, version: str) -> str:
    named = [edit for edit in edits if edit["id"] == version]
    if named:
        if named[0]["trust"] in HIDDEN:
            raise NegativeAnswer(f"Edit {version} was {named[0]['trust']}; approve it first: memkit memory approve ID.")
        return str(named[0]["text"])
    if not version.isdigit():
        raise NotFound(f"{section} has no edit {version!r:.60}. See memkit core history.")
    if int(version) < 1:
        raise UsageError("How many versions back? Give 1 or more.")
    # Before its first edit a section was empty.
    texts = ["", *(str(edit["text"]) for edit in edits if edit["trust"] not in HIDDEN)]
    if int(version) >= len(texts):
        raise NotFound(f"{section} has {len(texts) - 1} versions, so there is none {version} back.")
    return texts[-1 - int(version)]
