"""Edit a YAML text as a careful editor would, and merge two by meaning, keeping comments and order."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, Literal

from memkit.store.yaml import YamlError, load_yaml

_FLUSH_LIST = re.compile(r"^( *)[^\s#-][^\n]*:[ \t]*\n\1- ", re.MULTILINE)
"""A list whose dashes are directly below its key."""
_BOM = "\ufeff"


def edited(content: str, change: Callable[[Any], None]) -> str:
    r"""Return ``content`` after applying ``change`` to the document in it, which it edits like a dict.

    >>> edited("a: 1  # why\nb: [x]\n", lambda document: document.update(a=2))
    'a: 2  # why\nb: [x]\n'
    """
    from ruamel.yaml import YAML

    text = content.removeprefix(_BOM).replace("\r\n", "\n")
    editor = YAML()
    editor.preserve_quotes = True
    editor.width = 4096
    if not _FLUSH_LIST.search(text):
        editor.indent(mapping=2, sequence=4, offset=2)
    document = editor.load(text)
    change(document)
    written = io.StringIO()
    editor.dump(document, written)
    result = written.getvalue()
    if "\r\n" in content:
        result = result.replace("\n", "\r\n")
    return _BOM + result if content.startswith(_BOM) else result


def without_entries(content: str, keys: Sequence[str]) -> str:
    r"""Return ``content`` without some dotted keys, and maps emptied by that; every other line stays as it is.

    >>> without_entries('a: 1\nversion: "2"\nlog:\n- x\n# why\nb: {c: 2}\n', ("version", "log", "b.c"))
    'a: 1\n# why\n'
    """
    wanted = data = load_yaml(content).data
    for key in keys:
        wanted = _without(wanted, key.split("."))
    gone = [path for key in keys if (path := _topmost_gone(data, wanted, key.split(".")))]
    result = "".join(_lines_without(content, gone))
    try:
        if (load_yaml(result).data or {}) == wanted:
            return result
    except YamlError:
        pass

    def change(document: Any) -> None:
        for *parents, name in gone:
            place = document
            for parent in parents:
                place = place[parent]
            place.pop(name, None)

    return edited(content, change)


def _without(data: Any, path: Sequence[str]) -> Any:
    name, *rest = path
    if not isinstance(data, dict) or name not in data:
        return data
    inner = _without(data[name], rest) if rest else None
    return {
        key: inner if key == name else value for key, value in data.items() if key != name or inner not in (None, {})
    }


def _topmost_gone(data: Any, wanted: Any, path: Sequence[str]) -> list[str]:
    """Return the outermost key on ``path`` that exists but is not wanted; empty if it does not exist at all."""
    for place, name in enumerate(path, 1):
        if not isinstance(data, dict) or name not in data:
            return []
        if name not in wanted:
            return list(path[:place])
        data, wanted = data[name], wanted[name]
    return []


def _lines_without(content: str, paths: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of ``content`` except those of the entries at ``paths``, as far as each begins a line."""
    entry = re.compile(r"( *)(- )?([^\s#:]+)\s*:")
    at: list[tuple[int, str]] = []
    """The keys that contain the line, each with its indentation."""
    inside = -1
    """The indentation of the entry being left out."""
    for line in content.splitlines(keepends=True):
        indent = len(line) - len(line.lstrip(" "))
        if inside >= 0 and (not line.strip() or indent > inside or line[indent:].startswith("- ")):
            continue
        inside = -1
        found = entry.match(line)
        if found and not found[2]:
            at = [*((column, name) for column, name in at if column < indent), (indent, found[3])]
            if [name for _, name in at] in [list(path) for path in paths]:
                inside = indent
                continue
        yield line


Part = Literal["major", "minor", "patch"]
PARTS: tuple[Part, ...] = ("major", "minor", "patch")


def next_version(version: str | None, part: Part) -> str:
    """Return the next version; the first one is 0.1.0.

    >>> next_version("1.2.3", "major"), next_version("1.2.3", "minor"), next_version("1.2.3", "patch")
    ('2.0.0', '1.3.0', '1.2.4')
    """
    if version is None:
        return "0.1.0"
    numbers = [int(number) for number in version.split(".")]
    place = PARTS.index(part)
    return ".".join(str(number) for number in [*numbers[:place], numbers[place] + 1, *[0] * (2 - place)])


def version_key(version: str) -> tuple[int, ...]:
    """Return a version in the form used for comparison.

    >>> version_key("1.10.0") > version_key("1.9.0")
    True
    """
    return tuple(int(part) for part in version.split("."))


