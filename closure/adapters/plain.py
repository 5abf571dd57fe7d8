"""Memories without a product: one text file per user, searched with grep, with BM25, or shown whole."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from closure.interface import Memory

WORD = re.compile(r"\w+")
COMMON = frozenset(
    """a an and are at do does did for from has have he her his i in is it its many much my of on or she that the their
    they this to was were what when where which who whom whose why with you your""".split()  # noqa: SIM905 - words, not a list
)


def words(text: str) -> list[str]:
    """Return the significant words of a text."""
    return [word for word in WORD.findall(text.casefold()) if word not in COMMON]


class GrepFiles(Memory):
    """A Markdown list per user, as agents with a shell keep it: ``>>``, ``grep -i``, and an edit of the line."""

    def _file(self, user: str) -> Path:
        return self.folder / f"{user}.md"

    def _lines(self, user: str) -> list[str]:
        path = self._file(user)
        return path.read_text().splitlines() if path.exists() else []

    def _write(self, user: str, lines: list[str]) -> None:
        self._file(user).write_text("".join(f"{line}\n" for line in lines))

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Append a line; its text is its name."""
        line = " ".join(text.split())
        with self._file(user).open("a") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
        return line

    def recall(self, user: str, query: str, k: int = 5) -> list[str]:
        """Return the lines that contain most words of the question."""
        lists = [f"-e{word}" for word in words(query)]
        if not lists or not self._file(user).exists():
            return []
        found = subprocess.run(["grep", "-iF", *lists, self._file(user)], capture_output=True, text=True, check=False)
        wanted = set(words(query))
        return sorted(found.stdout.splitlines(), key=lambda line: -len(wanted & set(words(line))))[:k]

    def get(self, user: str, name: str) -> str:
        """Return the line."""
        return next(line for line in self._lines(user) if line == name)

    def correct(self, user: str, name: str, text: str) -> str:
        """Replace the line."""
        self._write(user, [text if line == name else line for line in self._lines(user)])
        return text

    def forget(self, user: str, name: str) -> None:
        """Delete the line."""
        self._write(user, [line for line in self._lines(user) if line != name])

    def erase(self, user: str) -> None:
        """Delete the file."""
        self._file(user).unlink(missing_ok=True)

    def export(self, user: str) -> list[str]:
        """Return the lines."""
        return self._lines(user)


class Bm25Files(GrepFiles):
    """The same file, ranked by ``rank_bm25`` over all of its lines."""

    def recall(self, user: str, query: str, k: int = 5) -> list[str]:
        """Return the lines that BM25 ranks first, among those that share a word with the question."""
        from rank_bm25 import BM25Okapi

        lines = self._lines(user)
        if not lines:
            return []
        split = [words(line) or [""] for line in lines]
        wanted = words(query)
        ranked = sorted(zip(BM25Okapi(split).get_scores(wanted), lines, split, strict=True), key=lambda one: -one[0])
        return [line for _, line, its in ranked if set(its) & set(wanted)][:k]

    def scores(self, user: str, query: str) -> list[float]:
        """Return the scores of BM25."""
        from rank_bm25 import BM25Okapi

        lines = self._lines(user)
        split = [words(line) or [""] for line in lines]
        return (
            sorted((float(score) for score in BM25Okapi(split).get_scores(words(query))), reverse=True)[:5]
            if lines
            else []
        )


class FullContext(GrepFiles):
    """The whole file in the prompt, whatever is asked."""

    def recall(self, user: str, query: str, k: int = 5) -> list[str]:
        """Return everything of the user."""
        return self._lines(user)
