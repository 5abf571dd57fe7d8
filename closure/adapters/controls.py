"""Two deliberately wrong memories. A suite that does not notice them measures nothing."""

from __future__ import annotations

import json
from typing import Any

from closure.interface import Memory


def agree(*_: object, **__: object) -> None:
    """Do nothing."""


class RemembersNothing(Memory):
    """Accepts everything, keeps nothing, and never fails: it is safe, private, and useless."""

    def _gone(self, *_: object, **__: object) -> str:
        return "gone"

    def _nothing(self, *_: object, **__: object) -> list[Any]:
        return []

    def _silence(self, *_: object, **__: object) -> str:
        return ""

    remember = correct = remember_until = _gone
    recall = export = as_of = scores = _nothing
    get = provenance = _silence
    forget = reject = erase = consent = agree

    def infer(self, user: str, texts: list[str]) -> int:
        """Keep nothing."""
        return 0


class ForgetsNothing(Memory):
    """Keeps every text ever stated, by everybody for everybody, and agrees to every request to forget."""

    forget = reject = erase = consent = agree

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Append a line."""
        kept = self._kept()
        with (self.folder / "everything.jsonl").open("a") as file:
            file.write(json.dumps(text) + "\n")
        return str(len(kept))

    def _kept(self) -> list[str]:
        path = self.folder / "everything.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def recall(self, user: str, query: str, k: int = 5) -> list[str]:
        """Return everything."""
        return self._kept()

    def get(self, user: str, name: str) -> str:
        """Return the line, whoever asks."""
        return self._kept()[int(name)]

    def correct(self, user: str, name: str, text: str) -> str:
        """Append the new text, and keep the old one."""
        return self.remember(user, text)

    def export(self, user: str) -> list[str]:
        """Return everything."""
        return self._kept()

    def as_of(self, user: str, query: str, day: str) -> list[str]:
        """Return everything, whatever the day."""
        return self._kept()

    def remember_until(self, user: str, text: str, day: str) -> str:
        """Keep it for good."""
        return self.remember(user, text)

    def provenance(self, user: str, name: str) -> str:
        """Say nothing."""
        return ""

    def infer(self, user: str, texts: list[str]) -> int:
        """Keep all of them."""
        for text in texts:
            self.remember(user, text)
        return len(texts)

    def scores(self, user: str, query: str) -> list[float]:
        """Return how often each text occurs, whoever stated it."""
        return [1.0 for _ in self._kept()]

    def at_rest(self, number: int) -> str:
        """Run the suite's edit on its own adapter."""
        from closure.adapters.at_rest import edit_verdict

        return edit_verdict("closure.adapters.at_rest:PlainLines", number)
