"""Read YAML strictly: one dialect (YAML 1.2 core), exact positions, and no construct that loads differently elsewhere.

The event stream is checked before anything is built, so that a hostile file costs no more than its own size: at most
1 MB, at most 64 levels, one document, and no anchors, aliases, merge keys or tags. Keys are strings and unique. A plain
scalar that YAML 1.1 and 1.2 read differently loads as in YAML 1.2 and is named in ``Document.findings``.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import yaml as pyyaml

from memkit.errors import UsageError
from memkit.store.layout import MAX_BYTES, file_bytes, why_not

MAX_DIGITS = 300

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INTEGER = re.compile(r"[-+]?[0-9]+", re.ASCII)
_OCTAL = re.compile(r"0o[0-7]+", re.ASCII)
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", re.ASCII)

# Each pattern is a form that YAML 1.1 readers, or people, read differently from YAML 1.2.
_ELSEWHERE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"y|Y|n|N|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF"), "a truth value"),
    (re.compile(r"[-+]?0[0-7_]+", re.ASCII), "an octal number"),
    (re.compile(r"[-+]?0[0-9_]+", re.ASCII), "a string"),
    (re.compile(r"0o[0-7]+", re.ASCII), "a string"),
    (re.compile(r"[-+]?0o?b?[0-7_]+|[-+]0x[0-9a-fA-F_]+|0x(?=.*_)[0-9a-fA-F_]+|0b[01_]+", re.ASCII), "a number"),
    (re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?", re.ASCII), "a number in base 60"),
    (re.compile(r"[-+]?[0-9][0-9_]*_[0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?", re.ASCII), "a number"),
    (re.compile(r"[-+]?[0-9]*\.[0-9]*_[0-9_]*([eE][-+]?[0-9]+)?", re.ASCII), "a number"),
    (re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][0-9]+", re.ASCII), "a string"),
    (re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]+", re.ASCII), "a string"),
    (re.compile(r"[-+]\.[0-9]+([eE][-+]?[0-9]+)?", re.ASCII), "a string"),
    (re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?", re.ASCII), "a date"),
    (re.compile(r"="), "a default-value mark"),
    (re.compile(r"<<"), "a merge key"),
)


@dataclass(frozen=True)
class Ambiguity:
    """How a scalar is read here and how another reader may read it."""

    read_as: str
    elsewhere: str
    is_string: bool

    @property
    def advice(self) -> str:
        """Return what to write instead."""
        if self.is_string:
            return "Put it in quotes."
        return "Write the number in plain decimal digits, or put it in quotes if it is text."


def resolve_plain(value: str) -> str | int | float | bool | None:
    """Return the YAML 1.2 core value of a plain scalar; raise ``ValueError`` for a number that JSON cannot hold.

    >>> [resolve_plain(text) for text in ("yes", "true", "0755", "12:30", "~")]
    ['yes', True, 755, '12:30', None]
    """
    if value in _NULL:
        return None
    if value in _TRUE or value in _FALSE:
        return value in _TRUE
    return _number(value) if value[0] in "+-.0123456789" else value


def _number(value: str) -> str | int | float:
    for pattern, base in ((_INTEGER, 10), (_OCTAL, 8), (_HEXADECIMAL, 16)):
        if pattern.fullmatch(value):
            if len(value) > MAX_DIGITS:
                raise ValueError(f"A number of {len(value)} digits is too long.")
            return int(value[2:] if base != 10 else value, base)
    if _NOT_FINITE.fullmatch(value):
        raise ValueError(f"{value!r} is not a finite number.")
    if not _FLOAT.fullmatch(value):
        return value
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value[:40]!r} is not a finite number.")
    return number


def ambiguity(value: str) -> Ambiguity | None:
    """Return how readers disagree about a plain scalar, ``None`` if they agree.

    >>> ambiguity("no").elsewhere
    'a truth value'
    >>> ambiguity("nothing") is None
    True
    """
    if not value or value[0] not in "+-.0123456789yYnNoO=<":
        return None
    elsewhere = next((reading for pattern, reading in _ELSEWHERE if pattern.fullmatch(value)), None)
    if elsewhere is None:
        return None
    try:
        read = resolve_plain(value)
    except ValueError:
        return None
    if isinstance(read, str):
        return Ambiguity("a string", elsewhere, True)
    return Ambiguity(f"the number {read!r}", elsewhere, False)


_BLANK = " \t\r\n"
_SIMPLE = {"0": "\0", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v", "N": "\x85", "_": "\xa0"}
_SIMPLE |= {"L": "\u2028", "P": "\u2029", '"': '"', "\\": "\\", "/": "/"}
_BLANK_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", " ": " ", "\t": "\t"}
_CODE_LENGTH = {"x": 2, "u": 4, "U": 8}
_HEADER = re.compile(r"[|>][-+0-9]*[^\r\n]*")


def raw_offsets(raw: str, value: str) -> list[int]:
    r"""Return, for each character of ``value`` and for its end, its offset in ``raw``, the scalar as written.

    Blanks produced by folding map to the start of the original blanks.

    >>> raw_offsets('"a\\tb"', "a\tb")
    [1, 2, 4, 5]
    >>> raw_offsets("|-\n  a\n  b", "a\nb")
    [5, 6, 9, 10]
    """
    quote = raw[:1] if raw[:1] in ("'", '"') else ""
    header = _HEADER.match(raw) if not quote else None
    at = 1 if quote else header.end() if header else 0
    found: list[int] = []
    last = 0
    while len(found) < len(value):
        at, blanks = _blanks(raw, at, quote)
        start = len(found)
        while len(found) < len(value) and value[len(found)] in _BLANK:
            number = len(found) - start
            found.append(blanks[min(number, len(blanks) - 1)] if blanks else at)
        if len(found) == len(value):
            break
        length, width = _character(raw, at, quote)
        found += [at] * width
        at += length
        last = at
    return [min(offset, len(raw)) for offset in (*found[: len(value)], last or at)]


def _blanks(raw: str, at: int, quote: str) -> tuple[int, list[int]]:
    """Return the end of the run of blanks at ``at``, and the offsets in it."""
    places: list[int] = []
    while at < len(raw):
        if raw[at] in _BLANK:
            places.append(at)
            at += 1
        elif quote == '"' and raw[at] == "\\" and raw[at + 1 : at + 2] in (*_BLANK_ESCAPES, "\n", "\r"):
            places.append(at)
            at += 2
        elif quote == '"' and raw[at] == "\\" and _code(raw, at) in (9, 10, 13, 32):
            places.append(at)
            at += 2 + _CODE_LENGTH[raw[at + 1]]
        else:
            break
    return at, places


def _character(raw: str, at: int, quote: str) -> tuple[int, int]:
    """Return the length of the character at ``at``, as written and as read."""
    if quote == "'" and raw[at : at + 2] == "''":
        return 2, 1
    if quote == '"' and raw[at : at + 1] == "\\" and at + 1 < len(raw):
        return 2 + _CODE_LENGTH.get(raw[at + 1], 0), 1
    return 1, 1


def _code(raw: str, at: int) -> int | None:
    length = _CODE_LENGTH.get(raw[at + 1 : at + 2])
    try:
        return int(raw[at + 2 : at + 2 + length], 16) if length else None
    except ValueError:
        return None


MAX_DEPTH = 64
BYTE_ORDER_MARK = "\ufeff"

_SEPARATOR = re.compile("[\x85\u2028\u2029]")
_READ_DIFFERENTLY = re.compile("\t|[|>][-+0-9]*#|(?<!^)\ufeff")
"""What libyaml accepts in places where PyYAML's own scanner does not, or counts otherwise."""
_CONFLICT = re.compile(r"^<{7}(?: [^\r\n]*)?(?=\r?\n)(?=.*^>{7}(?: |\r?$))", re.MULTILINE | re.DOTALL)
UNSETTLED = "This is a conflict marker ({marker:.60}) left by a merge. Keep one side, or combine them."
_SURROGATE = re.compile("[\ud800-\udfff]")

