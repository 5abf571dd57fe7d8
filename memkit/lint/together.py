"""The rules that look at more than one file of a store."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator

from memkit.lint.checked import Checked
from memkit.lint.collection import Collection
from memkit.lint.confusion import confused_examples
from memkit.lint.denied_steps import denied_steps
from memkit.lint.interface import Finding
from memkit.lint.life_cycle import life_cycle
from memkit.lint.policy_rules import untested_policies
from memkit.lint.tool_names import tool_names

CLASH = "MKY017"


def name_clashes(files: Collection) -> Iterator[Finding]:
    """Yield files whose names are one where capital letters or spellings of accents do not count."""
    seen: dict[tuple[str, str], Checked] = {}
    for file in sorted(files.files, key=lambda file: file.source.path):
        folder = file.source.path.parent
        key = (str(folder), unicodedata.normalize("NFC", file.source.path.name).casefold())
        first = seen.setdefault(key, file)
        if first is not file:
            message = (
                f"This and {first.source.path.name!r} are one file where capital letters do not count. Rename one."
            )
            yield Finding(CLASH, message, file.source.path, 1)


def recorded(files: Collection) -> Iterator[Finding]:
    """Yield what was learned or recorded for a domain and does not fit it; a store without any needs no planner."""
    if any(file.source.kind in ("learned", "problem") for file in files.files):
        from memkit.lint.lesson_rules import lessons_and_problems

        yield from lessons_and_problems(files)


STORE_RULES: tuple[Callable[[Collection], Iterator[Finding]], ...] = (
    name_clashes,
    confused_examples,
    life_cycle,
    denied_steps,
    untested_policies,
    tool_names,
    recorded,
)
