"""What people call commits, found in the repository of a store."""

from __future__ import annotations

from memkit.errors import EnvironmentFault, UsageError
from memkit.store.git import Git
from memkit.store.git_objects import GitObjects


def resolve(git: Git, revision: str) -> str:
    """Return the id of the commit that a person calls ``revision``.

    Raises:
        EnvironmentFault: The store lies in no repository.
        UsageError: There is no such commit; the message says where the history of the clone may end too early.
    """
    try:
        return GitObjects(git).commit_id(revision)
    except EnvironmentFault:
        raise
    except UsageError as error:
        hint = _shallow_hint(git)
        raise UsageError(f"{str(error).removesuffix('.')}.{hint}") if hint else error from None


def parting(git: Git, one: str, other: str) -> str:
    """Return the commit where two revisions parted.

    Raises:
        EnvironmentFault: The store lies in no repository.
        UsageError: There is no such revision, or they have no commit in common.
    """
    found = git.run("merge-base", resolve(git, one), resolve(git, other), check=False).strip()
    if not found:
        raise UsageError(f"{one} and {other} have no commit in common.{_shallow_hint(git)}")
    return found


def missing_from(git: Git, one: str, other: str) -> int:
    """Return how many commits lead to ``one``, an id, and not to ``other``; 0 where nobody can tell."""
    printed = git.run("rev-list", "--count", one, f"^{other}", check=False).strip()
    return int(printed or 0)


def is_shallow(git: Git) -> bool:
    """Return whether the clone lacks its older commits."""
    return git.run("rev-parse", "--is-shallow-repository", check=False).strip() == "true"


def _shallow_hint(git: Git) -> str:
    return " This clone is shallow: 'git fetch --unshallow' brings the older commits." if is_shallow(git) else ""
