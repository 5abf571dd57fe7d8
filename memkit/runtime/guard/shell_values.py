"""The variables of a shell text: the values that it gives them itself, and those that only the running shell knows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .checks import words_of
from .shell_words import ASSIGNED, ShellWord, literal

_VARIABLE = re.compile(r"\$(\w+)|\$\{(\w+)\}")
_RUN_TIME = re.compile(r"[$`]")
_WILDCARD = re.compile(r"[$`*?\[{]")
_SETTERS = words_of("export declare local readonly typeset set")
_READERS = words_of("read mapfile readarray printf getopts unset")
"""Programs that give the variables they name a value which only the running shell knows."""
_LOOP = re.compile(r"\b(?:for|select)\s+(\w+)")
_NAME = re.compile(r"\w+")
_MOST_VALUES = 8
_MAX_VALUE = 10_000
_MAX_FILLED = 400_000


class ShellValues:
    """The values of the variables of one text, in the order in which it sets them."""

    def __init__(self) -> None:
        self.known: dict[str, list[str]] = {}
        self.unknown: set[str] = set()
        """Variables that also have values which only the running shell knows."""
        self.left = _MAX_FILLED
        """How many characters may still be put in place of variables: they can multiply."""

    def read_loops(self, text: str) -> None:
        """Note the variables that loops set."""
        self.unknown.update(_LOOP.findall(text))

    def readings(self, words: Sequence[ShellWord]) -> list[list[ShellWord]]:
        """Return a command's words once for each value that its variables may have, and note what it sets.

        If a variable has a value that only the running shell knows, one reading leaves it as it is written.
        """
        starts = next((i for i, word in enumerate(words) if not ASSIGNED.match(word.text)), len(words))
        program = words[starts].text if starts < len(words) else ""
        for word in words if not program or program in _SETTERS else words[:starts]:
            self._set(word)
            if program and program not in _SETTERS:  # its own words are expanded before it is set
                self.unknown.add(word.text.partition("=")[0])
        if program in _READERS:
            self.unknown.update(word.text for word in words[starts + 1 :] if _NAME.fullmatch(word.text))
        kept, rest = words[: starts + 1], words[starts + 1 :]
        turns = max((self._turns(word) for word in rest), default=0)
        found = [[*kept, *(part for word in rest for part in self._at(word, turn))] for turn in range(turns)]
        return found if turns and not any(self._names(word) & self.unknown for word in rest) else [*found, list(words)]

    def of(self, word: ShellWord) -> list[ShellWord]:
        """Return a text that is not split into words once for each value that its variables may have."""
        found = [text for turn in range(self._turns(word)) for text in self._with_values(word, turn, split=False)]
        return found if found and not self._names(word) & self.unknown else [*found, word]

    def _names(self, word: ShellWord) -> set[str]:
        if word.certain:
            return set()
        return {found[1] or found[2] for found in _VARIABLE.finditer(word.text, word.fixed)}

    def _turns(self, word: ShellWord) -> int:
        if self.left < 0:
            return 0
        return max((len(self.known.get(name, ())) for name in self._names(word)), default=0)

    def _at(self, word: ShellWord, turn: int) -> Iterator[ShellWord]:
        if self._turns(word):
            yield from self._with_values(word, turn, split=not word.quoted)
        else:
            yield word

    def _set(self, word: ShellWord) -> None:
        name, sign, _ = word.text.partition("=")
        if not sign or not ASSIGNED.match(word.text):
            return
        plain = name.partition("[")[0].removesuffix("+")
        for found in self.of(word):
            value = found.text.partition("=")[2]
            before = self.known.get(plain, [""]) if name.endswith("+") else [""]
            values = [earlier + value for earlier in before]
            kept = [*self.known.get(plain, ()), *values]
            too_much = len(kept) > _MOST_VALUES or any(len(value) > _MAX_VALUE for value in values)
            if too_much or not found.certain or plain != name.removesuffix("+"):
                self.unknown.add(plain)
            else:
                self.known[plain] = kept

    def _with_values(self, word: ShellWord, turn: int, *, split: bool) -> Iterator[ShellWord]:
        """Yield the word with one of the values of each variable."""
        text, end, fixed = word.text[: word.fixed], word.fixed, -1
        uncertain = _WILDCARD if split else _RUN_TIME
        for found in _VARIABLE.finditer(word.text, word.fixed):
            values = self.known.get(found[1] or found[2])
            between = word.text[end : found.start()]
            value = values[min(turn, len(values) - 1)] if values else found[0]
            if fixed < 0 and (unsure := uncertain.search(between)):
                fixed = len(text) + unsure.start()
            elif fixed < 0 and not values:
                fixed = len(text) + len(between)
            self.left -= len(value)
            text, end = text + between + value, found.end()
        if fixed < 0 and (unsure := uncertain.search(word.text, end)):
            fixed = len(text) + unsure.start() - end
        text += word.text[end:]
        if fixed < 0 and split and _VARIABLE.fullmatch(word.text):
            yield from map(literal, text.split())
        else:
            fixed = len(text) if fixed < 0 else fixed
            yield ShellWord(text, fixed, globbed=fixed < len(text) and not _RUN_TIME.search(text, fixed))
