"""What to look for: all data held on a person, and the forms in which their texts may appear anywhere.

A text is compared by its letters and digits alone, so that case, accents, blanks, line breaks and punctuation cannot
hide it. From the texts come *runs* of a fixed number of letters, *values*, which are words with a digit in them, and
*words*, compared as a whole. Anything that also occurs in the lines of others, or in the files every store starts
with, says nothing about the person and is left out; so two users may say the same thing, and the scan accuses neither.

A resumed erasure no longer has the texts. For that case the pieces are kept as keyed digests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any
from unicodedata import normalize

from memkit.privacy.belonging import (
    KEYS_OF_FORM,
    Belonging,
    Subject,
    names_any,
    objects_in,
    relinked_around,
    said,
)
from memkit.privacy.filed import FiledLines, FiledMarks, FiledSet, FiledTexts, Texts, set_of
from memkit.runtime.memory.log.log import KeyOf
from memkit.runtime.memory.record.record import is_in_clear

RUN = 16
"""Letters and digits that a text must share with an erased one to count as a trace of it."""
SHORTEST_VALUE = 5
SHORTEST_WORD = 3
SHORTEST_TEXT = 8
MOST_WORDS = 6
"""The most words of a short text that are looked for as one value, however they are joined."""
SHORTEST_NUMBER = 7
LONGEST_VALUE = 64
DISTINCT_END = 16
"""The random letters at the end of a record's id; the letters before are a time that others share."""
SHORTEST_NAME = 3
REDACTED = "[erased]"
LONGEST_WORD = 30
"""Longer sequences without a blank are not words to be removed as a whole."""
STRUCTURAL = KEYS_OF_FORM | frozenset({
    "head", "heads", "main", "master", "refs", "tags", "remotes", "origin", "stash", "notes", "commits", "archive",
    "skills", "policies", "domains", "outputs", "memkit", "cache", "state", "sessions", "shared", "local", "user",
    "users", "agent", "test", "tests", "docs", "person", "program", "import", "git", "github", "yaml", "json", "jsonl",
    "core", "human", "persona", "system", "store", "memory", "index", "update", "merge", "branch", "commit", "wip",
    "remember", "erase", "erased", "confidence", "importance", "readme", "none", "null", "true", "false", "data",
    "text",
})  # fmt: skip
"""Words that a store is made of; a user of that name can be found in the lines alone."""

_VALUES_OF_JSON = frozenset({"null", "none", "true", "false"})
"""Without quotes these name nobody."""
_WORD = re.compile(r"[^\W_]+")
_VALUE = re.compile(r"[^\W_]+(?:[-_.@/+:][^\W_]+){0,3}")


class _Letters(dict[int, str | None]):
    """What each character counts as, by its code, computed when it is first met; None where it counts as nothing."""

    def __missing__(self, code: int) -> str | None:
        """Return the letters and digits of a character, folded."""
        if len(self) >= _MOST_LETTERS:  # bytes that are no text, read as UTF-16, hold every character there is
            self.clear()
        folded = normalize("NFKD", normalize("NFKC", chr(code)).casefold())
        self[code] = "".join(filter(str.isalnum, folded)) or None
        return self[code]


_MOST_LETTERS = 4096
_LETTERS = _Letters()

_PIECE, _WORD_KIND, _BEGINNING = 0, 1, 2
"""What a mark stands for: a run or a value, a word, the beginning of a value."""


class KeptNeedles:
    """Pieces of removed texts, as digests that only the store's key can compute."""

    def __init__(self, key: bytes, marks: FiledMarks) -> None:
        """Take the store's key, and the digests of an earlier run or of none."""
        self._key = key
        self.marks = marks
        self._digests: dict[str, int] = {}

    def keep(self, pieces: Iterable[str], words: Iterable[str], beginnings: Iterable[str]) -> None:
        """Add pieces, single words, and beginnings of pieces."""
        kinds = zip((_PIECE, _WORD_KIND, _BEGINNING), (pieces, words, beginnings), strict=True)
        self.marks.update(self._digest(one) ^ kind for kind, held in kinds for one in held)

    def spans(self, text: str, *, words: bool) -> Iterator[tuple[int, int]]:
        """Yield the positions of pieces in ``text``; ``words`` says whether single words count as pieces."""
        for piece, start, end in self._candidates(text):
            digest = self._digest(piece)
            if digest in self.marks or (words and digest ^ _WORD_KIND in self.marks):
                yield start, end

    def spare(self, text: str) -> None:
        """Leave out the pieces that also occur in ``text``, which is somebody else's."""
        for digest in {self._digest(piece) for piece, _, _ in self._candidates(text)}:
            self.marks.discard(digest)
            self.marks.discard(digest ^ _WORD_KIND)

    def _candidates(self, text: str) -> Iterator[tuple[str, int, int]]:
        yield from _joined(text, lambda joined: self._digest(joined) ^ _BEGINNING in self.marks)
        yield from _runs_of_words(text)

    def _digest(self, piece: str) -> int:
        if len(piece) >= RUN:
            return _digest(self._key, piece)
        known = self._digests.get(piece)  # words are often repeated
        if known is None:
            known = self._digests[piece] = _digest(self._key, piece)
        return known


