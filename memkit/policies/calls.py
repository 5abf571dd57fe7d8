"""How commands show a call: as data, and as the command line that decides it again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from memkit.runtime.guard.core import Call


def call_data(call: Call) -> dict[str, Any]:
    """Return a call for ``--json``."""
    return {"tool": call.tool, "args": dict(call.args), "context": dict(call.context)}


def check_line(call: Call) -> str:
    """Return the ``policy check`` that decides a call again."""
    words = ["memkit", "policy", "check", "--tool", call.tool, *_pairs("--arg", call.args)]
    return shlex.join([*words, *_pairs("--context", call.context)])


def _pairs(option: str, values: Mapping[str, Any]) -> list[str]:
    return [word for key, value in values.items() for word in (option, _pair(key, value))]


def _pair(key: str, value: Any) -> str:
    if isinstance(value, str) and not key.endswith(":"):
        return f"{key}={value}"
    return f"{key}:={json.dumps(value, ensure_ascii=False)}"
