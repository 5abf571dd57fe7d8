"""Change a YAML text as a careful editor would: comments, quotes, order, indentation and line ends stay."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
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
    r"""Return ``content`` without some keys of the outermost map; every other line stays as it is.

    >>> without_entries('a: 1\nversion: "2"\nlog:\n- x\n# why\nb: 2\n', ("version", "log"))
    'a: 1\n# why\nb: 2\n'
    """
    wanted = {key: value for key, value in load_yaml(content).data.items() if key not in keys}
    entry = re.compile(rf"({'|'.join(map(re.escape, keys))})\s*:")
    lines, inside = [], False
    for line in content.splitlines(keepends=True):
        inside = bool(entry.match(line)) or (inside and (line[:1] in " \t\r\n" or line.startswith("- ")))
        lines += [] if inside else [line]
    result = "".join(lines)
    try:
        if load_yaml(result).data == wanted:
            return result
    except YamlError:
        pass

    def change(document: Any) -> None:
        for key in keys:
            document.pop(key, None)

    return edited(content, change)


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
