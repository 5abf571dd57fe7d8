"""The concepts of serving: the caller, a tool's answer, and the operator's decisions at the start."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memkit.errors import StoreNotFound, UsageError
from memkit.runtime.host.wires import sendable_text
from memkit.runtime.memory.gate.secrets import mask
from memkit.runtime.memory.record.record import Origin, encodable
from memkit.store.layout import MANIFEST
from memkit.store.tokens import SCOPES
from memkit.workspace import Workspace

NAMELESS = "unnamed"
LONGEST = 64
"""The most characters kept of a client's name."""
MOST = 4 * 1024 * 1024
"""The most bytes of one request."""
HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""Half of a character beyond the first 65,536, as JSON escapes it; both halves together are one."""


def with_whole_characters(message: str) -> str:
    r"""Return JSON in which half a character, as a client leaves it that cuts a text, is a replacement character.

    Raises:
        ValueError: It is not JSON.

    >>> with_whole_characters(r'{"a": "\ud83d\ude42 b\ud83d"}') == '{"a": "\U0001f642 b\ufffd"}'
    True
    """
    if not HALF.search(message):
        return message
    text = json.dumps(json.loads(message), ensure_ascii=False)
    return message if encodable(text) else sendable_text(text)


@dataclass(frozen=True)
class Serving:
    """The operator's decisions when the server was started."""

    user: str | None
    """Whose memory it is if no token says so; None if a token is required."""
    review: bool = False
    """Whether the operator vouches that a yes from the client comes from a person."""
    clean: bool = False
    """Whether the operator vouches that a client's model reads nothing written by strangers."""


@dataclass(frozen=True)
class Caller:
    """The caller of a tool: a client, for the user that the operator or a token bound it to."""

    user: str
    client: str
    scope: str = "write"
    clean: bool = False
    token: str | None = None
    """The id of the token."""

    @property
    def origin(self) -> Origin:
        """Return the origin of this client's offers."""
        taint = () if self.clean else (f"client:{self.client}",)
        return Origin(actor=f"mcp:{self.client}", user_id=self.user, taint=taint)

    def may(self, scope: str) -> bool:
        """Return whether the caller's scope includes ``scope``."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


def client_name(said: str | None) -> str:
    r"""Return a client's self-chosen name in the form allowed for a record's actor.

    >>> client_name("Claude Code"), client_name("Żółw/2"), client_name(" \n"), client_name(None)
    ('Claude-Code', 'Żółw-2', 'unnamed', 'unnamed')
    """
    return re.sub(r"[^\w.-]+", "-", mask(said or ""))[:LONGEST].strip("-") or NAMELESS


@dataclass(frozen=True)
class ToolAnswer:
    """A tool's answer: data for programs, text for a model, and what waits for a person."""

    data: Mapping[str, Any]
    text: str
    waiting: str | None = None
    """The id of what was held back and can be approved."""
    about: str = ""
    """What a person would agree to: the text that would be kept or removed."""


def check_store(workspace: Workspace) -> None:
    """Raise ``StoreNotFound`` if the store was moved or unmounted since it was opened: that is no empty memory."""
    if not (workspace.root / MANIFEST).is_file():
        raise StoreNotFound("The store is no longer where this server opened it. Bring it back, or start it elsewhere.")


Work = Callable[[Workspace, Caller, Mapping[str, Any], bool], ToolAnswer]
"""Carries out a checked call on a store opened for the caller; the last argument says whether the user consented."""

KINDS: Mapping[str, type] = {"string": str, "integer": int, "object": dict}


@dataclass(frozen=True)
class Tool:
    """One operation that a client can request."""

    name: str
    description: str
    work: Work
    arguments: Mapping[str, Mapping[str, Any]]
    """By name: a JSON schema of type string, integer or object."""
    optional: frozenset[str] = frozenset()
    result: Mapping[str, Any] = field(default_factory=dict)
    """The properties of its result."""
    writes: bool = False
    stores: bool = False
    """Whether it needs the user's consent, because something new would be kept."""
    waits_in_line: bool = True
    """Whether it uses memory, which calls do one at a time."""
    destructive: bool = False
    idempotent: bool = False

    @property
    def input_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the arguments."""
        required = [name for name in self.arguments if name not in self.optional]
        properties = {name: dict(schema) for name, schema in self.arguments.items()}
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    @property
    def output_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the result data."""
        return {"type": "object", "properties": dict(self.result), "required": list(self.result)}

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments if they are valid; raise ``UsageError``, without values, for the first that is not.

        >>> Tool("why", "", None, {"id": {"type": "string"}}).checked({"user": "bob"})
        Traceback (most recent call last):
            ...
        memkit.errors.UsageError: why takes no 'user'. It takes id.
        >>> Tool("first", "", None, {"k": {"type": "integer", "minimum": 1, "maximum": 9}}).checked({"k": 5.0})
        {'k': 5}
        """
        for name in given:
            if name not in self.arguments:
                raise UsageError(f"{self.name} takes no {name!r:.60}. It takes {', '.join(self.arguments)}.")
        if missing := [name for name in self.arguments if name not in given and name not in self.optional]:
            raise UsageError(f"{self.name} needs {missing[0]}.")
        return {name: self._checked(name, given[name]) for name in self.arguments if name in given}

    def _checked(self, name: str, value: Any) -> Any:
        schema = self.arguments[name]
        kind = schema["type"]
        if kind == "integer" and isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON has one kind of number, and 5.0 is a whole one
        if not isinstance(value, KINDS[kind]) or isinstance(value, bool):
            raise UsageError(f"{name} of {self.name} must be of type {kind}.")
        if kind == "integer" and not schema["minimum"] <= value <= schema["maximum"]:
            raise UsageError(f"{name} of {self.name} must be between {schema['minimum']} and {schema['maximum']}.")
        if kind == "string" and schema.get("minLength") and not str(value).strip():
            raise UsageError(f"{name} of {self.name} is empty.")
        return value
