"""Tells whether two texts say the same thing in nearly the same words, in any script, and which of many records do.

Order, numbers, names and negations are what a fact is made of: texts that differ in one of them are never duplicates,
however long the rest is that they share.

Groups are found without comparing every pair. Near-duplicates agree in almost all of their telling words, so two of
them share at least one of the rarest words of either: with its words sorted from rare to common, a text that may miss
so many has one more than that many to look for others by (prefix filtering: Chaudhuri, Ganti and Kaushik, "A primitive
operator for similarity joins", 2006).
"""

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from heapq import merge
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..record.lines import parse_time
from ..record.record import TRUSTS, Record, audience_of
from ..words.text import plain, query_terms, regex, stem
from ..words.wording import EMPTY_WORDS, FUNCTION_WORDS, KEPT, SHORT, is_negation, is_number, words

if TYPE_CHECKING:
    from difflib import SequenceMatcher

WRITTEN_WORD = regex(r"\b[^\W\d_a-z]\w*")
ADDRESS = regex(r"[^\s(\"']*[@/\\_]\S*|\w+(?:\.\w+)+")
NAME = regex(r"(?<![\w'\u2019])[A-Z][a-z]*(?<!ed)(?![\w'\u2019])")
"""A word that is certainly a name to whoever compares, in one spelling."""
PAST = "ed"
"""What was is not what is, though a stem is the same."""
LEAST_ALIKE = 0.5
"""No policy takes texts for duplicates that share less."""
LONGEST = 1000
"""Words; longer texts are duplicates only when they are the same."""
TYPO_LENGTH = 6
"""Shorter words that differ in one letter are more often two words than one."""


def near_duplicate(text: str, records: Iterable[Record], *, type: str, user_id: str, at: float = 0.9) -> Record | None:
    """Return the record of this user and type that ``text`` repeats, the most alike first."""
    best: tuple[float, Record] | None = None
    for record in records:
        if record.type != type or record.user_id != user_id:
            continue
        score = likeness(text, record.text)
        if score >= at and (best is None or score > best[0]):
            best = (score, record)
    return best[1] if best else None


def likeness(one: str, other: str) -> float:
    """Return from 0 to 1 how far two texts say the same; 0 where a word of substance stands against another.

    >>> likeness("Alice prefers espresso.", "alice  prefers ESPRESSO")
    1.0
    >>> likeness("this is fact 17 of many", "this is fact 18 of many")
    0.0
    """
    if plain(one) == plain(other):
        return 1.0
    left, right = telling(one), telling(other)
    if not left or not right or (left != right and _too_far(left, right)):
        return 0.0
    if _addresses(one) != _addresses(other):
        return 0.0
    if left == right:
        return 1.0
    from difflib import SequenceMatcher  # for two that are nearly alike, which few are

    matcher = SequenceMatcher(None, left, right, autojunk=False)
    names = _names(one) | _names(other)
    only_left, only_right = _unmatched(matcher, left, right, names)
    if only_left and only_right:
        return 0.0
    if any(is_negation(word) or is_number(word) or word in names for word in only_left + only_right):
        return 0.0
    return matcher.ratio()


class Sought(NamedTuple):
    """What a text has in common with its near-duplicates, in words of the index."""

    terms: Sequence[str]
    needed: frozenset[str]
    """Those that each of them holds."""
    lacking: int
    """How many of the others one of them may do without; colour and color are one."""


def sought(text: str, at: float = 0.9) -> Sought:
    """Return how to look for near-duplicates of ``text``: numbers and names stand in all, of other words in most.

    >>> terms, needed, lacking = sought("Alice prefers 3 espressos")
    >>> terms, sorted(needed), lacking
    (['alic', 'prefer', '3', 'espresso'], ['3', 'alic'], 0)
    """
    terms, said = query_terms(text), words(text)  # as many as tell something, or more
    said = telling(text) if EMPTY_WORDS.issuperset(said) else said
    if len(said) > LONGEST:
        return Sought(terms, frozenset(terms), 0)
    named = {stem(word) for found in NAME.findall(text) if (word := found.lower()) not in EMPTY_WORDS}
    counted = {term for term in terms if not term.isalpha() and any(map(str.isdigit, term))}
    needed = frozenset(counted.union(named.intersection(terms)))
    return Sought(terms, needed, int((1 - at / (2 - at)) * len(said) + 1e-9))


