"""Find what in the policies of a store cannot be as it was meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memkit.policies.analysis.conflicts import Analysis, DangerousTool, find_conflicts
from memkit.policies.files import FOLDER, PolicyFile, load_policies
from memkit.store.config import load_settings

_SAMPLES: Mapping[str, Any] = {
    "string": "x",
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}


@dataclass(frozen=True)
class PolicyConflicts:
    """The policies of a store with what was found in them."""

    policies: tuple[PolicyFile, ...]
    analysis: Analysis


def find_policy_conflicts(root: Path) -> PolicyConflicts:
    """Return what contradicts, covers or never happens in the policies of the store at ``root``.

    Raises:
        UsageError: A policy is broken; the message names file, line and column.
    """
    policies = load_policies(root / FOLDER)
    tools = [
        DangerousTool(tool["name"], _sample(tool.get("parameters", {})))
        for tool in load_settings(root)["tools"]
        if tool.get("dangerous", False)
    ]
    return PolicyConflicts(tuple(policies), find_conflicts([policy.data for policy in policies], tools))


def _sample(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments that a tool's schema asks for, as far as it is one."""
    required, properties = schema.get("required"), schema.get("properties")
    rules = properties if isinstance(properties, Mapping) else {}
    return {str(name): _value(rules.get(name)) for name in (required if isinstance(required, list) else ())}


def _value(rule: Any) -> Any:
    if not isinstance(rule, Mapping):
        return _SAMPLES["string"]
    choices, kind = rule.get("enum"), rule.get("type")
    if isinstance(choices, list) and choices:
        return choices[0]
    return _SAMPLES.get(kind if isinstance(kind, str) else "string", _SAMPLES["string"])
