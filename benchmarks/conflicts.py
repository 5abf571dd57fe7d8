"""Measure the analysis of policies: 500 of them, mixed as people write them, and where every pair must be compared.

Each row is one case: ``{case, ours, peer, ratio}``, in processor seconds of this process, so that load does not matter;
the peer is the case's limit.
Run with ``--json`` for one JSON array, without it for a table.
"""

from __future__ import annotations

import random
import sys
import time
from typing import Any

from table import print_rows

from memkit.policies.analysis.conflicts import find_conflicts

POLICIES = 500
LIMIT = 2.0
"""Seconds for one set."""
_WORDS = ("prod", "staging", "users", "orders", "secrets", "mail", "backup", "audit", "ledger", "photos")


def policy(name: str, effect: str, match: Any, **more: Any) -> dict[str, Any]:
    """Return the data of a hard policy."""
    words = {"name": name, "description": "d", "rule": "r", "enforcement": "hard"}
    return {**words, "effect": effect, "match": match, **more}


def mixed(count: int) -> list[dict[str, Any]]:
    """Return policies about forty tools, with every kind of condition."""
    chance = random.Random(7)
    return [_mixed(number, chance) for number in range(count)]


def _mixed(number: int, chance: random.Random) -> dict[str, Any]:
    """Return a policy about one of forty tools; every eighth is about a shell, every twentieth allows."""
    word, other = chance.sample(_WORDS, 2)
    conditions = [
        ("path", f"/{word}/{number}/*"),
        ("to", {"in": [word, f"{other}-{number}", number]}),
        ("name", {"prefix": [f"{word}-{number % 50}", f"{other}/"]}),
        ("amount", {"range": {"min": number % 90, "max": number % 90 + chance.randint(1, 30)}}),
        ("name", {"regex": rf"^{word}[-_]\d{{1,3}}\.{other}$"}),
        ("command", {"shell": {"program": [f"{word}ctl", "kubectl"], "args": [f"*{other}*"]}}),
        ("query", {"any": [{"sql": {"statement": ["drop", "delete"], "table": word}}, {"prefix": f"{other} "}]}),
        ("path", {"all": [{"prefix": "/"}, {"not": f"/{word}/*"}, {"regex": rf"{number}\.\w+$"}]}),
    ]
    key, condition = conditions[number % len(conditions)]
    tools = ["bash", "shell"] if key == "command" else [f"{key}_{number % 40}", f"*_{word}"]
    lifted = [{"text": "tests", "match": {"context.env": {"in": ["test", word]}}}] if number % 3 == 0 else []
    effect = "allow" if number % 20 == 0 else chance.choice(["deny", "ask", "warn"])
    return policy(f"p{number}", effect, {"tool": tools, f"args.{key}": condition}, exceptions=lifted)


def apart(count: int) -> list[dict[str, Any]]:
    """Return policies about one tool, half of them allowing and half denying, no two of which overlap."""
    return [
        policy(f"p{number}", "allow" if number % 2 else "deny", {"tool": "read", "args.path": f"/data/{number:04}/*"})
        for number in range(count)
    ]


def duplicates(count: int) -> list[dict[str, Any]]:
    """Return equivalent policies."""
    return [
        policy(f"p{number}", "deny", {"tool": "bash", "args.command": {"shell": {"program": "rm"}}})
        for number in range(count)
    ]


def seconds(policies: list[dict[str, Any]]) -> float:
    """Return the time of the analysis of a set."""
    start = time.process_time()
    find_conflicts(policies)
    return time.process_time() - start


def rows() -> list[dict[str, Any]]:
    """Return every row of the benchmark."""
    cases = {
        f"{POLICIES} mixed policies for 40 tools": mixed,
        f"{POLICIES} policies for one tool, 62,500 pairs to compare": apart,
        f"{POLICIES} copies of one policy": duplicates,
    }
    measured = {case: seconds(make(POLICIES)) for case, make in cases.items()}
    return [
        {"case": case, "ours": round(own, 3), "peer": LIMIT, "ratio": round(LIMIT / own, 2)}
        for case, own in measured.items()
    ]


if __name__ == "__main__":
    print_rows(rows(), as_json="--json" in sys.argv)