class Needles:
    """The pieces of one person's texts, and their name."""

    def __init__(
        self, user_id: str, texts: Iterable[str], ids: Iterable[str] = (), *, kept: KeptNeedles | None = None,
        folder: Path | None = None,
    ) -> None:  # fmt: skip
        """Extract the pieces from texts and ids, which are iterated over more than once.

        ``kept`` are the pieces of an earlier run; ``folder`` takes files with data too large for memory.
        """
        self.user_id = user_id
        self._kept = kept
        self._said, self._ids = texts, ids
        made = partial(set_of, folder=folder)
        self.texts = made(filter(None, map(flat, texts)))
        self.ids = made(self._flat_ids())
        self._lengths: dict[int, tuple[int, ...]] = {}
        """Lengths of the texts that begin with runs of one kind: many may share a beginning."""
        self._begins = made(self._noted_beginnings())
        # In a database an id may directly precede the next value; only its end is in nobody else's id.
        whole = chain(map(flat, texts), (id[-DISTINCT_END:] for id in self._flat_ids()))
        self.runs = made(run for text in whole for run in _runs(text))
        self.values = made(chain(self._own_values(), self._flat_ids()))
        joined = chain(self._own_values(), (id for id in self._flat_ids() if len(id) < RUN))  # longer ids end in a run
        self._begun = made(value[:end] for value in joined for end in range(1, len(value) + 1))
        """Possible beginnings of a value; text with any other beginning is not examined further."""
        own = set(_words(user_id))
        """The name is looked for separately, because others may use the word as well."""
        self.words = {word for text in texts for word in _words(text) if word not in own and word not in STRUCTURAL}
        self.names_person = len(user_id) >= SHORTEST_NAME and user_id.casefold() not in STRUCTURAL
        """Whether the id is a name of its own and not a word of the store's."""
        self.bare = self.names_person
        """Whether the id alone, outside a line, is a trace: not if others use the word as well."""
        self._shipped: set[str] = set()
        self._name = re.compile(rf"(?<!\w){re.escape(user_id)}(?!\w)")
        mark = "[\"']" if user_id.casefold() in _VALUES_OF_JSON else "[\"']?"
        self._field = re.compile(rf"user_id\W{{0,5}}[:=]\s*{mark}{re.escape(user_id)}(?!\w)")

    def name_nobody(self) -> None:
        """Look for texts and ids alone: whose memory it was is no trace."""
        self.names_person = self.bare = False
        self._field = re.compile(r"(?!)")

    def counts(self) -> dict[str, int]:
        """Return how many needles there are, by kind."""
        return {
            "runs": len(self.runs), "values": len(self.values), "words": len(self.words), "name": int(self.bare),
            "texts": len(self.texts),
        }  # fmt: skip

    def to_keep(self, key: bytes, folder: Path | None = None) -> KeptNeedles:
        """Return the pieces as digests; of runs those at the beginning of a word are enough."""
        kept = KeptNeedles(key, FiledMarks(self._kept.marks if self._kept else (), folder))
        runs = (run for text in self._said for run, _, _ in _runs_of_words(text) if run in self.runs)
        values = (value for value in chain(self._own_values(), self._flat_ids()) if value in self.values)
        kept.keep(chain(runs, values), self.words, (one for text in self._said for one in _beginnings(text)))
        return kept

    def spare_shipped(self, path: str, text: str) -> None:
        """Leave out pieces that a file of every store contains as well; a name in it means nothing outside lines."""
        self.names_person = self.names_person and not self._name.search(path)
        self.bare = self.bare and self.names_person
        self.spare_lines(text)
        self.spare(text)

    def spare_lines(self, text: str) -> None:
        """Leave out these exact lines, and memkit's own words: its files are made of them."""
        lines, words = _lines_and_words(text)
        self._shipped |= lines
        self.words = self.words.difference(words)

    def spare(self, text: str) -> None:
        """Leave out the pieces that also occur in ``text``, which is somebody else's."""
        letters = flat(text)
        self.runs.difference_update(_runs(letters))
        self.values.difference_update({value for value, _, _ in self._joined(text)})
        self.words.difference_update(_words(text))
        if self._kept:
            self._kept.spare(text)
        if self.bare and self._name.search(text):
            self.bare = False

    def found_in(self, text: str, *, words: bool = False) -> bool:
        """Return whether ``text`` contains a piece, or a word if ``words`` count, outside lines shipped by memkit."""
        own = "\n".join(line for line in text.splitlines() if line.strip() not in self._shipped)
        return self._names(own) or self.quoted_in(own, words=words)

    def quoted_in(self, text: str, *, words: bool = False) -> bool:
        """Return whether ``text`` contains a piece of a text; the name alone is none, nor a word unless ``words``."""
        if not self.runs.isdisjoint(_runs(flat(text))) or (words and not self.words.isdisjoint(_words(text))):
            return True
        if any(value in self.values for value, _, _ in self._joined(text)):
            return True
        return self._kept is not None and any(self._kept.spans(text, words=words))

    def repeated_in(self, text: str) -> bool:
        """Return whether ``text`` repeats a whole text of some length, whoever else says the same."""
        letters = flat(text)
        begun = ((start, run) for start, run in enumerate(_runs(letters)) if run in self._begins)
        return any(
            letters[start : start + length] in self.texts
            for start, run in begun
            for length in self._lengths[_kind_of(run)]
        )

    def redacted(self, text: str, *, name: bool = True, words: bool = True) -> str:
        """Return somebody else's ``text`` with every piece replaced; if wanted, not the name or single words."""
        spans = [_whole_words(text, *span) for span in self._run_spans(text)]
        spans += [
            (start, end)
            for piece, start, end in _joined(text, self._begun.__contains__)
            if piece in self.values or (words and piece in self.words)
        ]
        if self._kept:
            spans += self._kept.spans(text, words=words)
        if name and self.names_person:
            spans += [match.span() for match in self._name.finditer(text)]
        return _without(text, spans)

    def _flat_ids(self) -> Iterator[str]:
        return (id for id in map(flat, self._ids) if len(id) >= SHORTEST_TEXT)

    def _own_values(self) -> Iterator[str]:
        for text in self._said:
            yield from _values(text)
            if _is_short_text(text):
                yield flat(text)

    def _noted_beginnings(self) -> Iterator[str]:
        """Yield the beginning of each text of some length, and note the text's length."""
        for text in map(flat, self._said):
            if len(text) >= RUN:
                kind = _kind_of(text[:RUN])
                known = self._lengths.get(kind, ())
                if len(text) not in known:
                    self._lengths[kind] = (*known, len(text))
                yield text[:RUN]

    def _names(self, text: str) -> bool:
        if self.user_id not in text:
            return False
        return bool(self._field.search(text) or (self.bare and self._name.search(text)))

    def _joined(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Yield possible values; most texts contain no word that could begin one."""
        if not self.values:
            return
        words = set(map(flat, set(_WORD.findall(text))))
        if not (self._begun.isdisjoint(words) and self.ids.isdisjoint(words)):
            yield from _joined(text, self._begun.__contains__)

    def _run_spans(self, text: str) -> Iterator[tuple[int, int]]:
        places = [(letter, place) for place, char in enumerate(text) for letter in _LETTERS[ord(char)] or ""]
        letters = "".join(letter for letter, _ in places)
        for start in range(len(letters) - RUN + 1):
            if letters[start : start + RUN] in self.runs:
                yield places[start][1], places[start + RUN - 1][1] + 1


def flat(text: str) -> str:
    """Return the letters and digits of ``text``, folded.

    >>> flat("Café  No. 7")
    'cafeno7'
    """
    return text.translate(_LETTERS)


@lru_cache(maxsize=1024)
def _lines_and_words(shipped: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the lines and the words of one of memkit's files, which each survey is told of again.

    Words are spelled as they are there: the name of a place, such as "Lisbon", stays somebody's.
    """
    lines = frozenset(line.strip() for line in shipped.splitlines())
    return lines, frozenset(filter(str.islower, _WORD.findall(shipped)))


def _runs(letters: str) -> Iterator[str]:
    return (letters[start : start + RUN] for start in range(len(letters) - RUN + 1))


def _joined(text: str, goes_on: Callable[[str], bool]) -> Iterator[tuple[str, int, int]]:
    """Yield every word, and joined sequences of a few as long as ``goes_on``, with start and end."""
    words = [(flat(match[0]), *match.span()) for match in _WORD.finditer(text)]
    for place, (joined, start, end) in enumerate(words):
        if not joined:
            continue
        yield joined, start, end
        for word, _, end in words[place + 1 : place + MOST_WORDS]:
            if not goes_on(joined):
                break
            joined += word
            yield joined, start, end


def _beginnings(text: str) -> Iterator[str]:
    """Yield the beginnings of the values in a text, word by word."""
    for whole in (text,) if _is_short_text(text) else (match[0] for match in _VALUE.finditer(text)):
        joined = ""
        for word in _WORD.findall(whole)[:-1]:
            joined += flat(word)
            yield joined


def _values(text: str) -> Iterator[str]:
    """Yield what looks like a value: letters with digits, several such parts in one, a long number."""
    for match in _VALUE.finditer(text):
        value = flat(match[0])
        if any(char.isdigit() for char in value):
            shortest = SHORTEST_NUMBER if value.isdigit() else SHORTEST_VALUE
            if shortest <= len(value) <= LONGEST_VALUE:
                yield value


def _words(text: str) -> Iterator[str]:
    """Yield the words of ``text`` that are long enough to be somebody's, and too short for a run."""
    for word in set(_WORD.findall(text)):
        letters = flat(word)
        if SHORTEST_WORD <= len(letters) < RUN and letters.isalpha():
            yield letters


def _runs_of_words(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the runs that begin at the start of a word, with start and end; in scripts without blanks, all runs."""
    places = [(letter, place) for place, char in enumerate(text) for letter in _LETTERS[ord(char)] or ""]
    letters = "".join(letter for letter, _ in places)
    for start in range(len(letters) - RUN + 1):
        place = places[start][1]
        if not letters[start].isascii() or not place or not text[place - 1].isalnum():
            yield letters[start : start + RUN], place, places[start + RUN - 1][1] + 1


def _kind_of(run: str) -> int:
    """Return a run's kind, of a fixed number: what is noted per kind does not grow with a memory."""
    return hash(run) % 65_536


def _digest(key: bytes, piece: str) -> int:
    said = piece.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(said, key=key, digest_size=8, person=b"memkit needles").digest(), "big")


def _is_short_text(text: str) -> bool:
    """Return whether a text is too short for runs and still distinctive."""
    return SHORTEST_TEXT <= len(flat(text)) < RUN and 2 <= len(_WORD.findall(text)) <= MOST_WORDS


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span extended to the ends of the words in which it begins and ends.

    Scripts without blanks have no such ends nearby, and the letter after a backslash is a separate character.
    """
    first, last = start, end
    while first and start - first < LONGEST_WORD and text[first - 1].isalnum() and text[first - 2 : first - 1] != "\\":
        first -= 1
    while last < len(text) and last - end < LONGEST_WORD and text[last].isalnum():
        last += 1
    return first if start - first < LONGEST_WORD else start, last if last - end < LONGEST_WORD else end


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return ``text`` with the spans, merged where they touch, replaced."""
    kept: list[str] = []
    end = 0
    for start, stop in sorted(spans):
        if start >= end:
            kept += [text[end:start], REDACTED]
        end = max(end, stop)
    return "".join([*kept, text[end:]])


@dataclass(frozen=True)
class Shipped:
    """Content outside the store's files: what memkit writes into every store, and the lines on a server."""

    starters: Mapping[str, str] = field(default_factory=dict)
    """Files that a store starts with, by their path."""
    generated: Iterable[str] = ()
    """Texts that generated projects are made of."""
    served: Iterable[bytes] = ()
    """Lines about the person, and shared ones."""


@dataclass
class Census:
    """What was found so far; ``take`` receives the content of every place that holds lines."""

    subject: Subject
    records: int = 0
    events: int = 0
    ids: Texts = field(default_factory=set)
    """The ids of the person's records."""
    sessions: set[str] = field(default_factory=set)
    texts: FiledTexts = field(init=False)
    """Everything that the person said or that was said about them."""
    values: FiledTexts = field(init=False)
    """The values of their records, whose return a tombstone bars."""
    told: set[str] = field(default_factory=set)
    """Other references to them in removed lines: messages, notes, sections of core memory."""
    quotes: set[str] = field(default_factory=set)
    """Ids of others' lines that repeat a whole text of the person's; these belong to the others, and stay."""
    in_clear: bool = False
    """Whether a text of theirs was ever written unsealed."""
    lines: FiledLines = field(default_factory=FiledLines)
    """Everybody's lines, until nobody needs them any more."""

    def __post_init__(self) -> None:
        self.texts, self.values = FiledTexts(folder=self.lines.folder), FiledTexts(folder=self.lines.folder)

    def take(self, content: bytes) -> None:
        """Note the lines of a file; which of them belong to the person is decided when all ids are known."""
        if b"user_id" in content:
            for line in content.split(b"\n"):
                if b"user_id" in line:
                    self.lines.add(line)

    def close(self, key_of: KeyOf) -> Belonging:
        """Return the decision procedure for lines, after counting the person's own; ``key_of`` links others' anew."""
        user_id, folder = self.subject.user_id, self.lines.folder
        self.ids = set_of((str(data["id"]) for data in self._records() if self.subject.has(data)), folder)
        # Successors of erased records and records drawn from them are erased too, transitively.
        grown = 0 if self.subject.called else len(self.ids)
        while len(self.ids) > grown:
            grown = len(self.ids)
            self.ids.update([str(data["id"]) for data in self._records() if names_any(data, self.ids)])
        belonging = Belonging(self.subject, self.ids)
        counted = {True: FiledSet(folder=folder), False: FiledSet(folder=folder)}
        touched = set()
        for _, data in self._objects():
            if belonging.owns(data):
                counted["op" in data].update([str(data.get("id", data))])
                touched.add(str(data.get("user_id")))
                self._note(data)
        self.events, self.records = len(counted[True]), len(counted[False])
        if touched := touched - (set() if self.subject.called else {user_id}):
            # Others' events about the person's records are removed from their chains.
            chained = ((text, data) for text, data in self._objects() if data.get("user_id") in touched)
            belonging.relinked = relinked_around(chained, belonging.owns, key_of)
        return belonging

    def of_others(self, belonging: Belonging) -> Iterator[str]:
        """Yield the lines of everybody else."""
        return (text for text, data in self._objects() if not belonging.owns(data))

    def own_ids(self) -> Iterator[str]:
        """Yield the ids of the person's records, in the order of the lines."""
        return (id for data in self._records() if (id := str(data["id"])) in self.ids)

    def _objects(self) -> Iterator[tuple[str, dict[str, Any]]]:
        return (found for line in self.lines for found in objects_in(line))

    def _records(self) -> Iterator[dict[str, Any]]:
        """Yield the user's records; most lines of a store with many users are not even parsed as JSON."""
        user_id = self.subject.user_id
        for line in self.lines:
            if b"\\" in line or user_id in line.decode("utf-8", "surrogateescape"):
                for _, data in objects_in(line):
                    if data.get("user_id") == user_id and "op" not in data and data.get("id"):
                        yield data

    def _note(self, data: Mapping[str, Any]) -> None:
        self.in_clear = self.in_clear or is_in_clear(data)
        data = self.subject.opened(data)
        if data.get("session_id") and data.get("user_id") == self.subject.user_id:
            self.sessions.add(str(data["session_id"]))
        # A program's own phrases, such as why it retired a record, are in its source as well.
        by_program = data.get("actor") == "program" and "op" in data
        self.texts.extend(() if by_program else said(data))
        if "op" not in data and isinstance(data.get("text"), str):
            self.values.extend([data["text"]])
        elif self.subject.called:
            self.told.update(self.subject.naming(data))


def needles_of(
    census: Census, belonging: Belonging, more: Iterable[str], spared: Iterable[str], shipped: Shipped,
    kept: KeptNeedles | None = None,
) -> Needles:  # fmt: skip
    """Return what to look for: the person's texts without what others say as well.

    ``more`` are their texts in sessions and the audit log, ``spared`` those that others said elsewhere, and ``kept``
    the pieces of what an earlier run removed.
    """
    census.texts.extend(more)
    folder = census.lines.folder
    needles = Needles(
        census.subject.user_id, census.texts, FiledTexts(census.own_ids(), folder), kept=kept, folder=folder
    )
    if census.subject.called:
        needles.name_nobody()  # the user stays
    for text in census.of_others(belonging):
        needles.spare(text)
        if needles.repeated_in(text):
            census.quotes.add(str(json.loads(text).get("id")))
    census.lines.close()
    for text in spared:
        needles.spare(text)
    for path, text in shipped.starters.items():
        needles.spare_shipped(path, text)
    for text in shipped.generated:
        needles.spare_lines(text)
    return needles
