"""The policies of a running agent: those of the files, taken over between turns as a whole or not at all.

``LastGood`` is the same for any files: what held last holds until the next complete set.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from memkit.errors import EnvironmentFault, MemkitError, UsageError
from memkit.policies.files import policy_data
from memkit.runtime.guard.interface import JSON, Advice, PolicySetError, Verdict
from memkit.store.layout import SETTLED

if TYPE_CHECKING:
    from memkit.runtime.guard.core import Guard
    from memkit.store.git import Git


Value = TypeVar("Value")
Stamp = tuple[tuple[str, int, int, int], ...]

TRIES = 3
"""How often a set is loaded that changes while it is read, before the next turn has to do."""


class LastGood(Generic[Value]):
    """A value made of all files of a folder: a new one takes the place of the old only when it is complete and valid.

    Until then the old one holds, and what keeps the new one out is told once.
    """

    def __init__(
        self, folder: Path, load: Callable[[], Value], *, what: str, tell: Callable[[str], None], suffix: str = ".yaml"
    ) -> None:
        """Load the first value, and raise what keeps it from loading.

        Args:
            folder: Where the files lie.
            load: Makes the value of all of them, or raises ``MemkitError``.
            what: What they are called together, such as ``skills``.
            tell: Hears of a set that does not load, and of the one that then does.
            suffix: What the names of the files end with.
        """
        self._folder = folder
        self._load = load
        self._what = what
        self._tell = tell
        self._suffix = suffix
        self._told = ""
        stamp = self._stamped()
        self._value = load()
        self._stamp = _settled(stamp)

    def current(self) -> Value:
        """Return the newest complete and valid value; looks at the folder, and reads it only when it changed."""
        for _ in range(TRIES):
            stamp = self._stamped()
            if stamp == self._stamp:
                break
            loaded = self._loaded()
            if self._stamped() == stamp:  # otherwise it is a mixture of two sets
                self._stamp = _settled(stamp)
                self._take(loaded)
                break
        return self._value

    def _loaded(self) -> tuple[Value] | MemkitError:
        try:
            return (self._load(),)
        except MemkitError as error:
            return error

    def _take(self, loaded: tuple[Value] | MemkitError) -> None:
        """Let a value take the place of the old one, and say it where it is none."""
        if isinstance(loaded, MemkitError):
            if str(loaded) != self._told:
                self._tell(f"The {self._what} stay as they were, because the changed ones do not load. {loaded}")
            self._told = str(loaded)
            return
        (self._value,) = loaded
        if self._told:
            self._tell(f"The {self._what} load again.")
        self._told = ""

    def _stamped(self) -> Stamp:
        """Return what tells the files of the folder from what they were, without reading them."""
        try:
            paths = sorted(path for path in self._folder.iterdir() if path.suffix == self._suffix)
            stats = [(path.name, path.stat()) for path in paths]
        except OSError:
            return ()  # no folder, or a file that went away in between: loading says what is wrong
        return tuple((name, stat.st_mtime_ns, stat.st_size, stat.st_ino) for name, stat in stats)


def _settled(stamp: Stamp) -> Stamp | None:
    """Return a stamp that can be relied on, or None where a file is so new that it may change and keep its time."""
    newest = max((changed for _, changed, _, _ in stamp), default=0)
    return stamp if newest < time.time_ns() - SETTLED else None


class PoliciesInForce:
    """Policies as their files say them; most turns call nothing, so they are compiled for the first call to judge."""

    def __init__(self, policies: Sequence[Mapping[str, JSON]] = ()) -> None:
        self.policies = policies
        self.spelled = repr(policies)  # in which true and 1 differ, as they do in a condition
        self._guard: Guard | None = None

    def guard(self, former: PoliciesInForce | None) -> Guard:
        """Return the compiled set; what ``former`` has compiled of the same policies is taken over."""
        if self._guard is None:
            from memkit.runtime.guard.core import Guard

            try:
                self._guard = Guard(self.policies, former._guard if former else None)
            except PolicySetError as error:
                self._guard = Guard.broken(str(error))
        return self._guard


class LiveGuard:
    """A judge whose policies may change between turns, and never within one.

    A changed set takes the place of the old one when all of it loads; until then the old one holds. Where none has
    loaded yet, every call is denied.
    """

    def __init__(self, folder: Path, *, tell: Callable[[str], None], taken: Callable[[PoliciesInForce], None]) -> None:
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
        self._files: LastGood[PoliciesInForce] | None = None
        self._read = self._in_force = PoliciesInForce()
        self._compiled: PoliciesInForce | None = None
        self.fault: str | None = None
        """Why every call is denied, when no set of policies has loaded."""
        self._look()

    def begin_turn(self) -> None:
        """Take over what people changed since the last turn, if it is valid as a whole."""
        before = self._in_force, self.fault
        self._look()
        if (self._in_force, self.fault) != before and self.fault is None:
            self._taken(self._in_force)

    def decide(self, tool: str, args: Mapping[str, JSON], context: Mapping[str, JSON]) -> Verdict:
        """Return the verdict on one call, by the policies of this turn."""
        if self.fault is not None:
            from memkit.runtime.guard.core import Guard

            return Guard.broken(self.fault).decide(tool, args, context)
        guard = self._in_force.guard(self._compiled)
        self._compiled = self._in_force
        return guard.decide(tool, args, context)

    def advice(self) -> list[Advice]:
        """Return the rule text of every active policy of this turn."""
        return [Advice(one["name"], one["rule"]) for one in self._in_force.policies if one.get("active", True)]

    def _look(self) -> None:
        if self._is_gone():
            return
        try:
            if self._files is None:
                self._files = LastGood(self._folder, self._load, what="policies", tell=self._tell)
            self._in_force, self.fault = self._files.current(), None
        except UsageError as error:  # the first set: there is no good one to fall back on
            if self.fault != str(error):
                self._tell(f"Every action is denied until the policies load. {error}")
            self.fault = str(error)

    def _is_gone(self) -> bool:
        """Return whether the policies in force lost their folder: nobody lifts them all by moving it away."""
        gone = bool(self._in_force.policies) and not self._folder.is_dir()
        if gone and not self._missed:
            self._tell(f"The policies stay as they were, because {self._folder.name}/ is gone. Empty it to have none.")
        self._missed = gone
        return gone

    def _load(self) -> PoliciesInForce:
        policies = PoliciesInForce(list(policy_data(self._folder).values()))
        if policies.spelled != self._read.spelled:  # else read again because a file was young
            self._read = policies
        return self._read


def name_set(held: PoliciesInForce, git: Git) -> str:
    """Return which policies hold, for the audit log: how many, of which commit, and whether that is all of it."""
    count = f"{len(held.policies)} policies"
    try:
        commit = git.run("rev-parse", "--short", "HEAD", check=False).strip()
        changed = git.status("policies")
    except EnvironmentFault:
        return count
    return f"{count} of commit {commit or 'none'}{', with changes that are in no commit' if changed else ''}"
