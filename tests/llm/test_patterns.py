"""Patterns are compiled when the first text asks them, which most processes never see; so all are asked here."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator

import memkit.llm.rules
import memkit.runtime.memory
from memkit.runtime.memory.words.text import compile_patterns, compiled_patterns, regex


def patterns_in(value: object) -> Iterator[re.Pattern[str]]:
    """Yield the patterns that a constant is or holds."""
    if isinstance(value, type(regex(""))):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from patterns_in(one)
    elif isinstance(value, dict):
        yield from patterns_in([*value, *value.values()])


def test_every_pattern_compiles() -> None:
    """No text can meet a pattern that is not one."""
    patterns = [
        pattern
        for package in (memkit.llm.rules, memkit.runtime.memory)
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        for pattern in patterns_in(list(vars(importlib.import_module(found.name)).values()))
    ]

    assert len(patterns) > 200
    assert all(one.groups >= 0 for one in patterns)


def test_a_pattern_answers_as_a_compiled_one() -> None:
    """Whatever is asked of it first, it says what ``re.compile`` would."""
    pattern = regex(r"(?P<word>[a-z]+)", re.IGNORECASE)

    assert pattern.sub("-", "Ab 1") == "- 1"
    assert [found["word"] for found in pattern.finditer("Ab cD")] == ["Ab", "cD"]
    assert (pattern.pattern, pattern.groups) == (r"(?P<word>[a-z]+)", 1)


def test_what_a_fork_compiled_is_compiled_in_what_it_was_forked_from() -> None:
    """Each of that pattern, and no other: a process that asks for few pays for few."""
    asked, same, other = regex("asked here alone"), regex("asked here alone"), regex("asked by nobody")
    assert asked.search("asked here alone")

    compile_patterns(compiled_patterns())

    assert "compiled" in vars(same) and "compiled" not in vars(other)
