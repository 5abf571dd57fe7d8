"""Finds texts that say the same in nearly the same words, in any script, and groups them among many records.

Order, numbers, names and negations carry a fact: texts that differ in one of them are never duplicates, however much
else they share.

Groups are found without comparing every pair. Near-duplicates agree in almost all of their significant words, so two
of them share at least one of the rarest words of either: with its words sorted from rare to common, a text that may
lack n words is looked up by its n + 1 rarest (prefix filtering: Chaudhuri, Ganti and Kaushik, "A primitive operator
for similarity joins", 2006).
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
"""A word that every comparison treats as a name, in a single spelling."""
PAST = "ed"
"""The past differs from the present, even where the stem is the same."""
LEAST_ALIKE = 0.5
"""The lowest share of common words that any policy accepts for duplicates."""
LONGEST = 1000
"""In words; longer texts are duplicates only if they are identical."""
TYPO_LENGTH = 6
"""Shorter words that differ in one letter are usually two different words."""


def near_duplicate(text: str, records: Iterable[Record], *, type: str, user_id: str, at: float = 0.9) -> Record | None:
    """Return the most similar record of this user and type that ``text`` repeats."""
    best: tuple[float, Record] | None = None
    for record in records:
        if record.type != type or record.user_id != user_id:
            continue
        score = likeness(text, record.text)
        if score >= at and (best is None or score > best[0]):
            best = (score, record)
    return best[1] if best else None


def likeness(one: str, other: str) -> float:
    """Return from 0 to 1 how far two texts say the same; 0 if words of substance conflict.

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
    from difflib import SequenceMatcher  # used only for two nearly equal texts, which are few

    matcher = SequenceMatcher(None, left, right, autojunk=False)
    names = _names(one) | _names(other)
    only_left, only_right = _unmatched(matcher, left, right, names)
    if only_left and only_right:
        return 0.0
    if any(is_negation(word) or is_number(word) or word in names for word in only_left + only_right):
        return 0.0
    return matcher.ratio()


class Sought(NamedTuple):
    """What a text has in common with its near-duplicates, in terms of the index."""

    terms: Sequence[str]
    needed: frozenset[str]
    """Terms that each of them contains."""
    lacking: int
    """How many of the other terms one of them may lack; colour and color count as one."""


def sought(text: str, at: float = 0.9) -> Sought:
    """Return how to search for near-duplicates of ``text``: all must have its numbers and names, and most other words.

    >>> terms, needed, lacking = sought("Alice prefers 3 espressos")
    >>> terms, sorted(needed), lacking
    (['alic', 'prefer', '3', 'espresso'], ['3', 'alic'], 0)
    """
    terms, said = query_terms(text), words(text)  # at least the significant words
    said = telling(text) if EMPTY_WORDS.issuperset(said) else said
    if len(said) > LONGEST:
        return Sought(terms, frozenset(terms), 0)
    named = {stem(word) for found in NAME.findall(text) if (word := found.lower()) not in EMPTY_WORDS}
    counted = {term for term in terms if not term.isalpha() and any(map(str.isdigit, term))}
    needed = frozenset(counted.union(named.intersection(terms)))
    return Sought(terms, needed, int((1 - at / (2 - at)) * len(said) + 1e-9))


def _too_far(left: Sequence[str], right: Sequence[str]) -> bool:
    """Return whether each text has words unlike any in the other; cheaper than aligning the two."""
    mine, yours = set(left), set(right)
    shared = min(sum(word in yours for word in left), sum(word in mine for word in right))
    if 2 * shared < LEAST_ALIKE * (len(left) + len(right)) or len(left) > LONGEST:
        return True
    mine, yours = mine - yours, yours - mine
    return any(not any(one_slip(one, other) for other in yours) for one in mine) and bool(yours)


def telling(text: str) -> tuple[str, ...]:
    """Return the significant words of ``text``, stemmed and in order; if there are none, its characters."""
    return _short_telling(text) if len(text) <= SHORT else _all_telling(text)


def _all_telling(text: str) -> tuple[str, ...]:
    spoken = words(text)
    said = (word for place, word in enumerate(spoken) if word != "'s" and not _is_empty(spoken, place))
    found = tuple(_spelling(stem(word)) + (PAST if word.endswith(PAST) and stem(word) != word else "") for word in said)
    return found or tuple(plain(text).replace(" ", ""))


_short_telling = lru_cache(maxsize=KEPT)(_all_telling)


def _is_empty(spoken: Sequence[str], place: int) -> bool:
    """Return whether a word is meaningless; an "a" before no noun is a name, as in "option a is open"."""
    following = spoken[place + 1 : place + 2]
    is_name = spoken[place] == "a" and (not following or following[0] in FUNCTION_WORDS)
    return spoken[place] in EMPTY_WORDS and not is_name


def _addresses(text: str) -> set[str]:
    """Return the addresses, paths and handles of ``text``; each is one word, whatever characters it contains."""
    return {found.rstrip(".,;:!?)") for found in ADDRESS.findall(plain(text))}


