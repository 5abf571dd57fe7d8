"""Code passed to interpreters: what it passes to a shell, and what it destroys by its own language's means.

The code is not understood. A string that reads as a command counts as one if the code calls a shell at all, and a call
that deletes or empties counts as the command that does the same; text assembled at run time is not seen, and where
that is evident it is a doubt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import NamedTuple

from .shell_words import RUN_TIME, ShellDoubt, ShellWord, literal


class Inner(NamedTuple):
    """What a command in turn runs: words, or shell text."""

    words: tuple[ShellWord, ...] = ()
    text: ShellWord | None = None
    doubt: ShellDoubt | None = None
    surely: bool = True
    """Whether a shell certainly reads the text; if that is a guess, unreadable parts cause no doubt."""
    read: bool = False
    """Whether the text is the command's input, which nothing inside it reads again."""


INTERPRETER = re.compile(
    r"(i?python|pypy|micropython|perl|ruby|rails|j?irb|node|nodejs|tsx|ts-node|bun|deno|php|lua|luajit|[gm]?awk|nawk|tclsh"
    r"|expect|osascript|r|rscript|julia|groovy|scala|kotlin|jshell|elixir|erl|emacs|swift|ghci?|runghc|runhaskell|go"
    r"|guile|racket|sbcl|clojure|clj|bb|nim|ocaml|crystal|dart)[\d.]*"
)
_CALLS_SHELL = re.compile(
    r"system|popen|passthru|exec|spawn|subprocess|shell|sys\.process|`|\|\s*(?:getline|[\"'])|%x|qx|\bos\.cmd"
)
_TEXT = r"'(?:[^'\\]|\\.)*+'?+|\"(?:[^\"\\]|\\.)*+\"?+|`[^`]*+`?+"
"""A string in one of three quotes; an unterminated one extends to the end of the code, so no text is searched twice."""
_STRING = re.compile(_TEXT, re.DOTALL)
_WORD_LIST = re.compile(
    rf"(?:[\[(]|\b(?:system|exec|spawn)\b)\s*((?:{_TEXT})"
    rf"(?:\s*,\s*(?:{_TEXT}))+)\s*,?\s*(?:[\]);]|\Z)",
    re.DOTALL,
)
_QUOTED_BY_WORD = re.compile(r"\bqq?\s*(?:\(([^()']*)\)|\{([^{}']*)\}|/([^/']*)/)")
"""A Perl string quoted by ``q(…)``."""
_PIECES = re.compile(rf"(?:{_TEXT})(?:\s*+(?:[+.]\s*+)?+(?:{_TEXT}))*+", re.DOTALL)
"""Strings that a language concatenates; or a single one, so that its end is not searched for from each quote within."""
_BARE_WORDS = re.compile(
    r"(?:%[xw]|\bq[xw])\s*[(\[{<|/!]([^)\]}>|/!]*+)"  # Ruby and Perl
    r"|\b(?:spawn|exec|system)\s+(?!q[wx]\b)([\w./-][^\n;\]\"']*+)"  # Tcl and expect
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)

