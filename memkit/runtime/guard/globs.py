"""Globs: ``*`` any text, ``?`` one character, ``[…]`` one of a set."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from functools import lru_cache

_WILDCARD = re.compile(r"[*?\[]")


def has_wildcards(pattern: str) -> bool:
    """Return whether a pattern can match more than its own text."""
    return _WILDCARD.search(pattern) is not None


def literal_head(pattern: str) -> str:
    """Return the text before the first wildcard."""
    return _WILDCARD.split(pattern, maxsplit=1)[0]


@lru_cache(maxsize=4096)
def glob_test(pattern: str) -> Callable[[str], bool]:
    """Return a matcher for one glob, in time bounded by text times pattern."""
    if not has_wildcards(pattern):
        return pattern.__eq__
    compiled = re.compile(fnmatch.translate(pattern))
    return lambda text: compiled.match(text) is not None
