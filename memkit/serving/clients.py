"""The entry of a store in an MCP client's configuration: add or remove it, and keep every other byte.

Most clients store JSON in which people write comments, Codex TOML. The text is changed in one place, and the parsed
result is compared with the intended one: a file written in an unforeseen way is refused and left alone.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memkit.errors import UsageError

NAME = "memkit"
_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_LINE_END = re.compile(r"(?:[ \t]*//[^\n]*)?")
_NO_ENTRY = "cannot be changed without rewriting it. Change it by hand: "


@dataclass(frozen=True)
class Client:
    """Where a program stores its servers."""

    place: Callable[[Path, Path], Path]
    """Returns its file, given the current folder and the home folder."""
    key: str = "mcpServers"
    beside: Mapping[str, Any] = field(default_factory=dict)
    """The content of its entries beside command and arguments."""


def _desktop(here: Path, home: Path) -> Path:
    folder = home / "Library" / "Application Support" if sys.platform == "darwin" else home / ".config"
    return folder / "Claude" / "claude_desktop_config.json"


def _codex(here: Path, home: Path) -> Path:
    return Path(os.environ.get("CODEX_HOME") or home / ".codex") / "config.toml"


CLIENTS: Mapping[str, Client] = {
    "claude-code": Client(lambda here, home: here / ".mcp.json"),
    "claude-desktop": Client(_desktop),
    "cursor": Client(lambda here, home: here / ".cursor" / "mcp.json"),
    "vscode": Client(lambda here, home: here / ".vscode" / "mcp.json", "servers", {"type": "stdio"}),
    "codex": Client(_codex, "mcp_servers"),
    "gemini": Client(lambda here, home: home / ".gemini" / "settings.json"),
}


def entry_of(root: Path, user: str | None) -> dict[str, Any]:
    """Return what a client needs to start the server of a store."""
    script = Path(sys.executable).parent / "memkit"
    command, words = (str(script), []) if script.is_file() else (sys.executable, ["-P", "-m", "memkit"])
    bound = [] if user is None else ["--user", user]
    return {"command": command, "args": [*words, "serve", "--stdio", "--store", str(root), *bound]}


def with_entry(text: str, path: Path, key: str, entry: Mapping[str, Any] | None) -> str:
    """Return the text of a client's file with ``entry`` for memkit below ``key``; None removes it.

    Raises:
        UsageError: The file cannot be read, or not be changed in this one place.
    """
    is_toml = path.suffix == ".toml"
    read, change = (_toml_value, _toml_changed) if is_toml else (_json_value, _json_changed)
    before = read(text, path)
    wanted = deepcopy(before)
    below = wanted.setdefault(key, {})
    if not isinstance(below, dict):
        raise UsageError(f"{path}: {key} is not a table of servers.")
    if entry is None:
        if NAME not in below:
            return text
        del below[NAME]
    else:
        below[NAME] = dict(entry)
    changed = change(text, key, entry)
    without = {name: value for name, value in wanted.items() if name != key or value}
    if changed is None or read(changed, path) not in (wanted, without):
        raise UsageError(f"{path} {_NO_ENTRY}{json.dumps({key: {NAME: entry}})}")
    return changed


def text_in(content: bytes) -> str:
    """Return the text of a client's file, independent of byte order mark and line ends."""
    return content.decode("utf-8-sig").replace("\r\n", "\n")


def spelled_as(content: bytes, text: str) -> bytes:
    r"""Return a text as bytes with the same byte order mark and line ends as the present content.

    >>> spelled_as(b"\xef\xbb\xbfa\r\n", "b\nc\n")
    b'\xef\xbb\xbfb\r\nc\r\n'
    """
    ends = "\r\n" if content.count(b"\r\n") == content.count(b"\n") > 0 else "\n"
    return (BOM_UTF8 if content.startswith(BOM_UTF8) else b"") + text.replace("\n", ends).encode()


# JSON with comments and trailing commas.


@dataclass(frozen=True)
class _Node:
    value: Any
    start: int
    end: int
    members: Mapping[str, tuple[int, _Node]] = field(default_factory=dict)
    """For an object, by key: where the key begins, and the value."""


def _json_value(text: str, path: Path) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        root = _parsed(text, _SPACE.match(text, 0).end())  # type: ignore[union-attr]
        rest = _SPACE.match(text, root.end)
    except (ValueError, IndexError, RecursionError) as error:
        raise UsageError(f"{path} is not valid JSON: {error}.") from None
    if not isinstance(root.value, dict) or rest is None or rest.end() != len(text):
        raise UsageError(f"{path} is not a JSON object.")
    return root.value


