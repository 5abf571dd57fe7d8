"""Which tool call a streamed part belongs to."""

from __future__ import annotations


class CallNumbers:
    """Tells the calls of one streamed answer apart; some servers give each the same index, or none."""

    def __init__(self) -> None:
        self._seen: list[tuple[int | None, str]] = []

    def number_of(self, index: int | None, call_id: str | None) -> int:
        """Return the number of the call to which a part with this index and id belongs.

        >>> numbers = CallNumbers()
        >>> numbers.number_of(0, "a"), numbers.number_of(0, None), numbers.number_of(0, "b"), numbers.number_of(1, "c")
        (0, 0, 1, 2)
        """
        same = [number for number, (seen, _) in enumerate(self._seen) if seen == index]
        if same and call_id in (None, "", self._seen[same[-1]][1]):
            return same[-1]
        self._seen.append((index, call_id or ""))
        return len(self._seen) - 1
