"""The sessions of a list that have the words which were typed, one of them marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memkit.store.sessions import SessionCard

LONGEST_NUMBER = 6


class Selection:
    """What a person chooses from; nothing is marked where nothing fits."""

    def __init__(self, cards: Sequence[SessionCard]) -> None:
        self._cards = list(cards)
        self._fitting = self._cards
        self._marked = 0
        self._top = 0
        """The first that is shown."""

    def __len__(self) -> int:
        """Return how many sessions fit."""
        return len(self._fitting)

    @property
    def chosen(self) -> SessionCard | None:
        """Return the session that is marked."""
        return self._fitting[self._marked] if self._fitting else None

    def take(self, typed: str) -> None:
        """Keep those that have every word of ``typed`` and mark the first; a number marks the one that has it."""
        number = int(typed) if typed.isascii() and typed.isdigit() and len(typed) < LONGEST_NUMBER else 0
        is_number = 1 <= number <= len(self._cards)
        self._fitting = self._cards if is_number else [card for card in self._cards if has_words(card, typed)]
        self._marked = number - 1 if is_number else 0
        self._top = 0

    def move(self, steps: int) -> None:
        """Mark another one, as far as there are any."""
        self._marked = max(0, min(len(self._fitting) - 1, self._marked + steps))

    def shown(self, rows: int) -> Iterator[tuple[int, SessionCard, bool]]:
        """Yield so many of the sessions, each with its number and whether it is marked, which one of them is."""
        self._top = max(self._marked - rows + 1, min(self._top, self._marked))
        for place, card in enumerate(self._fitting[self._top : self._top + rows], self._top):
            yield place + 1, card, place == self._marked


def has_words(card: SessionCard, typed: str) -> bool:
    """Return whether every word that was typed stands in what is shown of a session."""
    told = f"{card.session} {card.name or ''} {card.first} {card.last_at}".casefold()
    return all(word in told for word in typed.casefold().split())
