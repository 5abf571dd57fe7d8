"""Name what a file would let a trusted store run or ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from memkit.lint.checked import Checked
from memkit.lint.interface import Finding
from memkit.store.allowances import (
    CHOICES,
    Allowance,
    check_allowance,
    choice_allowance,
    is_shipped,
    tool_allowance,
)
from memkit.store.config import flat

if TYPE_CHECKING:
    from memkit.store.yaml import KeyPath

NEEDS_TRUST = "MKY018"


def manifest_demands(file: Checked, data: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what a valid memkit.yaml demands: a provider, a model, tools."""
    values = flat(data)
    for key, choice in CHOICES.items():
        value = values.get(key)
        if isinstance(value, str) and value not in choice.harmless:
            yield _found(file, choice_allowance(key, value), tuple(key.split(".")))
    for number, tool in enumerate(data.get("tools") or ()):
        if not is_shipped(tool["run"]):
            yield _found(file, tool_allowance(tool), ("tools", number, "run"))


def skill_demands(file: Checked, data: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the commands that check a valid skill."""
    for number, check in enumerate(data.get("checks") or ()):
        if check.get("run"):
            yield _found(file, check_allowance(file.name, check["run"]), ("checks", number, "run"))


def _found(file: Checked, allowance: Allowance, path: KeyPath) -> Finding:
    message = f"Once a person trusts this store, it may {allowance.what}. 'memkit trust --show' tells of all."
    return file.found(NEEDS_TRUST, message, path)