def _parsed(text: str, at: int) -> _Node:
    """Return the value that begins at a position; raise ``ValueError`` if none does."""
    if text[at] in "[{":
        return _container(text, at)
    value, end = json.JSONDecoder(strict=False).raw_decode(text, at)
    return _Node(value, at, end)


def _container(text: str, start: int) -> _Node:
    is_object, items, members = text[start] == "{", [], {}
    at = _after_space(text, start + 1)
    while text[at] not in "]}":
        begins = at
        node = _parsed(text, at)
        at = _after_space(text, node.end)
        if is_object:
            if not isinstance(node.value, str) or text[at] != ":":
                raise ValueError(f"no key in line {text.count(chr(10), 0, begins) + 1}")
            key, node = node.value, _parsed(text, _after_space(text, at + 1))
            members[key] = (begins, node)
            at = _after_space(text, node.end)
        items.append(node.value)
        if text[at] == ",":
            at = _after_space(text, at + 1)
        elif text[at] not in "]}":
            raise ValueError(f"a comma is missing in line {text.count(chr(10), 0, at) + 1}")
    value = {key: node.value for key, (_, node) in members.items()} if is_object else items
    return _Node(value, start, at + 1, members)


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _json_changed(text: str, key: str, entry: Mapping[str, Any] | None) -> str | None:
    if not text.strip():
        return json.dumps({key: {NAME: entry}}, indent=2, ensure_ascii=False) + "\n"
    root = _parsed(text, _after_space(text, 0))
    if key not in root.members:
        return _with_member(text, root, key, {NAME: entry}, depth=1)
    below = root.members[key][1]
    if NAME not in below.members:
        return _with_member(text, below, NAME, entry, depth=2)
    begins, old = below.members[NAME]
    if entry is not None:
        return text[: old.start] + _dumped(text, entry, 2) + text[old.end :]
    return _without_member(text, begins, old)


def _with_member(text: str, node: _Node, key: str, value: Any, *, depth: int) -> str:
    """Return the text with another member at the end of an object."""
    unit = _unit(text)
    member = f"\n{unit * depth}{json.dumps(key)}: {_dumped(text, value, depth)}"
    if not node.members:
        return text[: node.start + 1] + f"{member}\n{unit * (depth - 1)}" + text[node.end - 1 :]
    last = max(one.end for _, one in node.members.values())
    comma = _after_space(text, last)
    has_comma = text[comma] == ","
    place = _LINE_END.match(text, comma + 1 if has_comma else last).end()  # type: ignore[union-attr]
    return text[:last] + ("" if has_comma else ",") + text[last:place] + member + text[place:]


def _without_member(text: str, begins: int, old: _Node) -> str:
    comma = _after_space(text, old.end)
    start = len(text[:begins].rstrip())
    if text[comma] == ",":
        return text[:start] + text[comma + 1 :]
    if text[start - 1] == ",":  # it was the last one
        start -= 1
    return text[:start] + text[old.end :]


def _dumped(text: str, value: Any, depth: int) -> str:
    unit = _unit(text)
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", "\n" + unit * depth)


def _unit(text: str) -> str:
    """Return a file's unit of indentation."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


# TOML.


def _toml_value(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}.") from None


def _toml_changed(text: str, key: str, entry: Mapping[str, Any] | None) -> str | None:
    lines = text.splitlines(keepends=True)
    ours = re.compile(rf'\s*\[{key}\.(?:{NAME}|"{NAME}")[].]')
    heads = [place for place, line in enumerate(lines) if line.lstrip().startswith("[")]
    own = [place for place in heads if ours.match(lines[place])]
    block = [] if entry is None else [f"[{key}.{NAME}]\n", *(f"{name} = {_toml(one)}\n" for name, one in entry.items())]
    if not own:
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        return text + gap + "".join(block)
    kept = list(lines)
    for place in reversed(own):
        end = next((head for head in heads if head > place), len(lines))
        while end > place + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
            end -= 1  # comments above the next table belong to it
        new = block if place == own[0] else []
        before = place - 1 if not new and place and not lines[place - 1].strip() else place  # the blank line above it
        kept[before:end] = new
    return "".join(kept)


def _toml(value: Any) -> str:
    """Return a text or a list of texts as TOML, whose basic strings take the escapes of JSON."""
    return json.dumps(value, ensure_ascii=False)
