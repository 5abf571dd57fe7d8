"""The programs in a file of a package: fenced code, hooks, what configuration runs, and text spelled in pieces."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath

PROSE_SUFFIXES = (".md", ".markdown", ".txt", ".rst", ".mdx", ".mdc", ".adoc", ".html", ".htm", "")
FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*(\w*)[^\n]*\n(.*?)^[ \t]*\1", re.MULTILINE | re.DOTALL)
_SHELL_SUFFIXES = (".sh", ".bash", ".zsh", ".command", ".ksh", ".envrc")
_SHELL_NAMES = ("makefile", "justfile", "dockerfile", "procfile")
_CONFIGURATION = frozenset({"json", "jsonc", "json5", "yaml", "yml", "toml", "ini", "ipynb"})
_MOST_STRINGS = 500


@dataclass(frozen=True)
class PackageProgram:
    """Code in a file, with the language stated by the file or its fence."""

    start: int
    """Its start in the file's text."""
    code: str
    language: str
    is_shown: bool = False
    """Whether a document shows it, so that words around it can warn of it; a hook starts by itself."""


def is_document(path: str, text: str) -> bool:
    """Return whether a file is text to read, of which only displayed code might be run."""
    name = PurePosixPath(path.lower())
    return name.suffix in PROSE_SUFFIXES and name.name not in _SHELL_NAMES and not text.startswith("#!")


def programs_of(path: str, text: str) -> list[PackageProgram]:
    """Return the code that runs, or is displayed to be run, in one file of a package."""
    if is_document(path, text):
        fenced = (
            PackageProgram(found.start(3), found.group(3), found.group(2).lower(), is_shown=True)
            for found in FENCE.finditer(text)
        )
        return [*_front_hooks(text), *fenced]
    name = PurePosixPath(path.lower())
    shell = (
        name.suffix in _SHELL_SUFFIXES or name.name in _SHELL_NAMES or re.match(r"#!.{0,40}\b(?:ba|z|da|k)?sh\b", text)
    )
    return [PackageProgram(0, text, "sh" if shell else name.suffix[1:])]


_HOOKS = re.compile(r"^[\"']?hooks[\"']?[ \t]*:.*?(?=^[^\s#\-}\]]|\Z)", re.MULTILINE | re.DOTALL)


def _front_hooks(text: str) -> Iterator[PackageProgram]:
    """Yield the hooks in the front matter of a skill: a host runs them by itself."""
    front = re.match(r"\ufeff?---[ \t]*\r?\n.*?^---[ \t]*$", text[:60_000], re.MULTILINE | re.DOTALL)
    for found in _HOOKS.finditer(text, 0, front.end() - 3) if front else ():
        yield PackageProgram(found.start(), found.group(), "yaml")


def npm_hooks(text: str) -> list[PackageProgram]:
    """Return the scripts that npm runs by itself when a package is installed."""
    try:
        scripts = json.loads(text).get("scripts", {})
    except (ValueError, AttributeError, RecursionError):
        return []
    if not isinstance(scripts, dict):
        return []
    return [
        PackageProgram(max(text.find(f'"{name}"'), 0), str(scripts[name]), "sh")
        for name in ("preinstall", "install", "postinstall", "prepare")
        if name in scripts
    ]


_TELLS = re.compile(
    r"[\"']?(?:\w*(?:name|title|description|summary|comment|message|text|prompt|question|answer|pattern|regex|query)|help|docs?|notes?|examples?|label)[\"']?\s*[:=]",
    re.I,
)
"""A key whose value is for people."""
_SENTENCE = re.compile(r"[A-Z][a-z]+ \S+ ")
_LINE = re.compile(r"^[ \t]*(?:-[ \t]+)?(?:[\w.-]+[ \t]*[:=][ \t]*)?([^\n]{5,4000})$", re.MULTILINE)
_QUOTED = re.compile(r"\"((?:[^\"\\\n]|\\.){5,4000})\"|'([^'\n]{5,4000})'")
_MAY_GIVE = re.compile(r"\b(?:curl|wget|fetch|aria2c|https?|base64|gbase64|xxd|openssl|uudecode|printf|echo|rev|tr)\b")
_TAKES_OVER = re.compile(
    r"(?=[\s\S]*?(?:\||`|[$<]\())(?=[\s\S]*?\b(?:\w{0,4}sh|python[\d.]*|perl|ruby|node|php|osascript|source|eval)\b)"
)


def configured_commands(code: str, language: str) -> Iterator[tuple[int, str]]:
    """Yield position and text of what a configuration may pass to a shell: its strings, and its plain lines."""
    if language not in _CONFIGURATION:
        return
    kinds = (_QUOTED,) if language in ("json", "jsonc", "json5", "ipynb") else (_QUOTED, _LINE)
    for kind in kinds:
        for place, value in islice(filter(None, map(_command, kind.finditer(code))), _MOST_STRINGS):
            for line in re.split(r"\\n|\n", value.replace('\\"', '"')):
                yield place, line


