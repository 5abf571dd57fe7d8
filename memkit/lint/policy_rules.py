"""What a policy's own file shows: whether it stops anything, says when not, and carries its proof."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memkit.lint.checked import Checked
from memkit.lint.collection import Collection
from memkit.lint.interface import Finding
from memkit.lint.life_cycle import file_life_cycle

ADVICE, UNTESTED, ALLOWS, PROSE_EXCEPTION, EVERYTHING = "MKP003", "MKP007", "MKP008", "MKP009", "MKP010"


def policy_file_findings(file: Checked, *, compiles: bool) -> Iterator[Finding]:
    """Yield what one policy shows; what needs its match only where that ``compiles``."""
    data = file.document.data
    if "match" not in data:
        yield file.found(
            ADVICE, "Without match this policy is advice to the model and stops nothing.", ("rule",), at_key=True
        )
    elif compiles:
        yield from _about_the_match(file, data)
    yield from file_life_cycle(file, "MKP")


def untested_policies(files: Collection) -> Iterator[Finding]:
    """Yield each policy that neither carries a test nor is named by a row of a table."""
    tried = {name for table in files.tables for name in table.data["policies"]}
    for file in files.policies.values():
        if "match" in file.data and not file.data.get("tests") and file.name not in tried:
            message = (
                "The policy has no tests, so nobody knows what it stops. Write a call that it must catch, and one that "
                "must pass."
            )
            yield file.found(UNTESTED, message, ("match",), at_key=True)


def _about_the_match(file: Checked, data: Mapping[str, Any]) -> Iterator[Finding]:
    if data.get("effect") == "allow":
        message = "The strongest effect wins, so allow lifts no other policy. Write an exception there instead."
        yield file.found(ALLOWS, message, ("effect",))
    for number, exception in enumerate(data.get("exceptions", ())):
        if "match" not in exception:
            message = (
                "Without match this exception never applies. Say in match what the host program sets, such as "
                "context.env."
            )
            yield file.found(PROSE_EXCEPTION, message, ("exceptions", number, "text"))
    if data.get("effect") in ("deny", "ask") and data.get("active", True):
        yield from _stops_everything(file, data["match"])


def _stops_everything(file: Checked, match: Any) -> Iterator[Finding]:
    for number, alternative in enumerate(match if isinstance(match, list) else [match]):
        if list(alternative) == ["tool"] and _any_tool(alternative["tool"]):
            path = ("match", number, "tool") if isinstance(match, list) else ("match", "tool")
            yield file.found(
                EVERYTHING, "This stops every call of every tool. Name the tools, or say more in match.", path
            )


def _any_tool(condition: Any) -> bool:
    if isinstance(condition, list):
        return any(_any_tool(item) for item in condition)
    if isinstance(condition, dict):
        return any(_any_tool(condition.get(key)) for key in ("glob", "any"))
    return isinstance(condition, str) and condition.strip("*") == "" and condition != ""