def _too_far(left: Sequence[str], right: Sequence[str]) -> bool:
    """Return whether each text has words that the other has nothing like; cheaper than aligning the two."""
    mine, yours = set(left), set(right)
    shared = min(sum(word in yours for word in left), sum(word in mine for word in right))
    if 2 * shared < LEAST_ALIKE * (len(left) + len(right)) or len(left) > LONGEST:
        return True
    mine, yours = mine - yours, yours - mine
    return any(not any(one_slip(one, other) for other in yours) for one in mine) and bool(yours)


def telling(text: str) -> tuple[str, ...]:
    """Return the words of ``text`` that matter, levelled by stem and in their order; without any, its signs."""
    return _short_telling(text) if len(text) <= SHORT else _all_telling(text)


def _all_telling(text: str) -> tuple[str, ...]:
    spoken = words(text)
    said = (word for place, word in enumerate(spoken) if word != "'s" and not _is_empty(spoken, place))
    found = tuple(_spelling(stem(word)) + (PAST if word.endswith(PAST) and stem(word) != word else "") for word in said)
    return found or tuple(plain(text).replace(" ", ""))


_short_telling = lru_cache(maxsize=KEPT)(_all_telling)


def _is_empty(spoken: Sequence[str], place: int) -> bool:
    """Return whether a word says nothing; an "a" that leads to no noun is a name, as in "option a is open"."""
    following = spoken[place + 1 : place + 2]
    is_name = spoken[place] == "a" and (not following or following[0] in FUNCTION_WORDS)
    return spoken[place] in EMPTY_WORDS and not is_name


def _addresses(text: str) -> set[str]:
    """Return the addresses, paths and handles of ``text``, each of which is one word whatever signs it has."""
    return {found.rstrip(".,;:!?)") for found in ADDRESS.findall(plain(text))}


def _spelling(word: str) -> str:
    """Return ``word`` with "colour" and "color" made one, and the two ways to write a Russian yo."""
    return word.replace("our", "or").replace("ё", "е") if len(word) >= TYPO_LENGTH else word


def _unmatched(
    matcher: "SequenceMatcher[str]", left: Sequence[str], right: Sequence[str], names: set[str]
) -> tuple[list[str], list[str]]:
    only_left: list[str] = []
    only_right: list[str] = []
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal" or (kind == "replace" and _spelled_alike(left[a:b], right[c:d], names)):
            continue
        only_left += left[a:b]
        only_right += right[c:d]
    return only_left, only_right


def _spelled_alike(ones: Sequence[str], others: Sequence[str], names: set[str]) -> bool:
    if len(ones) != len(others) or names & {*ones, *others}:
        return False
    return all(one == other or one_slip(one, other) for one, other in zip(ones, others, strict=True))


def one_slip(one: str, other: str) -> bool:
    """Return whether two long words differ by one letter added, lost, changed or swapped, as typing does."""
    if min(len(one), len(other)) < TYPO_LENGTH or abs(len(one) - len(other)) > 1 or is_number(one) or is_number(other):
        return False
    shorter, longer = sorted((one, other), key=len)
    same = next((i for i, char in enumerate(shorter) if char != longer[i]), len(shorter))
    rest, other_rest = shorter[same:], longer[same:]
    if len(shorter) < len(longer):
        return rest == other_rest[1:]
    return rest[1:] == other_rest[1:] or (rest[:2] == other_rest[1::-1] and rest[2:] == other_rest[2:])


def _names(text: str) -> set[str]:
    """Return the stems of words that may be names: with a capital, also at the beginning, or in a script without."""
    capitalised = (found for found in WRITTEN_WORD.findall(text) if not found[0].islower())
    return {_spelling(stem(word)) for found in capitalised for word in words(found)}


