"""Ask the policies about one tool call."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memkit.guard.core import Verdict
from memkit.policies.files import FOLDER, load_guard


def check_policy(root: Path, tool: str, args: Mapping[str, Any], context: Mapping[str, Any]) -> Verdict:
    """Return what the policies of the store at ``root`` decide about a call, without running anything."""
    return load_guard(root / FOLDER).decide(tool, args, context)
