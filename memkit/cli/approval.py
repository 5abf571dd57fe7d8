"""Ask a person on the terminal about a call that a policy wants confirmed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memkit.cli.output import yes_or_no
from memkit.loop.interface import Verdict
from memkit.terminal import harmless


def ask_person(name: str, args: Mapping[str, Any], verdict: Verdict) -> bool:
    """Return whether the person agrees that the tool ``name`` is run with ``args``."""
    finding = verdict.deciding
    why = f"Policy {finding.name} asks: {finding.reason}" if finding else "A policy asks."
    call = ", ".join(f"{key}={value!r}" for key, value in args.items())
    return yes_or_no(harmless(f"{why}\nRun {name}({call})?"))