def bumped(text: str, version: str, changes: Sequence[str]) -> str:
    """Return the text of a file with ``version`` and, newest first, an entry for it in the change log."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString as Quoted

    def change(document: Any) -> None:
        document["version"] = Quoted(version)
        entry = {"version": Quoted(version), "changes": changes[0] if len(changes) == 1 else list(changes)}
        document.setdefault("changelog", []).insert(0, entry)

    return edited(text, change)


_NAMING = ("name", "input", "text", "version")
"""Keys that identify an item of a list among the others, such as a test by its name."""
_ABSENT = object()


@dataclass(frozen=True)
class Clash:
    """A clause that both sides changed differently."""

    place: str
    """Such as ``tests[asks].expect``."""
    ours: Any
    """None if it was removed."""
    theirs: Any


def merge_yaml(base: str, ours: str, theirs: str, by_line: str | None = None) -> tuple[str | None, list[Clash]]:
    """Return the text with the changes of both sides, or None and the conflicting clauses.

    Args:
        base: The common original text; empty if there was none.
        ours: The text whose comments and order are kept.
        theirs: The other one.
        by_line: The result of a line merge, if it succeeded: it keeps the comments of both.

    Raises:
        YamlError: One of them does not load.
    """
    old, mine, new = (load_yaml(text).data for text in (base, ours, theirs))
    clashes: list[Clash] = []
    goal = _merged({} if old is None else old, mine, new, place="", clashes=clashes)
    if clashes:
        return None, clashes
    for text in (by_line, ours, theirs):
        if text is not None and _says(text, goal):
            return text, []
    return edited(ours, lambda document: _bring(document, mine, goal)), []


def _says(text: str, goal: Any) -> bool:
    try:
        return bool(load_yaml(text).data == goal)
    except YamlError:
        return False


def _merged(base: Any, ours: Any, theirs: Any, *, place: str, clashes: list[Clash]) -> Any:
    if theirs in (base, ours):
        return ours
    if ours == base:
        return theirs
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        known = base if isinstance(base, Mapping) else {}
        return _merged_map((known, ours, theirs), place, clashes)
    if isinstance(base, list) and isinstance(ours, list) and isinstance(theirs, list):
        named = [items for side in (base, ours, theirs) if (items := _by_name(side)) is not None]
        if len(named) == 3:
            return list(_merged_map(named, place, clashes, "[{}]").values())
        together = joined(base, ours, theirs)
        if together is not None:
            return together
    clashes.append(Clash(place, *(None if side is _ABSENT else side for side in (ours, theirs))))
    return ours


def _merged_map(
    sides: Sequence[Mapping[str, Any]], place: str, clashes: list[Clash], form: str = ".{}"
) -> dict[str, Any]:
    """Return the entries of both sides in our order; entries only of theirs follow their predecessors there."""
    _, ours, theirs = sides
    order = list(ours)
    for before, key in pairwise([None, *theirs]):
        if key not in ours:
            order.insert(order.index(before) + 1 if before in order else len(order), str(key))
    found = {}
    for key in order:
        inner = (place + form.format(key)).removeprefix(".")
        value = _merged(*(side.get(key, _ABSENT) for side in sides), place=inner, clashes=clashes)
        if value is not _ABSENT:
            found[key] = value
    return found


def _by_name(items: Sequence[Any]) -> dict[str, Any] | None:
    """Return items by their identifying values; None if one has none, or two share one."""
    if not all(isinstance(item, Mapping) for item in items):
        return None
    for key in _NAMING:
        names = [item.get(key) for item in items]
        if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
            return dict(zip(map(str, names), items, strict=True))
    return None


def joined(base: list[Any], ours: list[Any], theirs: list[Any]) -> list[Any] | None:
    """Return a list with the changes of both sides, or None if they overlap."""
    own = _edits(base, ours)
    edits = sorted([*own, *(edit for edit in _edits(base, theirs) if edit not in own)], key=lambda edit: edit[:2])
    for (_, stop, _), (start, _, _) in pairwise(edits):
        if start <= stop:
            return None
    result: list[Any] = []
    place = 0
    for start, stop, items in edits:
        result += [*base[place:start], *items]
        place = stop
    return [*result, *base[place:]]


def _edits(before: Sequence[Any], after: Sequence[Any]) -> list[tuple[int, int, list[Any]]]:
    """Return the replaced stretches of ``before``, as (from, to, items)."""
    matcher = SequenceMatcher(None, list(map(repr, before)), list(map(repr, after)), autojunk=False)
    return [(a, b, list(after[c:d])) for kind, a, b, c, d in matcher.get_opcodes() if kind != "equal"]


def _bring(document: Any, ours: Any, goal: Any) -> None:
    """Change a document with the content ``ours`` until it has that of ``goal``, leaving correct parts alone."""
    for key in [key for key in ours if key not in goal]:
        del document[key]
    for key, value in goal.items():
        if key not in ours or ours[key] != value:
            if isinstance(value, Mapping) and isinstance(ours.get(key), Mapping):
                _bring(document[key], ours[key], value)
            elif isinstance(value, list) and isinstance(ours.get(key), list):
                _bring_list(document[key], ours[key], value)
            else:
                document[key] = value


def _bring_list(items: Any, ours: Sequence[Any], goal: Sequence[Any]) -> None:
    for start, stop, wanted in reversed(_edits(ours, goal)):
        del items[start:stop]
        for item in reversed(wanted):
            items.insert(start, item)
