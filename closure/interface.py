"""What an adapter says about a memory. It is imported in every system's environment: the standard library alone."""

from __future__ import annotations

from pathlib import Path


class CannotError(Exception):
    """The system has no way to do it by its own documentation; the words say what is missing."""


class Memory:
    """A memory, set up as its own documentation says, in one folder.

    An adapter overrides what its system can do, and is short enough to be checked by the system's authors. What it
    does not override raises ``CannotError``; that is an answer, not an error. A user is a name such as ``ada``.
    """

    def __init__(self, folder: Path) -> None:
        """Open the memory in ``folder``, which is empty the first time and kept over restarts."""
        self.folder = folder

    @classmethod
    def load(cls) -> None:
        """Load what takes long to be loaded: processes that are forked, or followed call by call, have it then."""

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Keep a text for a user and return what names it later.

        ``via`` is whom the text comes from: ``user`` (said by the person), ``agent`` (an agent's own words), or one of
        ``entries``, by which text of strangers comes in. A system that makes no difference ignores it.
        """
        raise CannotError("it keeps no text")

    def remember_all(self, user: str, texts: list[str], via: str = "user") -> None:
        """Keep several texts, one after another or by whatever the system has for many."""
        for text in texts:
            self.remember(user, text, via)

    def recall(self, user: str, query: str, k: int = 5) -> list[str]:
        """Return the texts that the memory gives for a question, best first, at most ``k``."""
        raise CannotError("it has no search")

    def prompt(self, user: str, query: str) -> str:
        """Return what would stand in the model's prompt when the user asks; what ``recall`` gives, if nothing else."""
        return "\n".join(self.recall(user, query))

    def scores(self, user: str, query: str) -> list[float]:
        """Return the scores that the memory shows beside what it recalls."""
        raise CannotError("it shows no scores")

    def get(self, user: str, name: str) -> str:
        """Return a text by its name, as the user; raises what the system raises where it is not the user's."""
        raise CannotError("nothing is read by its name")

    def correct(self, user: str, name: str, text: str) -> str:
        """Put ``text`` in the place of what is no longer right and return what names it."""
        raise CannotError("nothing can be corrected")

    def forget(self, user: str, name: str) -> None:
        """Take one text out of what is recalled."""
        raise CannotError("nothing can be taken out by itself")

    def reject(self, user: str, name: str) -> None:
        """Take one text out, so that it does not come back when somebody tells it again."""
        raise CannotError("what was taken back can be told again")

    def erase(self, user: str) -> None:
        """Remove everything about a user, from the disk as well."""
        raise CannotError("a user cannot be erased")

    def export(self, user: str) -> list[str]:
        """Return every text that is held for a user now."""
        raise CannotError("there is no export")

    def as_of(self, user: str, query: str, day: str) -> list[str]:
        """Return what ``recall`` would have given on a day (``YYYY-MM-DD``)."""
        raise CannotError("it cannot be asked about another day")

    def remember_until(self, user: str, text: str, day: str) -> str:
        """Keep a text that is true until a day and return what names it."""
        raise CannotError("a text has no end")

    def provenance(self, user: str, name: str) -> str:
        """Return who told a text, and when, as the memory shows it."""
        raise CannotError("it does not say where a text is from")

    def consent(self, user: str, granted: bool) -> None:
        """Record whether a user agrees that agents remember."""
        raise CannotError("it knows no consent")

    def infer(self, user: str, texts: list[str]) -> int:
        """Let an agent keep in one session what it inferred, and return how many texts were kept."""
        raise CannotError("it has no bound on what an agent infers")

    def at_rest(self, number: int) -> str:
        """Return the verdict of ``agent-memory-integrity`` on its edit ``T<number>`` behind the store's back."""
        raise CannotError("nobody wrote an adapter of that suite for it")

    def front_door(self, attack: str) -> dict[str, list[bool | None]]:
        """Return what the same suite's front-door attack came to by channel: surfaced or not, or unknown."""
        raise CannotError("nobody wrote an adapter of that suite for it")

    def reproduces(self, issue: str) -> str:
        """Return what is seen of a bug of the system's public tracker, nothing where it is not there."""
        raise CannotError("no such bug is known")

    def close(self) -> None:
        """End the work as a program would that ends in order."""

    entries: tuple[str, ...] = ("user",)
    """The ways by which text of strangers comes in; ``("user",)`` where the system has one way for all."""
    keeps_files: bool = True
    """Whether what it holds lies on a disk at all."""
