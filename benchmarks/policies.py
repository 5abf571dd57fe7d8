"""Measure decisions: 200 policies, alike and mixed, against Cedar and a CEL evaluator in the same run.

The mixed sets are of five kinds in turn: a glob, a range, a prefix, a list and a regular expression, for which Cedar,
which has none, gets the closest glob. Each row is one case: ``{case, ours, peer, ratio}``, in processor microseconds
per decision; a peer that is not installed has none. Run with ``--json`` for one JSON array, without it
for a table.
"""

from __future__ import annotations

import importlib
import itertools
import sys
import time
from collections.abc import Callable
from typing import Any

from table import print_rows

from memkit.runtime.guard.core import Guard
from memkit.runtime.guard.dfa import Dfa
from memkit.runtime.guard.regex import compile_regex

POLICIES = 200
AT_ONCE = 20
Row = dict[str, Any]


def policies(count: int, *, one_tool: bool) -> list[dict[str, Any]]:
    """Return ``count`` policies, all about one tool or each about its own."""
    return [
        {
            "name": f"policy_{number}",
            "description": "Measured.",
            "rule": "Measured.",
            "enforcement": "hard",
            "effect": "deny",
            "match": {
                "tool": "send" if one_tool else f"tool_{number}",
                "args.to": {"equals": f"user{number}@example.org"},
            },
        }
        for number in range(count)
    ]


def mixed(number: int) -> tuple[dict[str, Any], str]:
    """Return one condition of a mixed set, and its Cedar equivalent."""
    return (
        ({"args.path": f"/srv/team{number}/*.key"}, f'context.path like "/srv/team{number}/*.key"'),
        ({"args.amount": {"range": {"above": 1000 + number}}}, f"context.amount > {1000 + number}"),
        ({"args.path": {"prefix": f"/home/user{number}/"}}, f'context.path like "/home/user{number}/*"'),
        (
            {"args.to": {"in": [f"user{number}@example.org", f"boss{number}@example.org"]}},
            f'["user{number}@example.org", "boss{number}@example.org"].contains(context.to)',
        ),
        (
            {"args.path": {"regex": rf"^/srv/[a-z]+/secret{number}\d+$"}},
            f'context.path like "/srv/*/secret{number}*"',
        ),
    )[number % 5]


MIXED_CALL = {"path": "/srv/data/projects/file_0031.md", "amount": 50, "to": "nobody@example.org"}


def ours_mixed(count: int) -> float:
    """Return the time of a decision with ``count`` mixed policies for one tool, none of which matches."""
    words = {"description": "Measured.", "rule": "Measured.", "enforcement": "hard", "effect": "deny"}
    guard = Guard([{"name": f"p{n}", **words, "match": {"tool": "send", **mixed(n)[0]}} for n in range(count)])
    return microseconds(lambda: guard.decide("send", MIXED_CALL, {}))


def cedar_mixed(count: int) -> float | None:
    """Return Cedar's time for the same policies, or ``None`` if cedarpy is not installed."""
    return _cedar_time([mixed(number)[1] for number in range(count)], MIXED_CALL)


def pattern() -> float:
    """Return the time of one search by a regular expression in a text of 31 characters."""
    search = Dfa(compile_regex(r"^/srv/[a-z]+/secret\d+$")).search
    text = str(MIXED_CALL["path"])
    return microseconds(lambda: search(text))


def microseconds(decide: Callable[[], object], seconds: float = 0.3) -> float:
    """Return the best mean processor time of a decision over five rounds."""
    decide()
    rounds = []
    for _ in range(5):
        count, start = 0, time.process_time()
        while time.process_time() - start < seconds / 5:  # reading the clock costs as much as a short decision
            for _ in range(AT_ONCE):
                decide()
            count += AT_ONCE
        rounds.append((time.process_time() - start) / count)
    return min(rounds) * 1e6


def ours(count: int = POLICIES, *, one_tool: bool = True) -> float:
    """Return the time of a decision with ``count`` policies, none of which matches."""
    guard = Guard(policies(count, one_tool=one_tool))
    tool = "send" if one_tool else "tool_1"
    return microseconds(lambda: guard.decide(tool, {"to": "nobody@example.org"}, {}))


def cedar() -> float | None:
    """Return Cedar's time for the same 200 rules, or ``None`` if cedarpy is not installed."""
    conditions = [f'context.to == "user{number}@example.org"' for number in range(POLICIES)]
    return _cedar_time(conditions, {"to": "nobody@example.org"})


def _cedar_time(conditions: list[str], context: dict[str, Any]) -> float | None:
    cedarpy = _installed("cedarpy")
    if cedarpy is None:
        return None
    rules = [
        f'forbid(principal, action == Action::"send", resource) when {{ {condition} }};' for condition in conditions
    ]
    text = "\n".join(["permit(principal, action, resource);", *rules])
    request = {
        "principal": 'User::"agent"',
        "action": 'Action::"send"',
        "resource": 'Tool::"send"',
        "context": context,
    }
    parsed = cedarpy.PolicySet.from_str(text)
    return microseconds(lambda: cedarpy.is_authorized(request, parsed, []))


def cel() -> float | None:
    """Return a CEL evaluator's time for the same 200 rules, or ``None`` if it is not installed."""
    module = _installed("cel")
    if module is None:
        return None
    rules = [f'tool == "send" && args.to == "user{number}@example.org"' for number in range(POLICIES)]
    call = {"tool": "send", "args": {"to": "nobody@example.org"}}
    programs = [module.compile(rule) for rule in rules]
    return microseconds(lambda: [program.execute(call) for program in programs])


def _installed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def new_tool(count: int) -> float:
    """Return the time of the first decision about a tool, when nothing about it is cached."""
    guard = Guard(policies(count, one_tool=False))
    names = (f"new_{number}" for number in itertools.count())
    return microseconds(lambda: guard.decide(next(names), {}, {}))


def rows() -> list[Row]:
    """Return every row of the benchmark."""
    same_tool = ours()
    few, many = ours(10, one_tool=False), ours(10_000, one_tool=False)
    return [
        _row("200 policies for one tool, against cedarpy", same_tool, cedar(), "cedarpy"),
        _row("200 policies for one tool, against CEL", same_tool, cel(), "common-expression-language"),
        _row("200 mixed policies for one tool, against cedarpy", ours_mixed(200), cedar_mixed(200), "cedarpy"),
        _row("2000 mixed policies for one tool, against cedarpy", ours_mixed(2_000), cedar_mixed(2_000), "cedarpy"),
        _row("one regular expression on 31 characters, limit 1", pattern(), 1.0, "memkit"),
        _row("10000 policies for other tools, against 10", many, few, "memkit"),
        _row("a tool's first call with 10000 policies, against 10", new_tool(10_000), new_tool(10), "memkit"),
    ]


def _row(case: str, own: float, peer: float | None, name: str) -> Row:
    if peer is None:
        return {"case": f"{case}: {name} is not installed", "ours": round(own, 2), "peer": None, "ratio": None}
    return {"case": case, "ours": round(own, 2), "peer": round(peer, 2), "ratio": round(peer / own, 2)}


if __name__ == "__main__":
    print_rows(rows(), as_json="--json" in sys.argv)
