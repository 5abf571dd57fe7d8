"""The additions to a project's files when it becomes a store; existing content stays as it is, line ends too."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml as pyyaml

from memkit.runtime.memory.log.clone import MACHINE
from memkit.store.yaml import YamlError, load_yaml
from memkit.store.yaml_edit import edited

IGNORE, ATTRIBUTES, HOOKS = ".gitignore", ".gitattributes", ".pre-commit-config.yaml"
_ABOUT_MACHINE = re.compile(rf"!?/?(\*\*/)?{re.escape(MACHINE)}(/(\*\*?)?)?\s*")
WHOLE = ("skills", "policies", "domains", "archive")
"""Folders that belong to the store alone, so that anything in them is kept."""


@dataclass(frozen=True)
class Addition:
    """An existing file that gains lines."""

    path: str
    """Relative to the store; above it for what belongs to the whole repository."""
    before: bytes
    after: bytes

    @property
    def lines(self) -> list[str]:
        """Return each new line."""
        return [line[2:] for line in difflib.ndiff(*self._sides()) if line.startswith("+ ")]

    def diff(self) -> Iterator[str]:
        """Yield the change as a unified diff."""
        yield from difflib.unified_diff(*self._sides(), f"a/{self.path}", f"b/{self.path}", lineterm="")

    def _sides(self) -> tuple[list[str], list[str]]:
        one, other = (text.decode("utf-8", "replace").splitlines() for text in (self.before, self.after))
        return one, other


def with_lines(before: bytes, lines: Sequence[str]) -> bytes:
    r"""Return a file with ``lines`` appended, using its own line ends.

    >>> with_lines(b"*.pyc\r\n*.log", ["/x"])
    b'*.pyc\r\n*.log\r\n/x\r\n'
    """
    if not lines:
        return before
    last = before[-2:]
    end = b"\r\n" if last == b"\r\n" or (b"\r\n" in before and not last.endswith(b"\n")) else b"\n"
    gap = b"" if not before or last.endswith(b"\n") else end
    return before + gap + b"".join(line.encode("utf-8", "surrogateescape") + end for line in lines)


def with_ignored(before: bytes, wanted: Iterable[str], kept: Iterable[str]) -> bytes:
    """Return a ``.gitignore`` that ignores what is ``wanted``, and none of the paths that must be ``kept``."""
    present = before.decode("utf-8", "replace").splitlines()
    missing = [f"!/{path}" for path in kept]
    about = [line for line in present if _ABOUT_MACHINE.fullmatch(line)]
    for line in wanted:
        if line == f"/{MACHINE}/":
            missing += [] if about and not about[-1].startswith("!") else [line]
        elif not {line, line.removeprefix("/")}.intersection(each.strip() for each in present):
            missing.append(line)
    return with_lines(before, missing)


def paths_to_keep(ignored: Iterable[str]) -> list[str]:
    """Return the paths that a ``.gitignore`` must un-ignore for some ignored paths, folders before their contents.

    >>> paths_to_keep(["skills/a.yaml", ".github/workflows/memkit.yml", "README.md"])
    ['skills/', 'skills/**', '.github/', '.github/workflows/', '.github/workflows/memkit.yml', 'README.md']
    """
    found: dict[str, None] = {}
    for path in ignored:
        first, *rest = path.split("/")
        if first in WHOLE and rest:
            found |= dict.fromkeys((f"{first}/", f"{first}/**"))
        else:
            parents = path.split("/")[:-1]
            found |= dict.fromkeys("/".join(parents[: depth + 1]) + "/" for depth in range(len(parents)))
            found[path] = None
    return list(found)


def with_attributes(before: bytes, wanted: Iterable[str]) -> bytes:
    """Return a ``.gitattributes`` that has the rules for shards; its rules for other files are the project's."""
    present = {line.split()[0].lstrip("/") for line in before.decode("utf-8", "replace").splitlines() if line.split()}
    return with_lines(before, [line for line in wanted if line.split()[0] not in present | {"*"}])


def with_hook(before: bytes, ours: str) -> bytes | None:
    """Return a pre-commit configuration with the hook of ``ours``; None if its place cannot be determined."""
    try:
        text, wanted = before.decode("utf-8"), load_yaml(ours).data["repos"]
        data = _plain(text)
        repos = data.get("repos")
        id = wanted[0]["hooks"][0]["id"]
        if any(hook.get("id") == id for repo in repos or () for hook in repo.get("hooks") or ()):
            return before
        if repos is None and "repos" not in data:
            return with_lines(before, ours.splitlines())
        goal = {**data, "repos": [*(repos or ()), *wanted]}
        for attempt in (_inserted, _appended):
            result = attempt(text, ours)
            if result is not None and _plain(result) == goal:
                return result.encode("utf-8")
    except (AttributeError, TypeError, UnicodeDecodeError, YamlError, pyyaml.YAMLError):
        pass
    return None


def _plain(text: str) -> Any:
    """Return the content of a configuration, as pre-commit reads it."""
    return pyyaml.safe_load(text) or {}


def _inserted(text: str, ours: str) -> str | None:
    """Return the text with our item after the last one of its list, in the list's own indentation."""
    root = pyyaml.compose(text, pyyaml.SafeLoader)
    if not isinstance(root, pyyaml.MappingNode):
        return None
    found = [value for key, value in root.value if key.value == "repos"]
    if not found or not isinstance(found[0], pyyaml.SequenceNode) or found[0].flow_style or not found[0].value:
        return None
    lines = text.splitlines(keepends=True)
    last = found[0].value[-1]
    end = last.end_mark.line if last.end_mark.column == 0 else last.end_mark.line + 1
    while end and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1  # comments and blank lines after the list belong to what follows
    margin = " " * found[0].start_mark.column
    items = [line[2:] for line in ours.splitlines()[1:]]
    head = "".join(lines[:end]).encode()
    added = with_lines(head, [f"{margin}{line}".rstrip() for line in items]).decode()
    return added + "".join(lines[end:])


def _appended(text: str, ours: str) -> str | None:
    """Return the text as a YAML-aware editor would change it, for a list on one line or an empty one."""
    item = load_yaml(ours).data["repos"][0]

    def change(document: Any) -> None:
        document["repos"] = [*(document["repos"] or ()), item]

    return edited(text, change)


def left_for_a_person(path: str, ours: str) -> str:
    """Return the message about a file that could not be extended."""
    return f"{path} was left unchanged, because it is unclear where a hook belongs in it. Add this yourself:\n{ours}"
