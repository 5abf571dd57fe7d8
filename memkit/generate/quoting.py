"""Write a value from a store into generated text so that it cannot change the syntax around it.

Each function returns a complete literal, quotes included. JSON's own spelling is wrong for most of these languages (it
splits an emoji into two halves, which Python and YAML do not join and TOML refuses), so each has its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memkit.errors import UsageError
from memkit.runtime.host.terminal import one_line

_SURROGATE = re.compile("[\ud800-\udfff]")
_MARKDOWN = re.compile(r"[\\`*_{}\[\]<>#|~&@]|:(?=//)|(?<=www)\.", re.IGNORECASE)
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_YAML_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


def as_python(value: Any) -> str:
    r"""Return ``value`` as a Python literal of printable ASCII.

    >>> print(as_python('it\'s "quoted"\n'))
    "it's \"quoted\"\n"
    """
    if isinstance(value, str):
        return _python_text(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{as_python(key)}: {as_python(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(as_python(item) for item in value) + "]"
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    raise UsageError(f"A value of type {type(value).__name__} cannot be written into generated Python.")


WIDTH = 110
"""Characters per line of JSON."""
_FLAT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True).encode


def as_json(value: Any) -> str:
    r"""Return ``value`` as readable JSON with sorted keys: on one line if it fits, else one item per line.

    Words and numbers of a long list fill their lines instead, like the words of a paragraph.

    >>> print(as_json({"b": [1, 2], "a": {}}))
    {"a": {}, "b": [1, 2]}
    """
    text = _spread(value, "")
    if _SURROGATE.search(text):
        _refuse_surrogates(value)
    return text


def _spread(value: Any, indent: str) -> str:
    is_plain = not value or not isinstance(value, Mapping | list | tuple)
    if is_plain or _room_left(value, WIDTH - len(indent)) >= 0:
        flat = _FLAT(value)
        if is_plain or len(indent) + len(flat) <= WIDTH:
            return flat
    if len(value) == 1:  # a single item shares its brackets' lines
        (only,) = value
        if not isinstance(value, Mapping):
            return f"[{_spread(only, indent)}]"
        return f"{{{_FLAT(only)}: {_spread(value[only], indent)}}}"
    inner = f"{indent}  "
    if isinstance(value, Mapping):
        items = [f"{_FLAT(key)}: {_spread(value[key], inner)}" for key in sorted(value)]
        return "{\n" + ",\n".join(inner + item for item in items) + f"\n{indent}}}"
    items = [_spread(item, inner) for item in value]
    if not any(isinstance(item, Mapping | list | tuple) for item in value):
        items = _filled(items, WIDTH - len(inner))
    return "[\n" + ",\n".join(inner + item for item in items) + f"\n{indent}]"


def _room_left(value: Any, room: int) -> int:
    """Return at least how much of a line ``value`` leaves, negative as soon as it surely does not fit."""
    if isinstance(value, str):
        return room - len(value) - len('""')
    if not isinstance(value, Mapping | list | tuple):
        return room - 1
    for item in value:
        room = _room_left(item, room) - len(", ")
        if isinstance(value, Mapping):
            room = _room_left(value[item], room) - len(": ")
        if room < 0:
            break
    return room


def _filled(items: list[str], width: int) -> list[str]:
    """Return ``items`` joined to lines of at most ``width`` characters, a longer item on its own."""
    lines = items[:1]
    for item in items[1:]:
        if len(lines[-1]) + len(item) + len(", ") < width:
            lines[-1] += f", {item}"
        else:
            lines.append(item)
    return lines


def as_toml(value: Any) -> str:
    r"""Return ``value`` (text, number, boolean or a list of them) as a TOML literal on one line.

    >>> print(as_toml(["a\x7f", True]))
    ["a\u007F", true]
    """
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(as_toml(item) for item in value) + "]"
    if value is None or isinstance(value, Mapping):
        raise UsageError(f"A value of type {type(value).__name__} cannot be written into generated TOML.")
    _refuse_surrogates(value)
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007F")


def as_yaml(value: Any) -> str:
    """Return ``value`` as YAML flow style on one line; strings are always quoted, so no word changes its type."""
    _refuse_surrogates(value)
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda found: f"\\u{ord(found[0]):04x}", text)


def as_yaml_block(data: Mapping[str, Any], indent: int = 0) -> str:
    """Return ``data`` as YAML, one key per line, nested maps and lists of maps indented.

    >>> print(as_yaml_block({"name": "no", "context": {"max_tokens": 8000}}), end="")
    name: "no"
    context:
      max_tokens: 8000
    """
    lines: list[str] = []
    margin = " " * indent
    for key, value in data.items():
        name = key if _PLAIN_KEY.fullmatch(key) and key.lower() not in _YAML_WORDS else as_yaml(key)
        if isinstance(value, Mapping) and value:
            lines.append(f"{margin}{name}:\n{as_yaml_block(value, indent + 2)}")
        elif _is_list_of_maps(value):
            lines.append(f"{margin}{name}:\n" + "".join(_yaml_item(item, indent + 2) for item in value))
        else:
            lines.append(f"{margin}{name}: {as_yaml(value)}\n")
    return "".join(lines)


def as_markdown(text: str) -> str:
    r"""Return ``text`` on one line, with every character escaped that Markdown or HTML gives a meaning within a line.

    >>> print(as_markdown("# <b>\n[x](https://y)"))
    \# \<b\> \[x\](https\://y)
    """
    return _MARKDOWN.sub(r"\\\g<0>", one_line(text))


QUOTING: Mapping[str, Callable[..., str]] = {
    function.__name__: function for function in (as_python, as_json, as_toml, as_yaml, as_yaml_block, as_markdown)
}
"""The functions for templates, by name."""


def _python_text(value: str) -> str:
    """Return a double-quoted literal, as formatters want it; ``ascii`` decides which characters need an escape."""
    body = ascii(value)
    inner = body[1:-1]
    if body[0] == "'":
        inner = inner.replace("\\'", "'").replace('"', '\\"')
    return f'"{inner}"'


def _is_list_of_maps(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) and item for item in value)


def _yaml_item(item: Mapping[str, Any], indent: int) -> str:
    block = as_yaml_block(item, indent + 2)
    return f"{' ' * indent}- {block[indent + 2 :]}"


def _refuse_surrogates(value: Any) -> None:
    """Raise ``UsageError`` for half a surrogate pair, which no text file can hold."""
    if isinstance(value, str):
        if _SURROGATE.search(value):
            raise UsageError(f"{value[:60]!r} contains half of a surrogate pair, which is not a character.")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _refuse_surrogates(key)
            _refuse_surrogates(item)
    elif isinstance(value, Sequence):
        for item in value:
            _refuse_surrogates(item)
