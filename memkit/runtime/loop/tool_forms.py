"""How much of a tool's declaration the prompt holds: all of it, or less where the budget is small."""

from __future__ import annotations

import json
from collections.abc import Mapping

from .interface import JSON, ToolSpec

TOOL_OVERHEAD = 4
"""Tokens that a format spends on each tool besides its declaration."""


def whole(spec: ToolSpec) -> ToolSpec:
    """Return the declaration as it is."""
    return spec


def terse(spec: ToolSpec) -> ToolSpec:
    """Return a declaration with the first sentence of its description, and parameters without theirs.

    >>> terse(ToolSpec("send", "Send a mail. Twice a day at most."))
    ToolSpec(name='send', description='Send a mail.', parameters={'type': 'object', 'properties': {}})
    """
    first, end, _ = spec.description.partition(". ")
    return ToolSpec(spec.name, first + end.rstrip(), _bare_schema(spec.parameters))


def bare(spec: ToolSpec) -> ToolSpec:
    """Return a declaration of names, types and the values to choose from."""
    return ToolSpec(spec.name, "", _bare_schema(spec.parameters))


def required(spec: ToolSpec) -> ToolSpec:
    """Return a declaration of the names that a call cannot do without."""
    wanted = list(spec.parameters.get("required") or ())
    return ToolSpec(spec.name, "", {"type": "object", "properties": {name: {} for name in wanted}})


def _bare_schema(schema: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return a schema without what only explains; what the arguments are checked against stays as it was."""
    properties = schema.get("properties")
    kept = {key: value for key, value in schema.items() if key in ("type", "required")}
    if isinstance(properties, Mapping):
        kept["properties"] = {name: _bare_property(rule) for name, rule in properties.items()}
    return kept


def _bare_property(rule: JSON) -> JSON:
    """Return a rule with the values to choose from: no call can be made from names and types where only these do."""
    kept = ("type", "items", "enum", "examples")
    return {key: rule[key] for key in kept if key in rule} if isinstance(rule, Mapping) else rule


def tool_text(spec: ToolSpec) -> str:
    """Return a tool as it reaches a model."""
    told = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    if not spec.description:
        del told["description"]
    return json.dumps(told, ensure_ascii=False, default=dict)
