"""What a file would let a trusted store run or ask, named where a change of it is reviewed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from memkit.lint.interface import Checked, Finding, Rule
from memkit.skills.skill import skill_findings
from memkit.store.allowances import CHOICES, Allowance, check_allowance, choice_allowance, tool_allowance
from memkit.store.config import flat, is_shipped
from memkit.store.schema import check, load_schema

if TYPE_CHECKING:
    from memkit.store.yaml import KeyPath


def manifest_demands(file: Checked) -> Iterator[Finding]:
    """Yield what a valid memkit.yaml demands: a provider, a model, tools."""
    data = file.document.data
    if check(data, load_schema("memkit")):
        return
    values = flat(data)
    for key, choice in CHOICES.items():
        value = values.get(key)
        if isinstance(value, str) and value not in choice.harmless:
            yield _found(file, choice_allowance(key, value), tuple(key.split(".")))
    for number, tool in enumerate(data.get("tools") or ()):
        if not is_shipped(tool["run"]):
            yield _found(file, tool_allowance(tool), ("tools", number, "run"))


def skill_demands(file: Checked) -> Iterator[Finding]:
    """Yield the commands that check a valid skill."""
    data = file.document.data
    if not isinstance(data, dict) or not data.get("checks") or any(skill_findings(file.document, file.name)):
        return
    for number, given in enumerate(data["checks"]):
        if given.get("run"):
            yield _found(file, check_allowance(file.name, given["run"]), ("checks", number, "run"))


def demands(file: Checked) -> Iterator[Finding]:
    """Yield what a valid file would let a trusted store run or ask."""
    yield from manifest_demands(file) if file.source.kind == "manifest" else skill_demands(file)


def _found(file: Checked, allowance: Allowance, path: KeyPath) -> Finding:
    message = f"Once a person trusts this store, it may {allowance.what}. 'memkit trust --show' tells of all."
    return file.found("MKY018", message, path)


RULES = (
    Rule(
        "MKY018",
        "needs-trust",
        "The file names what runs or is asked once a person trusts the store.",
        "Nothing of a store starts a process, imports a module or chooses a provider before `memkit trust`. What it "
        "would be is said here, where a change of it is reviewed. A note does not fail a run of lint.",
        "name: test\ntools: [{name: lamp_switch, description: Switches a lamp., run: [lamp]}]\n",
        "name: test\ntools: [{name: outbox, description: Keeps a message., run: [tee, -a, outbox.jsonl]}]\n",
        "memkit.yaml",
        severity="note",
        check=demands,
        kinds=("manifest", "skill"),
    ),
)
