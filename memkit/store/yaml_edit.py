"""Change a YAML text as a careful editor would: comments, quotes, order, indentation and line ends stay."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from memkit.store.yaml import YamlError, load_yaml

_FLUSH_LIST = re.compile(r"^( *)[^\s#-][^\n]*:[ \t]*\n\1- ", re.MULTILINE)
"""A list whose dashes stand right under its key."""
_BOM = "\ufeff"


def edited(content: str, change: Callable[[Any], None]) -> str:
    r"""Return ``content`` after ``change`` was applied to the document in it, which it edits like a dict.

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
    r"""Return ``content`` without some dotted keys, and maps that they leave empty; every other line stays as it is.

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
    """Return the outermost key on ``path`` that is there and is not wanted; nothing where it is not there at all."""
    for place, name in enumerate(path, 1):
        if not isinstance(data, dict) or name not in data:
            return []
        if name not in wanted:
            return list(path[:place])
        data, wanted = data[name], wanted[name]
    return []


def _lines_without(content: str, paths: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of ``content`` but those of the entries at ``paths``, as far as each begins a line."""
    entry = re.compile(r"( *)(- )?([^\s#:]+)\s*:")
    at: list[tuple[int, str]] = []
    """The keys that the line lies under, each with its indentation."""
    inside = -1
    """The indentation of the entry that is left out."""
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
    """Return the version that follows; the first one is 0.1.0.

    >>> next_version("1.2.3", "major"), next_version("1.2.3", "minor"), next_version("1.2.3", "patch")
    ('2.0.0', '1.3.0', '1.2.4')
    """
    if version is None:
        return "0.1.0"
    numbers = [int(number) for number in version.split(".")]
    place = PARTS.index(part)
    return ".".join(str(number) for number in [*numbers[:place], numbers[place] + 1, *[0] * (2 - place)])


def version_key(version: str) -> tuple[int, ...]:
    """Return a version in the form in which versions are compared.

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
