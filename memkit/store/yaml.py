"""Read YAML strictly: one dialect (YAML 1.2 core), exact positions, and no construct that loads differently elsewhere.

The event stream is checked before anything is built, so that a hostile file costs no more than its own size: at most
1 MB, at most 64 levels, one document, and no anchors, aliases, merge keys or tags. Keys are strings and unique. A plain
scalar that YAML 1.1 and 1.2 read differently loads as YAML 1.2 reads it and is named in ``Document.findings``.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml as pyyaml

from memkit.errors import UsageError
from memkit.store.scalars import Ambiguity, ambiguity, resolve_plain

MAX_BYTES = 1_000_000
MAX_DEPTH = 64

_SEPARATOR = re.compile("[\x85\u2028\u2029]")
_SURROGATE = re.compile("[\ud800-\udfff]")

KeyPath = tuple[str | int, ...]
Position = tuple[int, int]


class YamlError(UsageError):
    """Report a YAML file that cannot be used, with the place and one clear sentence."""

    def __init__(self, code: str, problem: str, *, path: str, line: int, column: int) -> None:
        super().__init__(f"{path}:{line}:{column}: {problem}", path=path, line=line)
        self.code = code
        self.problem = problem
        self.column = column


@dataclass(frozen=True)
class YamlFinding:
    """Something that loads, but that a person should look at."""

    code: str
    message: str
    line: int
    column: int
    start: int = 0
    """Offset of the scalar's first character in ``Document.text``."""
    end: int = 0
    quoting_is_safe: bool = False
    """Whether quotes around the scalar leave what it loads as unchanged."""


@dataclass(frozen=True)
class Document:
    """A loaded YAML document together with where everything in it stands."""

    path: str
    text: str
    """The text without a byte order mark."""
    data: Any
    values: Mapping[KeyPath, Position]
    keys: Mapping[KeyPath, Position]
    findings: tuple[YamlFinding, ...] = ()
    texts: tuple[tuple[int, int], ...] = ()
    """Offsets, from and to, of quoted and block scalars: a ``#`` in them starts no comment."""

    def position(self, path: KeyPath = ()) -> Position:
        """Return line and column, from 1, of the value at ``path`` or of the nearest parent that exists."""
        return self._nearest(self.values, path)

    def key_position(self, path: KeyPath) -> Position:
        """Return line and column of the key that ends ``path``; for a list item or an absent key, as ``position``."""
        return self.keys[path] if path in self.keys else self.position(path)

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
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise YamlError("MKY001", "This is not a regular file.", path=shown, line=1, column=1)
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise YamlError("MKY001", f"The file cannot be read: {reason}.", path=shown, line=1, column=1) from None


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
    separator = _SEPARATOR.search(text)
    if separator:
        line, column = _place(text, separator.start())
        problem = f"YAML 1.1 reads {separator[0]!r} as a line break and 1.2 does not. Write it as an escape in quotes."
        raise YamlError("MKY001", problem, path=shown, line=line, column=column)
    return text


def _place(text: str, offset: int) -> Position:
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def _parse(text: str, shown: str) -> Document:
    findings: list[YamlFinding] = []
    if text.startswith("\ufeff"):
        text = text[1:]
        findings.append(YamlFinding("MKY005", "The file starts with a byte order mark. Save it without one.", 1, 1))
    builder = _Builder(shown, findings)
    try:
        loader = pyyaml.SafeLoader(text)
        data = builder.document(_events(loader))
    except pyyaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise _broken(_sentence(error), shown, place) from None
    except pyyaml.reader.ReaderError as error:
        offset = error.position if isinstance(error.position, int) else 0
        character = text[offset : offset + 1]
        raise _broken(f"The character {character!r} is not allowed here.", shown, _place(text, offset)) from None
    except (ValueError, OverflowError):
        # The scanner hands an escape beyond Unicode to chr(), and a directive of any length to int().
        place = (loader.line + 1, loader.column + 1)
        raise _broken("This escape or directive is out of range.", shown, place) from None
    return Document(shown, text, data, builder.values, builder.keys, tuple(findings), tuple(builder.texts))


def _events(loader: pyyaml.SafeLoader) -> Iterator[pyyaml.Event]:
    while loader.check_event():
        yield loader.get_event()  # type: ignore[no-untyped-call]


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
    """Turns the event stream into plain data and refuses what the dialect leaves out, in one pass."""

    def __init__(self, shown: str, findings: list[YamlFinding]) -> None:
        self.shown = shown
        self.findings = findings
        self.values: dict[KeyPath, Position] = {}
        self.keys: dict[KeyPath, Position] = {}
        self.texts: list[tuple[int, int]] = []

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

    def _node(self, event: pyyaml.Event, events: Iterator[pyyaml.Event], path: KeyPath) -> Any:
        self._check_node(event, path)
        self.values[path] = _start(event)
        if isinstance(event, pyyaml.MappingStartEvent):
            return self._mapping(events, path)
        if isinstance(event, pyyaml.SequenceStartEvent):
            return self._sequence(events, path)
        assert isinstance(event, pyyaml.ScalarEvent)  # aliases were refused, and a node is nothing else
        return self._scalar(event)

    def _check_node(self, event: pyyaml.Event, path: KeyPath) -> None:
        anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
        if isinstance(event, pyyaml.AliasEvent):
            raise self._error("MKY004", event, f"Write the value out: the alias {anchor!r} is not supported.")
        if anchor is not None:
            raise self._error("MKY004", event, f"Remove the anchor {anchor!r}: anchors are not supported.")
        if tag is not None:
            raise self._error("MKY004", event, f"Remove the tag {tag!r}: tags are not supported.")
        if len(path) > MAX_DEPTH:
            raise self._error("MKY006", event, f"The nesting is deeper than {MAX_DEPTH} levels.")

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
            key = self._key(event, path)
            if key in entries:
                first = self.keys[(*path, key)][0]
                raise self._error("MKY002", event, f"The key {key!r} stands here twice (first on line {first}).")
            self.keys[(*path, key)] = _start(event)
            entries[key] = self._node(next(events), events, (*path, key))
        return entries

    def _key(self, event: pyyaml.Event, path: KeyPath) -> str:
        self._check_node(event, path)
        if not isinstance(event, pyyaml.ScalarEvent):
            raise self._error("MKY001", event, "A list or a map cannot be a key. Use a string.")
        if event.implicit[0] and event.value == "<<":
            raise self._error("MKY004", event, "Merge keys are not supported. Write the keys out.")
        key = self._scalar(event)
        if not isinstance(key, str):
            shown = event.value or "empty"
            raise self._error("MKY001", event, f"The key {shown!r} is not a string. Put it in quotes.")
        return key

    def _scalar(self, event: pyyaml.ScalarEvent) -> str | int | float | bool | None:
        value: str = event.value
        if event.style and event.start_mark and event.end_mark:
            self.texts.append((event.start_mark.index, event.end_mark.index))
        if _SURROGATE.search(value):
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