KeyPath = tuple[str | int, ...]
Position = tuple[int, int]


class YamlError(UsageError):
    """Report an unusable YAML file, with the place, if it could be read, and one clear sentence."""

    def __init__(self, code: str, problem: str, *, path: str, line: int | None = None, column: int = 1) -> None:
        place = path if line is None else f"{path}:{line}:{column}"
        super().__init__(f"{place}: {problem}", path=path, line=line)
        self.code = code
        self.problem = problem
        self.column = column


@dataclass(frozen=True)
class YamlFinding:
    """Something that loads, but that a person should check."""

    code: str
    message: str
    line: int
    column: int
    start: int = 0
    """Offset of the scalar's first character in ``Document.text``."""
    end: int = 0
    quoting_is_safe: bool = False
    """Whether the scalar loads as the same value if it is quoted."""


@dataclass(frozen=True)
class Document:
    """A loaded YAML document together with the positions of everything in it."""

    path: str
    text: str
    """The text without a byte order mark."""
    data: Any
    values: Mapping[KeyPath, Position]
    keys: Mapping[KeyPath, Position]
    findings: tuple[YamlFinding, ...] = ()
    texts: tuple[tuple[int, int], ...] = ()
    """Start and end offsets of quoted and block scalars: a ``#`` in them starts no comment."""
    spans: Mapping[KeyPath, tuple[int, int]] = field(default_factory=dict)
    """Start and end offsets of every scalar that is a value."""

    def position(self, path: KeyPath = ()) -> Position:
        """Return line and column, from 1, of the value at ``path`` or of the nearest parent that exists."""
        return self._nearest(self.values, path)

    def key_position(self, path: KeyPath) -> Position:
        """Return line and column of the key that ends ``path``; for a list item or an absent key, as ``position``."""
        return self.keys[path] if path in self.keys else self.position(path)

    def place(self, offset: int) -> Position:
        """Return line and column of the character at ``offset`` in ``text``."""
        number = bisect_right(self._line_starts, offset)
        return number, offset - self._line_starts[number - 1] + 1

    def offset(self, position: Position) -> int:
        """Return the offset in ``text`` of the character at a line and column."""
        return self._line_starts[position[0] - 1] + position[1] - 1

    def offsets(self, path: KeyPath) -> list[int]:
        """Return the offset in ``text`` of each character of the text at ``path``, and of its end."""
        value: Any = self.data
        for part in path:
            value = value[part]
        start, end = self.spans[path]
        return [start + offset for offset in raw_offsets(self.text[start:end], str(value))]

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", self.text))]

    def _nearest(self, known: Mapping[KeyPath, Position], path: KeyPath) -> Position:
        while path and path not in known:
            path = path[:-1]
        return known.get(path, (1, 1))


