"""Say how a skill, a policy or a domain came to be what it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memkit.errors import NotFound
from memkit.store.file_history import FileHistory, Revision
from memkit.store.git import Git
from memkit.store.kind import Kind


@dataclass(frozen=True)
class Trace:
    """The past of one file."""

    revisions: list[Revision]
    """Newest first."""
    is_shallow: bool
    """Whether this clone left older commits behind, so that the oldest one here may not be the first."""


def trace_file(root: Path, kind: Kind, name: str) -> Trace:
    """Return the commits that touched the skill, policy or domain ``name``.

    Raises:
        NotFound: No commit has it.
        StoreFault: The store is in no git repository.
    """
    history = FileHistory(Git(root), kind.path(name))
    revisions, shallow = history.revisions(), history.is_shallow
    if not revisions:
        where = " in this shallow clone; 'git fetch --unshallow' brings the older ones" if shallow else ""
        raise NotFound(f"No commit has a {kind.noun} {name!r}{where}.")
    return Trace(revisions, shallow)