MOST_COMPARED = 100
"""A word in more texts than that is no help in finding likenesses: only so many of them are looked at."""

SORTED_AT_ONCE = PREFIXES_AT_ONCE = 1 << 15
"""So many texts' rarest words are held at once; of more texts, some of the words after the others."""
MOST_COUNTED = 1 << 21
"""Counters of words; where two words share one, both count as more common than they are, and nothing is missed."""


class Readable(Protocol):
    """Records that are read one after the other, as often as wanted, or by their places."""

    def __iter__(self) -> Iterator[Record]:
        """Yield them in the order of their places."""

    def __getitem__(self, place: int, /) -> Record:
        """Return the one at a place."""


def duplicate_groups(
    records: Readable, at: float, wanted: Callable[[Record], bool] = lambda record: True
) -> Iterator[tuple[Record, ...]]:
    """Yield the groups of ``wanted`` records that say the same as their first one, which says it most fully.

    Only records of one user, type, scope and validity are compared, and clean ones apart from tainted ones; a record is
    in one group at the most. Of each is held what its words are as numbers. It is read for those, and again where it
    may be alike to another one; ``wanted`` is asked once of each, in their order.
    """
    texts = _Texts(records, wanted)
    for kind in texts.kinds():
        yield from texts.groups(kind, at)


def _kind(record: Record) -> tuple[object, ...]:
    return record.user_id, record.type, audience_of(record), record.valid_from, record.valid_until, bool(record.taint)


