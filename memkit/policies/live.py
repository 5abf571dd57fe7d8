"""The policies of a running agent: those of the files, taken over between turns as a whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from memkit.errors import EnvironmentFault, UsageError
from memkit.policies.files import policy_data
from memkit.runtime.guard.core import Guard
from memkit.runtime.guard.interface import JSON, Advice, PolicySetError, Verdict
from memkit.store.last_good import LastGood

if TYPE_CHECKING:
    from memkit.store.git import Git


class LiveGuard:
    """A judge whose policies may change between turns, and never within one.

    A changed set takes the place of the old one when all of it loads; until then the old one holds. Where none has
    loaded yet, every call is denied.
    """

    def __init__(self, folder: Path, *, tell: Callable[[str], None], taken: Callable[[Guard], None]) -> None:
        """Load the policies in ``folder``.

        Args:
            folder: Where the policies lie.
            tell: Hears of a set that does not load, and of the one that then does.
            taken: Hears of each set that takes the place of another.
        """
        self._folder = folder
        self._tell = tell
        self._taken = taken
        self._missed = False
        self._files: LastGood[Guard] | None = None
        self._loaded: tuple[list[Mapping[str, JSON]], Guard] | None = None
        self._guard = Guard([])
        self._look()

    def begin_turn(self) -> None:
        """Take over what people changed since the last turn, if it is valid as a whole."""
        before = self._guard
        self._look()
        if self._guard is not before and self._guard.fault is None:
            self._taken(self._guard)

    def decide(self, tool: str, args: Mapping[str, JSON], context: Mapping[str, JSON]) -> Verdict:
        """Return the verdict on one call, by the policies of this turn."""
        return self._guard.decide(tool, args, context)

    def advice(self) -> list[Advice]:
        """Return the rule text of every active policy of this turn."""
        return self._guard.advice()

    @property
    def fault(self) -> str | None:
        """Return why every call is denied, when no set of policies has loaded."""
        return self._guard.fault

    def _look(self) -> None:
        if self._is_gone():
            return
        try:
            if self._files is None:
                self._files = LastGood(self._folder, self._load, what="policies", tell=self._tell)
            self._guard = self._files.current()
        except UsageError as error:  # the first set: there is no good one to fall back on
            if self._guard.fault != str(error):
                self._tell(f"Every action is denied until the policies load. {error}")
            self._guard = Guard.broken(str(error))

    def _is_gone(self) -> bool:
        """Return whether the policies in force lost their folder: nobody lifts them all by moving it away."""
        gone = bool(self._guard.policies) and not self._folder.is_dir()
        if gone and not self._missed:
            self._tell(f"The policies stay as they were, because {self._folder.name}/ is gone. Empty it to have none.")
        self._missed = gone
        return gone

    def _load(self) -> Guard:
        policies = list(policy_data(self._folder).values())
        if self._loaded is None or policies != self._loaded[0]:  # else read again because a file was young
            try:
                self._loaded = policies, Guard(policies)
            except PolicySetError as error:
                raise UsageError(str(error)) from error
        return self._loaded[1]


def name_set(guard: Guard, git: Git) -> str:
    """Return which policies hold, for the audit log: how many, of which commit, and whether that is all of it."""
    count = f"{len(guard.policies)} policies"
    try:
        commit = git.run("rev-parse", "--short", "HEAD", check=False).strip()
        changed = git.status("policies")
    except EnvironmentFault:
        return count
    return f"{count} of commit {commit or 'none'}{', with changes that are in no commit' if changed else ''}"