def load_yaml(source: Path | str | bytes, *, name: str | None = None) -> Document:
    r"""Return the document in a file (``Path``) or in text (``str``, ``bytes``), or raise ``YamlError``.

    ``name`` is what findings and errors call the source.

    >>> load_yaml("steps: [one, two]").data
    {'steps': ['one', 'two']}
    >>> load_yaml("a:\n  b: 1").position(("a", "b"))
    (2, 6)
    """
    if isinstance(source, Path):
        shown = name or str(source)
        return _parse(_decode(_read(source, shown), shown), shown)
    shown = name or "<text>"
    content = source if isinstance(source, bytes) else source.encode("utf-8", "surrogatepass")
    return _parse(_decode(content, shown), shown)


def _read(path: Path, shown: str) -> bytes:
    """Return at most one byte more than allowed; a pipe or a device is refused instead of waited for."""
    try:
        return file_bytes(path)
    except (OSError, ValueError) as error:
        raise YamlError("MKY001", why_not(error), path=shown) from None


def _decode(content: bytes, shown: str) -> str:
    if len(content) > MAX_BYTES:
        problem = f"The file is larger than {MAX_BYTES:,} bytes. Split it."
        raise YamlError("MKY006", problem, path=shown, line=1, column=1)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        line, column = _place(before, len(before))
        problem = f"Byte 0x{content[error.start]:02x} is not UTF-8. Save the file as UTF-8."
        raise YamlError("MKY007", problem, path=shown, line=line, column=column) from None
    if marker := conflict_marker(text):
        line, column = _place(text, marker.start())
        raise YamlError("MKY019", UNSETTLED.format(marker=marker[0].strip()), path=shown, line=line, column=column)
    separator = _SEPARATOR.search(text)
    if separator:
        line, column = _place(text, separator.start())
        problem = f"YAML 1.1 reads {separator[0]!r} as a line break and 1.2 does not. Write it as an escape in quotes."
        raise YamlError("MKY001", problem, path=shown, line=line, column=column)
    return text


def conflict_marker(text: str) -> re.Match[str] | None:
    """Return the first conflict marker of an unsettled merge, None if there is none."""
    if "<<<<<<<" not in text or ">>>>>>>" not in text:
        return None
    return _CONFLICT.search(text)