class _Texts:
    """What is held of records that may repeat each other; a text is called by its number among those."""

    def __init__(self, records: Readable, wanted: Callable[[Record], bool]) -> None:
        self._records = records
        self._places = array("I")
        self._kinds = array("q")
        self._fullness = array("Q")
        """How much each says, how trusted and how sure it is; of two the larger number is the fuller one."""
        self._seconds = array("I")
        """When each was told; of two that are as full the later one comes first."""
        self._words = array("I")
        """Those of all texts, each as a number; in a text the rarest come first. Two of one number count as one."""
        self._ends = array("Q", [0])
        for place, record in enumerate(records):
            if wanted(record):
                self._places.append(place)
                self._kinds.append(hash(_kind(record)))
                trust = TRUSTS.index(record.trust)
                self._fullness.append(len(record.text) << 36 | trust << 32 | int(record.confidence * (1 << 31)))
                self._seconds.append(min(max(int(parse_time(record.created_at).timestamp()), 0), 2**32 - 1))
                self._words.extend(set(_numbered(telling(record.text))))
                self._ends.append(len(self._words))
        self._sort_words()

    def _sort_words(self) -> None:
        """Put the words of each text in an order that is the same for all, the rarest first."""
        size = min(MOST_COUNTED, 1 << (2 * len(self._words)).bit_length())
        counts, mask = array("I", bytes(4 * size)), size - 1
        for word in self._words:
            counts[word & mask] += 1
        for start, end in pairwise(self._ends):
            by_rarity = sorted(self._words[start:end], key=lambda word: (counts[word & mask], word))
            self._words[start:end] = array("I", by_rarity)

    def words(self, number: int) -> "array[int]":
        """Return the words of a text."""
        return self._words[self._ends[number] : self._ends[number + 1]]

    def kinds(self) -> "Iterator[array[int]]":
        """Yield the texts of each kind of which there are several, the kind that came first at first."""
        several = (array("I", kind) for kind in _alike(range(len(self._kinds)), self._kinds.__getitem__))
        found = sorted((kind for kind in several if len(kind) > 1), key=itemgetter(0))
        del self._kinds  # of a million texts eight megabytes, which comparing them has no use for
        yield from found

    def groups(self, kind: "array[int]", at: float) -> Iterator[tuple[Record, ...]]:
        """Yield the groups among texts of one kind, the fullest first."""
        ordered = self._fullest_first(kind)
        near, same = self._near(ordered, at), self._same(ordered)
        taken = bytearray(len(ordered))
        for rank in sorted(near.keys() | same.keys()):
            if taken[rank]:
                continue
            others = near.get(rank, set()).union(same.get(rank, ()))
            left = [other for other in sorted(others) if other > rank and not taken[other]]
            if left:
                record = self._record(ordered[rank])
                read = ((other, self._record(ordered[other])) for other in left)
                alike = [(other, one) for other, one in read if likeness(record.text, one.text) >= at]
                for other, _ in alike:
                    taken[other] = 1
                if alike:
                    yield (record, *(one for _, one in alike))

    def _record(self, number: int) -> Record:
        return self._records[self._places[number]]

    def _fullest_first(self, kind: "array[int]") -> "array[int]":
        def fullness(number: int) -> tuple[int, int, int]:
            return self._fullness[number], self._seconds[number], number

        return array("I", _ordered(kind, fullness, reverse=True))

    def _near(self, ordered: "array[int]", at: float) -> dict[int, set[int]]:
        """Return for the rank of a text those of less full ones with one of its rarest words, and enough of all."""
        near: defaultdict[int, set[int]] = defaultdict(set)
        parts = 1 << (len(ordered) // PREFIXES_AT_ONCE).bit_length()
        for part in range(parts):
            holders: defaultdict[int, list[int]] = defaultdict(list)
            for rank, number in enumerate(ordered):
                for word in _prefix(self.words(number), at):
                    if word & (parts - 1) == part:
                        holders[word].append(rank)
            for ranks in holders.values():
                some = ranks[:MOST_COMPARED]
                for place, rank in enumerate(some[:-1], 1):
                    bag = frozenset(self.words(ordered[rank]))
                    rest = (other for other in some[place:] if _share_enough(bag, self.words(ordered[other]), at))
                    if found := set(rest):
                        near[rank] |= found
        return near

    def _same(self, ordered: "array[int]") -> "dict[int, array[int]]":
        """Return for the rank of a text those of all that have its very words, where there are any."""
        told = array("q", (hash(self.words(number).tobytes()) for number in ordered))
        same: dict[int, array[int]] = {}
        for alike in _alike(range(len(told)), told.__getitem__):
            ranks = array("I", alike)
            if len(ranks) > 1:
                same |= dict.fromkeys(ranks, ranks)
        return same


def _alike(numbers: Sequence[int], key: Callable[[int], int]) -> Iterator[Iterator[int]]:
    """Yield numbers together that have the same key, the smallest key first, and those of one in their order."""
    return (alike for _, alike in groupby(_ordered(numbers, key), key))


def _ordered(numbers: Sequence[int], key: Callable[[int], Any], *, reverse: bool = False) -> Iterator[int]:
    """Yield numbers by their keys, of which only those are held that are sorted at once."""
    starts = range(0, len(numbers), SORTED_AT_ONCE)
    parts = (numbers[start : start + SORTED_AT_ONCE] for start in starts)
    return merge(*(array("I", sorted(part, key=key, reverse=reverse)) for part in parts), key=key, reverse=reverse)


def _share_enough(one: frozenset[int], other: Sequence[int], at: float) -> bool:
    """Return whether two texts have so many words in common that comparing them in order can be worth it."""
    return 2 * len(one.intersection(other)) >= at * (len(one) + len(other)) - 1e-9


def _numbered(found: Sequence[str]) -> Iterator[int]:
    """Yield a number for each word and which of its occurrences it is, the same in every process."""
    from hashlib import blake2b  # costs more time than what most processes do here

    seen: Counter[str] = Counter()
    for word in found:
        yield int.from_bytes(blake2b(f"{word} {seen[word]}".encode("utf-8", "surrogatepass"), digest_size=4).digest())
        seen[word] += 1


def _prefix(found: "array[int]", at: float) -> "array[int]":
    """Return as many of the rarest words as any near-duplicate must share one of."""
    shared = math.ceil(at / (2 - at) * len(found) - 1e-9)
    return found[: len(found) - shared + 1]
