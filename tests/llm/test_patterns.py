"""Patterns are compiled when the first text asks them, which most processes never see; so all are asked here."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import re

import memkit.llm.rules
import memkit.runtime.memory
from memkit.runtime.memory.words.text import regex


def test_every_pattern_compiles() -> None:
    """No text can meet a pattern that is not one."""
    for package in (memkit.llm.rules, memkit.runtime.memory):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(found.name)
    kind = type(regex(""))

    patterns = [one for one in gc.get_objects() if isinstance(one, kind)]

    assert len(patterns) > 200
    assert all(one.groups >= 0 for one in patterns)


def test_a_pattern_answers_as_a_compiled_one() -> None:
    """Whatever is asked of it first, it says what ``re.compile`` would."""
    pattern = regex(r"(?P<word>[a-z]+)", re.IGNORECASE)

    assert pattern.sub("-", "Ab 1") == "- 1"
    assert [found["word"] for found in pattern.finditer("Ab cD")] == ["Ab", "cD"]
    assert (pattern.pattern, pattern.groups) == (r"(?P<word>[a-z]+)", 1)