def _command(found: re.Match[str]) -> tuple[int, str] | None:
    """Return position and text of a value that may be a command which uses another one's output."""
    value = next(filter(None, found.groups()), "").lstrip("! ")
    if not _TAKES_OVER.match(value) or not _MAY_GIVE.search(value) or value.startswith("#"):
        return None
    before = found.string[max(0, found.start() - 80) : found.start(found.lastindex or 0)]
    if _TELLS.search(re.split(r"[,{\n]", before)[-1]) or _SENTENCE.match(value):
        return None
    return found.start(), value


# Text spelled in pieces

_LITERAL = r"(?:\"[^\"\\\n]*\"|'[^'\\\n]*')"
_ADDED = re.compile(rf"{_LITERAL}(?:\s{{0,20}}(?:\+|\.{{1,2}}|&|<>)\s{{0,20}}{_LITERAL})+")
"""Strings joined by the concatenation operator of some language."""
_JOINED = re.compile(
    rf"(?P<py>{_LITERAL})\.join\(\s{{0,20}}[\[(](?P<of>(?:\s{{0,20}}{_LITERAL}\s{{0,20}},?)+)\s{{0,20}}[\])]\s{{0,20}}\)"
    rf"|\[(?P<parts>(?:\s{{0,20}}{_LITERAL}\s{{0,20}},?)+)\s{{0,20}}\]\.join\(\s{{0,20}}(?P<js>{_LITERAL})\s{{0,20}}\)"
)
_CHARACTERS = re.compile(
    r"(?:(?:\"\"|'')\.join\(\s*(?:\[?\s*chr\(\s*(\w+)\s*\)\s+for\s+\1\s+in\s*|map\(\s*chr\s*,\s*)[\[(]|\bfromCharCode\(\s*(?:\.\.\.\s*\[)?|\bbytes\(\s*\[)([\d\s,]{3,8000})[\])]+"
)
_USED_OR_ASSIGNED = re.compile(
    r"(?:(?<=[\s;&(])|^)(?P<name>[A-Za-z_]\w*)=(?P<value>\"[^\"\n]*\"|'[^'\n]*'|\$\(\s*printf\s[^)\n]*\)|[^\s;&|\"'`()]*)|\$(?:\{(?P<long>[A-Za-z_]\w*)\}|(?P<short>[A-Za-z_]\w*))",
    re.MULTILINE,
)
_ESCAPE = re.compile(r"\\x([0-9a-fA-F]{2})|\\0?([0-7]{3})")
_FORMAT = re.compile(r"""\A['"]?%[bs](?:\\n)?['"]?\s+""")
"""With these formats, the output of ``printf`` is the text after them."""
_MOST_SPELLED = 2_000


def spelled_out(program: PackageProgram) -> str:
    """Return the code with the strings that it concatenates joined, on their original lines.

    >>> spelled_out(PackageProgram(0, 'run("cu" + "rl")', "py"))
    'run("curl")'
    >>> spelled_out(PackageProgram(0, 'a=cu; b=rl; $a$b -s x', "sh"))
    'a=cu; b=rl; curl -s x'
    """
    if program.language in ("sh", "bash", "shell", "zsh"):
        return _with_values(program.code)
    code = _CHARACTERS.sub(lambda found: _literal(_letters(found[2]), found[0]), program.code)
    code = _JOINED.sub(_joined, code)
    return _ADDED.sub(lambda found: _literal("".join(_values(found[0])), found[0]), code)


def _values(text: str) -> list[str]:
    return [literal[1:-1] for literal in re.findall(_LITERAL, text)]


def _joined(found: re.Match[str]) -> str:
    between = (found["py"] or found["js"])[1:-1]
    return _literal(between.join(_values(found["of"] or found["parts"])), found[0])


def _letters(numbers: str) -> str:
    return "".join(chr(int(number)) for number in re.findall(r"\b\d{1,6}\b", numbers) if int(number) < 0x110000)


def _literal(value: str, written: str) -> str:
    """Return a string as code writes it, followed by the line breaks that it was spread over."""
    quote = "'" if '"' in value else '"'
    return quote + value.replace("\n", " ") + quote + "\n" * written.count("\n")


def _with_values(code: str) -> str:
    """Return shell text with the variables that it sets itself replaced by their values."""
    held: dict[str, str] = {}
    left = len(code) + 20_000

    def used(found: re.Match[str]) -> str:
        nonlocal left
        value = held.get(found["long"] or found["short"] or "", found[0])
        left -= len(value)
        return value if left > 0 else found[0]

    def read(found: re.Match[str]) -> str:
        if found["name"] is None:
            return used(found)
        value = found["value"]
        if value.startswith("$("):
            given = _FORMAT.sub("", value[2:-1].split(None, 1)[1])
            value = _ESCAPE.sub(lambda one: chr(int(one[1], 16) if one[1] else int(one[2], 8)), given)
        if not value.startswith("'"):
            value = _USED_OR_ASSIGNED.sub(lambda one: one[0] if one["name"] else used(one), value)
        held[found["name"]] = value.strip("\"'")[:_MOST_SPELLED]
        return found[0]

    return _USED_OR_ASSIGNED.sub(read, code) if "=" in code else code
