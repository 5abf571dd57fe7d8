"""What stands between the brackets of a Claude Code rule: commands, paths and parameters, as near as they get."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from memkit.runtime.guard.checks import text_of
from memkit.runtime.guard.interface import JSON
from memkit.runtime.guard.shell import SYNONYMS

_MOST = 400
"""Patterns of one condition; a settings file is read by people too."""
_UNSAYABLE = re.compile(r"[()\n\r\\]|:\*\Z")
"""Brackets end a rule, and a colon before a last star is another way to write a blank."""
_PATH = re.compile(r"[A-Za-z0-9._/~ @+*-]+")


@dataclass(frozen=True)
class Patterns:
    """Patterns for one condition."""

    texts: tuple[str, ...] = ()
    complete: bool = True
    """Whether every part of the condition has its patterns, as far as their text goes."""


NONE = Patterns((), False)


def commands(data: JSON) -> Patterns:
    """Return patterns for a condition on a command."""
    if isinstance(data, Mapping):
        if len(data) != 1:
            return NONE
        (name, operand), *_ = data.items()
        if name == "any":
            return _union([commands(item) for item in operand])
        if name == "shell":
            return _kept(_shell(operand))
        return _kept(_texts(name, operand))
    if isinstance(data, list):
        return _union([commands(item) for item in data])
    return _kept(_texts("glob" if isinstance(data, str) else "equals", data))


def values(data: JSON) -> Patterns:
    """Return patterns for a condition on the text of a parameter."""
    if isinstance(data, Mapping):
        if len(data) != 1:
            return NONE
        (name, operand), *_ = data.items()
        return _union(list(map(values, operand))) if name == "any" else _kept(_texts(name, operand), exactly=True)
    if isinstance(data, list):
        return _union([values(item) for item in data])
    return _kept(_texts("glob" if isinstance(data, str) else "equals", data), exactly=True)


def paths(data: JSON) -> Patterns:
    """Return patterns in the way of gitignore for a condition on an absolute path."""
    found = values(data)
    written = [_path(text) for text in found.texts]
    texts = tuple(dict.fromkeys(text for each in written if each for text in each))
    return Patterns(texts, found.complete and all(written))


def tool_globs(data: JSON) -> Patterns:
    """Return globs for a condition on a tool's name, with ``*`` for every wildcard."""
    found = values(data)
    return found if all(re.fullmatch(r"[A-Za-z0-9_.*-]+", text) for text in found.texts) else NONE


def _union(parts: list[Patterns]) -> Patterns:
    texts = tuple(dict.fromkeys(text for part in parts for text in part.texts))
    return Patterns(texts, all(part.complete for part in parts))


def _kept(texts: Iterator[str | None], *, exactly: bool = False) -> Patterns:
    """Return what of the texts a rule can hold; where it must say just this, no wildcard is made looser."""
    kept: list[str] = []
    complete = True
    for count, text in enumerate(texts):
        if text is None or count >= _MOST or _UNSAYABLE.search(text) or (exactly and re.search(r"[?\[]", text)):
            complete = False
            continue
        kept.append(re.sub(r"\*+", "*", re.sub(r"\[[^\]]*\]|\[|\?", "*", text)))
    return Patterns(tuple(dict.fromkeys(kept)), complete and bool(kept))


def _texts(name: str, operand: JSON) -> Iterator[str | None]:
    """Yield a text with ``*`` for each thing that a condition on text wants; None for what has none."""
    operands = operand if isinstance(operand, list) else [operand]
    if name == "glob":
        yield from operands
    elif name in ("equals", "in"):
        # A star that is meant as a star cannot be told from a wildcard.
        yield from (None if re.search(r"[*?\[]", text_of(item) or "") else text_of(item) for item in operands)
    elif name == "prefix":
        yield from (None if re.search(r"[*?\[]", text) else f"{text}*" for text in operands)
    else:
        yield None


def _shell(operand: Mapping[str, JSON]) -> Iterator[str | None]:
    """Yield the command lines nearest to a shell condition: its words in the order in which people write them."""
    if "program" not in operand:
        yield None
        return
    programs = _listed(operand["program"])
    wanted = [_choices(operand[key]) for key in ("args", "flags") if key in operand]
    for program, *words in product(programs, *(choice for choices in wanted for choice in choices)):
        yield _line(program, words)


def _line(program: str, words: list[str]) -> str:
    """Return a command line with its first plain argument next to the program and the others anywhere behind.

    >>> _line("rm", []), _line("git", ["push", "--force"]), _line("kubectl", ["apply", "*prod*"])
    ('rm *', 'git push* --force*', 'kubectl apply *prod*')
    """
    plain = [word for word in words if re.fullmatch(r"\w[^*?\[]*", word)]
    others = [word for word in words if word not in plain and word != "*"]
    text = " ".join([program, *plain[:1]])
    for word in (*plain[1:], *others):
        text += f" {word}" if word.startswith("*") else f"* {word}"
    if text.endswith("*"):
        return text
    return f"{text}*" if others else f"{text} *"


def _choices(data: JSON) -> list[list[str]]:
    """Return lists of which one word each is wanted."""
    if not isinstance(data, Mapping):
        return [_spellings(_listed(data))]
    every = [_spellings([word]) for word in _listed(data.get("all_of", []))]
    return every + ([_spellings(_listed(data["any_of"]))] if "any_of" in data else [])


def _spellings(words: list[str]) -> list[str]:
    """Return words with the flags that mean the same."""
    also = (same for word in words for group in SYNONYMS if word in group for same in sorted(group, reverse=True))
    return list(dict.fromkeys((*words, *also)))


def _listed(data: JSON) -> list[str]:
    return data if isinstance(data, list) else [data]


def _path(text: str) -> list[str] | None:
    """Return the patterns that say a path of which ``*`` can stand for several folders.

    >>> _path("/etc/*"), _path("*.env"), _path("/srv/a*b")
    (['//etc/**'], ['//**/*.env'], ['//srv/a*b', '//srv/a*/**/*b'])
    """
    if not _PATH.fullmatch(text) or not text.startswith(("/", "*")) or text.count("*") > 3:
        return None
    if text.startswith("*/"):
        head, rest = "//**/", text[2:]
    elif text.startswith("*"):
        head, rest = "//**/*", text[1:]
    else:
        head, rest = "/", text
    tail = ""
    if rest.endswith("/*"):
        rest, tail = rest[:-1], "**"
    elif rest.endswith("*"):
        rest, tail = rest[:-1], "*"  # what lies in a folder that matches, matches with it
    parts = rest.split("*")
    ways = product(("*", "*/**/*"), repeat=len(parts) - 1)
    return [
        head + parts[0] + "".join(star + part for star, part in zip(way, parts[1:], strict=True)) + tail for way in ways
    ]
