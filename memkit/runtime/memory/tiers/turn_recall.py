"""What a turn is given unasked of long-term memory and of earlier turns: what fits, and why the rest does not."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..interface import Hit
from ..record.record import Record
from .sessions import SessionTurn

SHARE = 0.1
"""Of the prompt's budget that recall in a turn may take."""
LEAST_SHARE = 0.5
"""Of the words asked for that an earlier turn must hold itself: talk repeats words, and most of it answers nothing."""
EXCERPT = 400
"""Characters of an earlier turn that are shown."""


class RecalledPiece(NamedTuple):
    """Something that fits the user's words or the task at hand."""

    tier: str
    """archive | recall"""
    said: str
    """Its own words."""
    text: str
    """What is shown of it."""
    fit: float
    """How well, from 0 to 1."""
    id: str | None = None
    hit: Hit | None = None
    """The record that it tells."""
    taint: tuple[str, ...] = ()
    """What may have steered it."""
    parents: tuple[str, ...] = ()
    """Records that stood in the prompt that a turn was said under."""

    @property
    def line(self) -> str:
        """Return it as the prompt shows it."""
        return f"- [{self.id}] {self.text}" if self.id else f"- {self.text}"


class TurnRecall(NamedTuple):
    """What enters the prompt of a turn, and the account of what does not."""

    pieces: tuple[RecalledPiece, ...] = ()
    lost: tuple[Mapping[str, str], ...] = ()
    """``{id, reason}`` of records: taint, rank, budget, or why the search dropped one."""
    tainted: int = 0
    """So many pieces were left out because outside text may have steered them."""


def pieces_of(
    hits: Iterable[Hit], turns: Iterable[tuple[float, SessionTurn]], taint_of: Callable[[Record], Sequence[str]]
) -> list[RecalledPiece]:
    """Return records as search ranked them and earlier turns with their share of the words, the best fitting first.

    ``taint_of`` says what steers a prompt that a record enters: more than its own taint where others wrote it.
    """
    pieces: list[RecalledPiece] = []
    fit = 1.0
    for hit in hits:
        # Confidence, age and use had their say in the search: no record passes one that was ranked before it.
        fit = min(fit, hit.parts["relevance"])
        record = hit.record
        told = f"{record.type}, {record.confidence:.2f}, {record.source}, {record.created_at[:10]}"
        pieces.append(
            RecalledPiece("archive", record.text, f"{record.text} ({told})", fit, hit.id, hit, tuple(taint_of(record)))
        )
    for share, turn in turns:
        said = " ".join(turn.text.split())
        excerpt = said if len(said) <= EXCERPT else f"{said[:EXCERPT]} …"
        shown = f"{turn.at[:10]} {turn.role}: {excerpt}"
        pieces.append(RecalledPiece("recall", said, shown, share, taint=tuple(turn.taint), parents=turn.parents))
    return sorted(pieces, key=lambda piece: -piece.fit)


def recall_for_turn(
    pieces: Sequence[RecalledPiece], most: int, budget: int, count: Callable[[str], int], shown: str
) -> TurnRecall:
    """Return at most ``most`` of the first ``pieces`` that fit in ``budget`` tokens and do not stand in the prompt.

    Args:
        pieces: What fits, the best first.
        most: So many at most; ``retrieval.per_turn``.
        budget: Tokens that they may take.
        count: Counts the tokens of a text.
        shown: The text of the prompt as it stands.
    """
    chosen: list[RecalledPiece] = []
    lost: list[Mapping[str, str]] = []
    standing, tainted = _flat(shown), 0
    for piece in pieces:
        if (piece.id and piece.id in shown) or _flat(piece.said) in standing:
            continue
        cost = count(piece.line)
        if piece.taint:
            reason, tainted = "taint", tainted + 1
        elif len(chosen) >= most:
            reason = "rank"
        elif cost > budget:
            reason = "budget"
        else:
            chosen.append(piece)
            budget -= cost
            standing += f"\n{_flat(piece.said)}"
            continue
        if piece.id:
            lost.append({"id": piece.id, "reason": reason})
    return TurnRecall(tuple(chosen), tuple(lost), tainted)


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())
