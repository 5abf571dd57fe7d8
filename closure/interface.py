"""An adapter's interface to a memory. Every system's environment imports it, so it uses the standard library alone."""

from __future__ import annotations

from pathlib import Path


class CannotError(Exception):
    """The system's documentation has no way to do it; the words say what is missing."""


class Memory:
    """A memory, set up as in its own documentation, in one folder.

    An adapter overrides what its system can do, and is short enough for the system's authors to check. What it
    does not override raises ``CannotError``; that is an answer, not an error. A user is a name such as ``ada``.
    """

    def __init__(self, folder: Path) -> None:
        """Open the memory in ``folder``, which is empty the first time and kept over restarts."""
        self.folder = folder

    @classmethod
    def load(cls) -> None:
        """Load what is slow to load, so that processes that are forked, or traced call by call, have it already."""

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Store a text for a user and return its name.

        ``via`` is the source of the text: ``user`` (said by the person), ``agent`` (an agent's own words), or one of
        ``entries``, by which strangers' text comes in. A system that makes no difference ignores it.
        """
        raise CannotError("it keeps no text")

    def remember_all(self, user: str, texts: list[str], via: str = "user") -> None:
        """Store several texts, one by one or by the system's own way for many."""
        for text in texts:
            self.remember(user, text, via)

    def recall(self, user: str, query: str, k: int = 5) -> list[str]:
        """Return the texts that the memory returns for a question, best first, at most ``k``."""
        raise CannotError("it has no search")

    def prompt(self, user: str, query: str) -> str:
        """Return what would be in the model's prompt when the user asks; by default what ``recall`` returns."""
        return "\n".join(self.recall(user, query))

    def scores(self, user: str, query: str) -> list[float]:
        """Return the scores that the memory shows beside its results."""
        raise CannotError("it shows no scores")

    def get(self, user: str, name: str) -> str:
        """Return a text by its name, as the user; raises the system's own error if it is not the user's."""
        raise CannotError("nothing is read by its name")

    def correct(self, user: str, name: str, text: str) -> str:
        """Replace a text that is no longer right by ``text`` and return the new name."""
        raise CannotError("nothing can be corrected")

    def forget(self, user: str, name: str) -> None:
        """Remove one text from what is recalled."""
        raise CannotError("nothing can be taken out by itself")

    def reject(self, user: str, name: str) -> None:
        """Remove one text, so that it does not come back when somebody states it again."""
        raise CannotError("what was taken back can be told again")

    def erase(self, user: str) -> None:
        """Remove everything about a user, also from the disk."""
        raise CannotError("a user cannot be erased")

    def export(self, user: str) -> list[str]:
        """Return every text that is presently stored for a user."""
        raise CannotError("there is no export")

    def as_of(self, user: str, query: str, day: str) -> list[str]:
        """Return what ``recall`` would have returned on a day (``YYYY-MM-DD``)."""
        raise CannotError("it cannot be asked about another day")

    def remember_until(self, user: str, text: str, day: str) -> str:
        """Store a text that is true until a day and return its name."""
        raise CannotError("a text has no end")

    def provenance(self, user: str, name: str) -> str:
        """Return who stated a text, and when, as the memory shows it."""
        raise CannotError("it does not say where a text is from")

    def consent(self, user: str, granted: bool) -> None:
        """Record whether a user agrees to agents' memory."""
        raise CannotError("it knows no consent")

    def infer(self, user: str, texts: list[str]) -> int:
        """Let an agent store in one session what it inferred, and return how many texts were stored."""
        raise CannotError("it has no bound on what an agent infers")

    def at_rest(self, number: int) -> str:
        """Return the verdict of ``agent-memory-integrity`` on its edit ``T<number>`` behind the store's back."""
        raise CannotError("nobody wrote an adapter of that suite for it")

    def front_door(self, attack: str) -> dict[str, list[bool | None]]:
        """Return the results of the same suite's front-door attack by channel: surfaced or not, or unknown."""
        raise CannotError("nobody wrote an adapter of that suite for it")

    def reproduces(self, issue: str) -> str:
        """Return what is seen of a bug in the system's public tracker, empty if it does not occur."""
        raise CannotError("no such bug is known")

    def close(self) -> None:
        """Finish as a program does that ends normally."""

    entries: tuple[str, ...] = ("user",)
    """The ways by which strangers' text comes in; ``("user",)`` if the system has one way for all."""
    keeps_files: bool = True
    """Whether its data are on a disk at all."""