_NOTHING = r"b?(?:''|\"\")\s*\)"
_OS_CALLS = "remove|unlink|rmdir|removedirs|truncate"
_UNUSED = r"\A(?![\s\S]{0,4000}?(?:write|print|dump|file=))[\s\S]{0,4000}?"
"""Precedes a file opened for writing: nothing in the code writes."""
_REMOTE = re.compile(
    r"\b(?:requests|httpx|session|client|axios|http|urllib3?)\s*\.\s*delete\s*\(|\bmethod\s*[=:]\s*['\"]DELETE['\"]"
    r"|\.\s*delete\s*\(\s*f?['\"]https?://"
    r"|\b(?:boto3|botocore|google\.cloud|azure|kubernetes|pymongo|redis|docker|aws-sdk|mongodb)\b[\s\S]{0,2000}?"
    r"\.\s*(?:delete|terminate|drop|purge|destroy|flush|prune)\w*\s*\(",
    re.IGNORECASE,
)
"""Deletes what a service stores, in any language."""
_LANGUAGES: tuple[tuple[str, str, str], ...] = (
    (
        r"i?python[\d.]*|pypy[\d.]*|micropython",
        r"\brmtree\b(?!\s*['\"])|\bremove_tree\s*\(|\bsend2trash\b|\.(?:unlink|rmdir|removedirs)\s*\("
        rf"|\bfrom\s+os\s+import[^;\n]{{0,200}}\b(?:{_OS_CALLS})\b|\bgetattr\s*\([^()]{{1,80}}(?:\([^()]{{0,80}}\))?,\s*['\"](?:{_OS_CALLS}|rmtree)['\"]"
        r"|\bfrom\s+sh\s+import[^;\n]{0,80}\brm\b|\bsh\.rm\b|\.objects\b[^;\n]{0,200}\.\s*delete\s*\("
        r"|__import__\(\s*['\"]os['\"]\s*\)\s*\.\s*(?:remove|truncate)\b",
        rf"\.truncate\s*\(|open\s*\([^()]{{0,200}}['\"]w[+b]*['\"]\s*\)\s*\.\s*close|\.write_(?:text|bytes)\(\s*{_NOTHING}"
        rf"|{_UNUSED}\bopen\s*\([^()]{{0,200}},\s*(?:mode\s*=\s*)?['\"]w[+bt]*['\"]",
    ),
    (
        r"node|nodejs|tsx|ts-node|bun|deno",
        r"\b(?:rmSync|rmdirSync|unlinkSync|rimraf\w*|removeSync|emptyDirSync)\b|\bDeno\s*\.\s*remove"
        r"|(?:\bfs\b|promises\b|require\([^()]{1,40}\))[^;\n]{0,40}\.\s*(?:rm|rmdir|unlink|remove)\s*\("
        r"|\bimport\s*\{[^}]{0,80}\b(?:rm|rmdir|unlink)\b[^}]{0,80}\}|\brm\s*\(",
        rf"\btruncate(?:Sync)?\s*\(|\bwriteFile(?:Sync)?\s*\([^,()]{{1,200}},\s*{_NOTHING}",
    ),
    (
        r"perl[\d.]*",
        r"(?<![/$@%>\w])\b(?:unlink|rmtree|remove_tree|rmdir)\b(?!/)",
        rf"\btruncate\b|{_UNUSED}\bopen\b[^;]{{1,60}}['\"]\s*(?:\+?>)[^>&]",
    ),
    (
        r"ruby[\d.]*|rails|irb|jirb",
        r"\b(?:File|Dir|FileUtils)\s*(?:\.|::)\s*(?:delete|unlink|rmdir|rmtree|rm\w*|remove_\w+|safe_unlink)\b"
        r"|\b(?:delete|destroy)_all\b|\brm_rf?\b|\.(?:rmtree|rmdir|unlink)\b",
        r"\.truncate\b",
    ),
    (
        r"php[\d.]*",
        r"\b(?:unlink|rmdir)\s*\(|(?:->|::)\s*(?:truncate|delete|forceDelete|destroy)\s*\(|['\"](?:unlink|rmdir)['\"]",
        rf"\bftruncate\s*\(|\bfile_put_contents\s*\([^,()]{{1,200}},\s*{_NOTHING}",
    ),
    (r"lua[\d.]*|luajit", r"\bos\s*\.\s*remove\b", r"(?!)"),
    (r"r|rscript", r"\b(?:unlink|file\.remove|file_delete|dir_delete)\s*\(", r"(?!)"),
    (r"julia", r"\brm\s*\(", r"\btruncate\s*\("),
    (r"groovy|scala|kotlin|jshell", r"\.\s*delete(?:Dir|OnExit|IfExists|Recursively|\w*Directory)?\s*\(", r"(?!)"),
    (r"elixir", r"\bFile\.rm(?:_rf|dir)?!?", r"(?!)"),
    (r"erl", r"\bfile:(?:delete|del_dir)\w*", r"\bfile:truncate\b"),
    (r"ghci?|runghc|runhaskell", r"\bremove(?:File|Directory|PathForcibly)\w*", r"(?!)"),
    (r"go", r"\bos\.Remove(?:All)?\s*\(", r"\bos\.Truncate\s*\("),
    (r"emacs|guile|racket|sbcl|clojure|clj|bb", r"\bdelete-(?:file|directory|tree)\S*", r"(?!)"),
    (r"n?vim?|ex", r"\bdelete\s*\(|\bos\.remove\b|\brmtree\b", r"(?!)"),
    (r"nim", r"\bremove(?:File|Dir)\b", r"(?!)"),
    (r"ocaml", r"\bSys\.(?:remove|rmdir)\b|\bUnix\.(?:unlink|rmdir)\b", r"(?!)"),
    (r"crystal", r"\b(?:File|Dir|FileUtils)\.(?:delete|rm)\w*", r"\.truncate\b"),
    (r"dart", r"\.delete(?:Sync)?\s*\(", r"(?!)"),
    (r"tclsh[\d.]*|expect", r"\bfile\s+delete\b", r"(?!)"),
    (r"osascript", r"\b(?:delete|empty\s+(?:the\s+)?trash)\b", r"(?!)"),
    (r"swift", r"\b(?:removeItem|unlink)\s*\(", r"(?!)"),
)
"""Interpreters, with their language's equivalents of ``rm -rf`` and of ``truncate -s 0``."""

_PYTHONS = ("python", "ipython", "pypy", "micropython")
_OS_NAMES = re.compile(r"\bimport\s+os\s+as\s+(\w+)")
_MADE = re.compile(
    r"(?:(?<![.\w])(?:exec|eval|compile)|\b(?:instance_eval|class_eval))\s*\(\s*(?![\s'\"()\d])\w[\w.]*\s*[(\[.+]"
    r"|\bgetattr\s*\([^,()]{1,80}(?:\([^()]{0,80}\))?[^,()]{0,20},\s*(?!['\"][\w ]+['\"]\s*[,)])"
    r"|\b(?:marshal|pickle)\s*\.\s*loads\b|\bnew\s+Function\b|\bfrom(?:Hex|hex|CharCode)\b[^;\n]{0,80}\b(?:eval|exec)\b"
)
"""Code that runs text made at run time."""
_LITERAL_CODE = re.compile(rf"\b(?:exec|eval|compile)\s*\(\s*(?:r|b|f)?({_TEXT})", re.DOTALL)
_SHOWN_STRINGS = 8
_MOST_CODE = 400_000


