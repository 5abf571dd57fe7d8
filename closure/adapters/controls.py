"""Two memories that are wrong on purpose. A suite that does not notice them measures nothing."""

from __future__ import annotations

import json

from closure.interface import Memory


class RemembersNothing(Memory):
    """Takes everything, keeps nothing, and never fails: it is safe, private, and of no use."""

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Return a name for what is already gone."""
        return "gone"

    def recall(self, user: str, query: str, k: int = 5) -> list[str]:
        """Return nothing."""
        return []

    def get(self, user: str, name: str) -> str:
        """Return nothing."""
        return ""

    def correct(self, user: str, name: str, text: str) -> str:
        """Agree."""
        return "gone"

    def forget(self, user: str, name: str) -> None:
        """Agree."""

    def reject(self, user: str, name: str) -> None:
        """Agree."""

    def erase(self, user: str) -> None:
        """Agree."""

    def export(self, user: str) -> list[str]:
        """Return nothing."""
        return []

    def as_of(self, user: str, query: str, day: str) -> list[str]:
        """Return nothing."""
        return []

    def remember_until(self, user: str, text: str, day: str) -> str:
        """Return a name for what is already gone."""
        return "gone"

    def provenance(self, user: str, name: str) -> str:
        """Say nothing."""
        return ""

    def consent(self, user: str, granted: bool) -> None:
        """Agree."""

    def infer(self, user: str, texts: list[str]) -> int:
        """Keep nothing."""
        return 0

    def scores(self, user: str, query: str) -> list[float]:
        """Return nothing."""
        return []


class ForgetsNothing(Memory):
    """Keeps every text ever told, of everybody for everybody, and agrees to every request to forget."""

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

    def forget(self, user: str, name: str) -> None:
        """Agree."""

    def reject(self, user: str, name: str) -> None:
        """Agree."""

    def erase(self, user: str) -> None:
        """Agree."""

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

    def consent(self, user: str, granted: bool) -> None:
        """Agree."""

    def infer(self, user: str, texts: list[str]) -> int:
        """Keep all of them."""
        for text in texts:
            self.remember(user, text)
        return len(texts)

    def scores(self, user: str, query: str) -> list[float]:
        """Return how often each text is there, whoever told it."""
        return [1.0 for _ in self._kept()]

    def at_rest(self, number: int) -> str:
        """Run the suite's edit on its own adapter."""
        from closure.adapters.at_rest import edit_verdict

        return edit_verdict("closure.adapters.at_rest:PlainLines", number)