def _place(text: str, offset: int) -> Position:
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def _parse(text: str, shown: str) -> Document:
    """Return the document, parsed by libyaml if that surely reads the text as PyYAML's own scanner does.

    libyaml is ten times as fast. Whatever it refuses or may read differently is read again by PyYAML's scanner, so that
    what loads, and every message and position, is the same on a machine that has no libyaml.
    """
    if pyyaml.__with_libyaml__ and not _READ_DIFFERENTLY.search(text):
        try:
            found = _lately_built(text, shown) if len(text) <= _SHORT else _built(text, shown, _quick_events)
            return replace(found, data=_copied(found.data))
        except (YamlError, pyyaml.YAMLError, ValueError, OverflowError, _Unsure):
            pass
    return _carefully(text, shown)


_SHORT = 40_000
"""Characters of the files whose documents are kept, the last few: one process often reads the same file again."""


@lru_cache(maxsize=32)
def _lately_built(text: str, shown: str) -> Document:
    return _built(text, shown, _quick_events)


def _copied(data: Any) -> Any:
    """Return a copy of plain data, which its reader may change."""
    if isinstance(data, dict):
        return {key: _copied(value) for key, value in data.items()}
    return [_copied(item) for item in data] if isinstance(data, list) else data


def _carefully(text: str, shown: str) -> Document:
    reader: list[pyyaml.SafeLoader] = []

    def events(content: str) -> Iterator[pyyaml.Event]:
        loader = pyyaml.SafeLoader(content)
        reader.append(loader)
        while loader.check_event():
            yield loader.get_event()  # type: ignore[no-untyped-call]

    try:
        return _built(text, shown, events)
    except pyyaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise _broken(_sentence(error), shown, place) from None
    except pyyaml.reader.ReaderError as error:
        offset = error.position if isinstance(error.position, int) else 0
        text = text.removeprefix(BYTE_ORDER_MARK)
        character = text[offset : offset + 1]
        raise _broken(f"The character {character!r} is not allowed here.", shown, _place(text, offset)) from None
    except (ValueError, OverflowError):
        # The scanner passes an escape beyond Unicode to chr(), and a directive of any length to int().
        place = (reader[0].line + 1, reader[0].column + 1)
        raise _broken("This escape or directive is out of range.", shown, place) from None


def _built(text: str, shown: str, read: Callable[[str], Iterator[pyyaml.Event]]) -> Document:
    findings: list[YamlFinding] = []
    if text.startswith(BYTE_ORDER_MARK):
        text = text[1:]
        findings.append(YamlFinding("MKY005", "The file starts with a byte order mark. Save it without one.", 1, 1))
    builder = _Builder(shown, findings)
    data = builder.document(read(text))
    texts = tuple(builder.texts)
    return Document(shown, text, data, builder.values, builder.keys, tuple(findings), texts, builder.spans)


class _Unsure(Exception):
    """libyaml may read something here differently."""


def _quick_events(text: str) -> Iterator[pyyaml.Event]:
    parser: Any = pyyaml.cyaml.CParser(text)  # type: ignore[attr-defined]
    opened: list[bool] = []
    while parser.check_event():
        event = parser.get_event()
        kind = type(event)
        if kind is pyyaml.ScalarEvent:
            # PyYAML ends an unquoted scalar at "?" inside brackets, and marks an empty one at another place.
            if not event.style and (not event.value or ("?" in event.value and opened[-1:] == [True])):
                raise _Unsure
        elif kind is pyyaml.MappingStartEvent or kind is pyyaml.SequenceStartEvent:
            opened.append(event.flow_style)
        elif kind is pyyaml.MappingEndEvent or kind is pyyaml.SequenceEndEvent:
            opened.pop()
        yield event


def _sentence(error: pyyaml.MarkedYAMLError) -> str:
    problem = error.problem or "the text is not YAML"
    if "found character '\\t'" in problem:
        return "A tab cannot indent in YAML. Use spaces."
    if error.context and error.context_mark and error.problem_mark:
        problem = f"{problem} ({error.context} that starts on line {error.context_mark.line + 1})"
    problem = " ".join(problem.split())
    return f"This is not valid YAML: {problem}."


def _broken(problem: str, shown: str, place: Position) -> YamlError:
    return YamlError("MKY001", problem, path=shown, line=place[0], column=place[1])


