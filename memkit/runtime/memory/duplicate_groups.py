"""Which of many records say the same, found without comparing every pair.

Texts are near-duplicates when almost all of their telling words agree. So two of them share at least one of the rarest
words of either: with its words sorted from rare to common, a text that may miss so many has one more than that many to
look for others by (prefix filtering: Chaudhuri, Ganti and Kaushik, "A primitive operator for similarity joins", 2006).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from .audience import audience_of
from .duplicates import likeness, telling
from .record import TRUSTS, Record

MOST_COMPARED = 100
"""A word in more texts than that is no help in finding likenesses: only so many of them are looked at."""

Word = tuple[str, int]
"""A word and which of its occurrences in the text it is."""


def duplicate_groups(records: Iterable[Record], at: float) -> list[tuple[Record, ...]]:
    """Return the groups of records that say the same as their first one, which says it most fully.

    Only records of one user, type, scope and validity are compared; a record is in one group at the most.
    """
    kinds: dict[tuple[object, ...], list[Record]] = defaultdict(list)
    for record in records:
        kinds[_kind(record)].append(record)
    return [group for kind in kinds.values() for group in _groups(sorted(kind, key=_fullness, reverse=True), at)]


def _kind(record: Record) -> tuple[object, ...]:
    return record.user_id, record.type, audience_of(record), record.valid_from, record.valid_until


def _fullness(record: Record) -> tuple[object, ...]:
    return len(record.text), TRUSTS.index(record.trust), record.confidence, record.created_at, record.id


def _groups(records: Sequence[Record], at: float) -> Iterator[tuple[Record, ...]]:
    """Yield the groups among records of one kind, the fullest first."""
    words = [_numbered(telling(record.text)) for record in records]
    frequency = Counter(word for found in words for word in found)
    holders: dict[Word, list[int]] = defaultdict(list)
    prefixes = [_prefix(found, frequency, at) for found in words]
    for place, prefix in enumerate(prefixes):
        for word in prefix:
            holders[word].append(place)
    bags = [frozenset(found) for found in words]
    same: dict[frozenset[Word], list[int]] = defaultdict(list)
    for place, bag in enumerate(bags):
        same[bag].append(place)
    taken: set[int] = set()
    for place, record in enumerate(records):
        if place in taken:
            continue
        near = {other for word in prefixes[place] for other in holders[word][:MOST_COMPARED]}
        near.update(same[bags[place]])
        open_to = (other for other in sorted(near) if other > place and other not in taken)
        alike = [
            other
            for other in open_to
            if _share_enough(bags[place], bags[other], at) and likeness(record.text, records[other].text) >= at
        ]
        if alike:
            taken.update((place, *alike))
            yield (record, *(records[other] for other in alike))


def _share_enough(one: frozenset[Word], other: frozenset[Word], at: float) -> bool:
    """Return whether two texts have so many words in common that comparing them in order can be worth it."""
    return 2 * len(one & other) >= at * (len(one) + len(other)) - 1e-9


def _numbered(found: Sequence[str]) -> list[Word]:
    seen: Counter[str] = Counter()
    numbered = []
    for word in found:
        numbered.append((word, seen[word]))
        seen[word] += 1
    return numbered


def _prefix(found: Sequence[Word], frequency: Counter[Word], at: float) -> list[Word]:
    """Return as many of the rarest words as any near-duplicate must share one of."""
    ordered = sorted(found, key=lambda word: (frequency[word], word))
    shared = math.ceil(at / (2 - at) * len(ordered) - 1e-9)
    return ordered[: len(ordered) - shared + 1]