@dataclass(frozen=True)
class _Language:
    deletes: str
    empties: str

    @cached_property
    def patterns(self) -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
        found = ((self.deletes, ("rm", "-r", "-f")), (self.empties, ("truncate", "-s", "0")))
        return tuple((re.compile(pattern), command) for pattern, command in found)


@lru_cache(maxsize=64)
def _language(name: str) -> _Language | None:
    for programs, deletes, empties in _LANGUAGES:
        if re.fullmatch(programs, name):
            return _Language(deletes, empties)
    return None


def has_language(name: str) -> bool:
    """Return whether a program runs code in a known language."""
    return _language(name) is not None


def in_code(name: str, code: str, depth: int = 0) -> Iterator[Inner]:
    """Yield what code for the interpreter ``name`` may pass to a shell, and commands equivalent to its own calls."""
    if len(code) > _MOST_CODE:
        yield Inner(doubt=ShellDoubt(RUN_TIME, "more code than is read"))
        return
    if name.startswith(_PYTHONS):
        code = _without_scratch(code)
        for found in _MAGIC.finditer(code):
            yield Inner(text=literal(found[1] or found[2]), surely=False)
    if name.startswith("perl"):
        code = _QUOTED_BY_WORD.sub(lambda found: f"'{found[1] or found[2] or found[3] or ''}'", code)
    yield from _done_by(name, code)
    for found in islice(_LITERAL_CODE.finditer(code), 20) if depth < 2 else ():
        yield from in_code(name, _ESCAPED.sub(r"\1", found.group(1)[1:-1]), depth + 1)
    if not _CALLS_SHELL.search(code):
        return
    yield from (Inner(text=literal(text), surely=False) for text in strings_of(code))
    for found in _PIECES.finditer(code):
        if len(pieces := list(strings_of(found.group()))) > 1:
            yield Inner(text=literal("".join(pieces)), surely=False)
    for found in _BARE_WORDS.finditer(code):
        yield Inner(text=literal(found.group(1) or found.group(2) or ""), surely=False)
    for found in _WORD_LIST.finditer(code):
        yield Inner(words=tuple(map(literal, strings_of(found.group(1)))), surely=False)


_MAGIC = re.compile(
    r"^[ \t]*(?:\w+[ \t]*=[ \t]*)?!(?!=)([^\n]+)|\A\s*%%(?:bash|sh|script\s+\S*sh)\b[^\n]*\n([\s\S]+)", re.MULTILINE
)
"""What a notebook passes to a shell: lines after a sign, or a whole cell."""
_SCRATCH = re.compile(r"\b(\w+)\s*=\s*tempfile\s*\.\s*(?:mkdtemp|mktemp)\s*\([^()]*\)")


def _without_scratch(code: str) -> str:
    """Return code without the calls that remove temporary folders that it made itself."""
    for name in islice(_SCRATCH.findall(code), 4) if "tempfile" in code else ():
        if (
            len(re.findall(rf"\b(?:for|as|global|nonlocal)\s+{name}\b|\b{name}\s*(?:[:+/]?=(?!=)|,[^()\n]*=)", code))
            == 1
        ):
            code = re.sub(rf"\b(?:shutil\.rmtree|os\.(?:remove|unlink|rmdir))\s*\(\s*{name}\s*(?:,[^()]*)?\)", "", code)
    return code


def _done_by(name: str, code: str) -> Iterator[Inner]:
    language = _language(name)
    if language is None:
        return
    for pattern, command in language.patterns:
        if pattern.search(code) or (command[0] == "rm" and name.startswith(_PYTHONS) and _removes_by_os(code)):
            strings = islice(strings_of(code), _SHOWN_STRINGS)
            yield Inner(words=tuple(map(literal, (*command, *strings))), surely=False)
    if _REMOTE.search(code):
        yield Inner(words=tuple(map(literal, ("curl", "-X", "DELETE"))), surely=False)
    if _MADE.search(code):
        yield Inner(doubt=ShellDoubt(RUN_TIME, f"{name} runs code that it makes while it runs"))


def _removes_by_os(code: str) -> bool:
    names = "|".join(["os", *map(re.escape, islice(_OS_NAMES.findall(code), 10))])
    return re.search(rf"(?<!['\"])\b(?:{names})\s*\.\s*(?:{_OS_CALLS})\b", code) is not None


def strings_of(code: str) -> Iterator[str]:
    """Yield the strings in code, whatever its language."""
    for found in _STRING.finditer(code):
        yield _ESCAPED.sub(r"\1", found.group()[1:-1])