class _Builder:
    """Turns the event stream into plain data and refuses what the dialect excludes, in one pass."""

    def __init__(self, shown: str, findings: list[YamlFinding]) -> None:
        self.shown = shown
        self.findings = findings
        self.values: dict[KeyPath, Position] = {}
        self.keys: dict[KeyPath, Position] = {}
        self.texts: list[tuple[int, int]] = []
        self.spans: dict[KeyPath, tuple[int, int]] = {}

    def document(self, events: Iterator[pyyaml.Event]) -> Any:
        """Return the data of the only document, ``None`` for an empty one."""
        data: Any = None
        documents = 0
        for event in events:
            if isinstance(event, pyyaml.DocumentStartEvent):
                documents += 1
                self._check_document(event, documents)
                data = self._node(next(events), events, ())
        return data

    def _check_document(self, event: pyyaml.DocumentStartEvent, documents: int) -> None:
        if documents > 1:
            raise self._error("MKY008", event, "A second document starts here. Keep one document in a file.")
        if event.version not in (None, (1, 2)) or event.tags:
            raise self._error("MKY004", event, "Remove the directive: files are read as YAML 1.2 without tags.")

    def _node(self, event: Any, events: Iterator[pyyaml.Event], path: KeyPath) -> Any:
        if event.anchor is not None or event.tag is not None or len(path) > MAX_DEPTH:
            raise self._refused(event)
        mark = event.start_mark
        self.values[path] = (mark.line + 1, mark.column + 1)
        kind = type(event)
        if kind is pyyaml.ScalarEvent:
            self.spans[path] = (mark.index, event.end_mark.index)
            return self._scalar(event)
        return self._mapping(events, path) if kind is pyyaml.MappingStartEvent else self._sequence(events, path)

    def _refused(self, event: Any) -> YamlError:
        """Return the error about a node that the dialect excludes."""
        if isinstance(event, pyyaml.AliasEvent):
            return self._error("MKY004", event, f"Write the value out: the alias {event.anchor!r} is not supported.")
        if event.anchor is not None:
            return self._error("MKY004", event, f"Remove the anchor {event.anchor!r}: anchors are not supported.")
        if event.tag is not None:
            return self._error("MKY004", event, f"Remove the tag {event.tag!r}: tags are not supported.")
        return self._error("MKY006", event, f"The nesting is deeper than {MAX_DEPTH} levels.")

    def _sequence(self, events: Iterator[pyyaml.Event], path: KeyPath) -> list[Any]:
        items: list[Any] = []
        for event in events:
            if isinstance(event, pyyaml.SequenceEndEvent):
                break
            items.append(self._node(event, events, (*path, len(items))))
        return items

    def _mapping(self, events: Iterator[pyyaml.Event], path: KeyPath) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        for event in events:
            if isinstance(event, pyyaml.MappingEndEvent):
                break
            key = self._key(event)
            inner = (*path, key)
            if key in entries:
                first = self.keys[inner][0]
                raise self._error("MKY002", event, f"Duplicate key {key!r} (first on line {first}).")
            self.keys[inner] = _start(event)
            entries[key] = self._node(next(events), events, inner)
        return entries

    def _key(self, event: Any) -> str:
        if event.anchor is not None or event.tag is not None:
            raise self._refused(event)
        if not isinstance(event, pyyaml.ScalarEvent):
            raise self._error("MKY001", event, "A list or a map cannot be a key. Use a string.")
        if event.implicit[0] and event.value == "<<":
            raise self._error("MKY004", event, "Merge keys are not supported. Write the keys out.")
        key = self._scalar(event)
        if not isinstance(key, str):
            shown = event.value or "empty"
            raise self._error("MKY001", event, f"The key {shown!r} is not a string. Put it in quotes.")
        return key

    def _scalar(self, event: Any) -> str | int | float | bool | None:
        value: str = event.value
        if event.style:
            self.texts.append((event.start_mark.index, event.end_mark.index))
            if event.style == '"' and _SURROGATE.search(value):
                raise self._error("MKY001", event, "Half of a surrogate pair is not a character. Write the character.")
        if not event.implicit[0]:
            return value
        found = ambiguity(value)
        if found is not None:
            self.findings.append(_ambiguous(event, found))
        try:
            return resolve_plain(value)
        except ValueError as error:
            raise self._error("MKY001", event, f"{error} Put it in quotes.") from None

    def _error(self, code: str, event: pyyaml.Event, problem: str) -> YamlError:
        line, column = _start(event)
        return YamlError(code, problem, path=self.shown, line=line, column=column)


def _start(event: pyyaml.Event) -> Position:
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _ambiguous(event: pyyaml.ScalarEvent, found: Ambiguity) -> YamlFinding:
    line, column = _start(event)
    return YamlFinding(
        "MKY003",
        f"{event.value!r} is read here as {found.read_as}, elsewhere as {found.elsewhere}. {found.advice}",
        line,
        column,
        event.start_mark.index if event.start_mark else 0,
        event.end_mark.index if event.end_mark else 0,
        found.is_string,
    )
