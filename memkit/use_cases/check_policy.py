"""Ask the policies about one tool call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memkit.policies.files import FOLDER, LoadedPolicies, load_set
from memkit.runtime.guard.core import Call, Verdict
from memkit.runtime.guard.proof import Ground, find_grounds


@dataclass(frozen=True)
class PlacedGround:
    """A condition that a verdict rests on, with where it stands."""

    policy: str
    ground: Ground
    path: str
    line: int
    column: int


@dataclass(frozen=True)
class CheckedCall:
    """A verdict with everything it rests on."""

    verdict: Verdict
    grounds: tuple[PlacedGround, ...]

    def of(self, policy: str) -> list[PlacedGround]:
        """Return what one policy's finding rests on."""
        return [placed for placed in self.grounds if placed.policy == policy]


def check_policy(root: Path, tool: str, args: Mapping[str, Any], context: Mapping[str, Any]) -> CheckedCall:
    """Return what the policies of the store at ``root`` decide about a call and why, without running anything."""
    policies = load_set(root / FOLDER)
    verdict = policies.guard.decide(tool, args, context)
    found = [finding.name for finding in (*verdict.policies, *verdict.exempted)]
    call = Call(tool, args, context)
    return CheckedCall(verdict, tuple(ground for name in found for ground in _placed(policies, name, call)))


def _placed(policies: LoadedPolicies, name: str, call: Call) -> list[PlacedGround]:
    documents = {policy.name: policy.document for policy in policies.files}
    compiled = next((policy for policy in policies.guard.policies if policy.name == name), None)
    if compiled is None:  # the finding of a set that did not load
        return []
    return [
        PlacedGround(name, ground, documents[name].path, *documents[name].position(ground.path))
        for ground in find_grounds(compiled, call)
    ]