def _spelling(word: str) -> str:
    """Return ``word`` with "colour" and "color" unified, and the two spellings of a Russian yo."""
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
    """Return whether two long words differ by a typo: one letter added, lost, changed or swapped."""
    if min(len(one), len(other)) < TYPO_LENGTH or abs(len(one) - len(other)) > 1 or is_number(one) or is_number(other):
        return False
    shorter, longer = sorted((one, other), key=len)
    same = next((i for i, char in enumerate(shorter) if char != longer[i]), len(shorter))
    rest, other_rest = shorter[same:], longer[same:]
    if len(shorter) < len(longer):
        return rest == other_rest[1:]
    return rest[1:] == other_rest[1:] or (rest[:2] == other_rest[1::-1] and rest[2:] == other_rest[2:])


def _names(text: str) -> set[str]:
    """Return the stems of possible names: capitalised words, sentence-initial ones too, and words without case."""
    capitalised = (found for found in WRITTEN_WORD.findall(text) if not found[0].islower())
    return {_spelling(stem(word)) for found in capitalised for word in words(found)}


MOST_COMPARED = 100
"""How many texts with the same word are compared; a more frequent word does not help to find similar texts."""

SORTED_AT_ONCE = PREFIXES_AT_ONCE = 1 << 15
"""The number of texts whose rarest words are held at once; with more texts, the words are processed in parts."""
MOST_COUNTED = 1 << 21
"""Word counters; where two words share one, both seem more common than they are, but nothing is missed."""


class Readable(Protocol):
    """Records that can be iterated repeatedly, or read by position."""

    def __iter__(self) -> Iterator[Record]:
        """Yield them in order of position."""

    def __getitem__(self, place: int, /) -> Record:
        """Return the record at a position."""


def duplicate_groups(
    records: Readable, at: float, wanted: Callable[[Record], bool] = lambda record: True
) -> Iterator[tuple[Record, ...]]:
    """Yield groups of ``wanted`` records that say the same as their first, the fullest of the group.

    Only records of one user, type, scope and validity are compared, clean and tainted ones separately; a record is
    in at most one group. Only the numbers of its words are held in memory. A record is read for those, and again if it
    may resemble another one; ``wanted`` is called once for each, in order.
    """
    texts = _Texts(records, wanted)
    for kind in texts.kinds():
        yield from texts.groups(kind, at)


def _kind(record: Record) -> tuple[object, ...]:
    return record.user_id, record.type, audience_of(record), record.valid_from, record.valid_until, bool(record.taint)


class _Texts:
    """The data held of records that may be duplicates; texts are identified by their number among them."""

    def __init__(self, records: Readable, wanted: Callable[[Record], bool]) -> None:
        self._records = records
        self._places = array("I")
        self._kinds = array("q")
        self._fullness = array("Q")
        """Length, trust and confidence of each, combined; the larger number is the fuller text."""
        self._seconds = array("I")
        """When each was told; among equally full ones the later comes first."""
        self._words = array("I")
        """The words of all texts as numbers, rarest first within a text. Words with the same number count as one."""
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
        """Sort the words of every text in one global order, the rarest first."""
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
        """Yield the texts of each kind that has several, in order of first occurrence."""
        several = (array("I", kind) for kind in _alike(range(len(self._kinds)), self._kinds.__getitem__))
        found = sorted((kind for kind in several if len(kind) > 1), key=itemgetter(0))
        del self._kinds  # eight megabytes for a million texts, which comparing does not need
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
        """Map the rank of a text to those of less full texts that share one of its rarest words, and enough of all."""
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
        """Map the rank of a text to those of all texts with exactly its words, if there are others."""
        told = array("q", (hash(self.words(number).tobytes()) for number in ordered))
        same: dict[int, array[int]] = {}
        for alike in _alike(range(len(told)), told.__getitem__):
            ranks = array("I", alike)
            if len(ranks) > 1:
                same |= dict.fromkeys(ranks, ranks)
        return same


def _alike(numbers: Sequence[int], key: Callable[[int], int]) -> Iterator[Iterator[int]]:
    """Yield groups of numbers with the same key, the smallest key first, in their order within a group."""
    return (alike for _, alike in groupby(_ordered(numbers, key), key))


def _ordered(numbers: Sequence[int], key: Callable[[int], Any], *, reverse: bool = False) -> Iterator[int]:
    """Yield numbers sorted by key, holding only as many keys as are sorted at once."""
    starts = range(0, len(numbers), SORTED_AT_ONCE)
    parts = (numbers[start : start + SORTED_AT_ONCE] for start in starts)
    return merge(*(array("I", sorted(part, key=key, reverse=reverse)) for part in parts), key=key, reverse=reverse)


def _share_enough(one: frozenset[int], other: Sequence[int], at: float) -> bool:
    """Return whether two texts share enough words that comparing them in order can be worthwhile."""
    return 2 * len(one.intersection(other)) >= at * (len(one) + len(other)) - 1e-9


def _numbered(found: Sequence[str]) -> Iterator[int]:
    """Yield a number for each word and its occurrence count, the same in every process."""
    from hashlib import blake2b  # importing it costs more time than most processes spend here

    seen: Counter[str] = Counter()
    for word in found:
        yield int.from_bytes(blake2b(f"{word} {seen[word]}".encode("utf-8", "surrogatepass"), digest_size=4).digest())
        seen[word] += 1


def _prefix(found: "array[int]", at: float) -> "array[int]":
    """Return enough of the rarest words that any near-duplicate must share one of them."""
    shared = math.ceil(at / (2 - at) * len(found) - 1e-9)
    return found[: len(found) - shared + 1]
