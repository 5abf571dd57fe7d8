# ruff: noqa: E501 - tables read best when they are dense
"""Grounds: a finding is explained by the conditions that carry it, and by what its exceptions miss."""

from __future__ import annotations

from typing import Any

import pytest

from memkit.runtime.guard import shell
from memkit.runtime.guard.core import Call, compile_policy
from memkit.runtime.guard.match import make_clause
from memkit.runtime.guard.proof import find_grounds, prove

DATA: dict[str, Any] = {
    "name": "probe",
    "description": "d",
    "rule": "r",
    "enforcement": "hard",
    "effect": "ask",
    "match": [
        {"tool": "send", "args.to": {"any": [{"prefix": "b"}, {"all": [{"prefix": "a"}, {"not": "ab"}]}]}},
        {"args.n": {"range": {"min": 5}}},
    ],
    "exceptions": [{"text": "In tests", "match": {"context.env": "test"}}, {"text": "prose"}],
}


def places(args: dict[str, Any], context: dict[str, Any] | None = None) -> list[tuple[str, bool | None]]:
    """Return place and answer of every ground for a call of ``send``."""
    found = find_grounds(compile_policy(DATA), Call("send", args, context or {}))
    return [(ground.place, ground.holds) for ground in found]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"to": "bob"}, [("match[0].tool", True), ("match[0].args.to.any[0].prefix", True)]),
        ({"to": "ada"}, [("match[0].tool", True), ("match[0].args.to.any[1].all[0].prefix", True), ("match[0].args.to.any[1].all[1].not", True)]),
        ({"n": 7}, [("match[1].args.n.range", True)]),
        ({"n": "many"}, [("match[1].args.n.range", None)]),
        ({"to": "bob", "n": 5}, [("match[0].tool", True), ("match[0].args.to.any[0].prefix", True), ("match[1].args.n.range", True)]),
        ({"to": "ab"}, []),
    ],
)  # fmt: skip
def test_the_conditions_that_carry_a_match_are_named(
    args: dict[str, Any], expected: list[tuple[str, bool | None]]
) -> None:
    """Of any, the first that holds; of all, each; of several alternatives, those that hold; never one that does not."""
    assert places(args)[: len(expected)] == expected
    assert places(args)[len(expected) :] == [("exceptions[0]", False)]


def test_an_exception_says_what_it_misses_or_why_it_holds() -> None:
    """Whoever wonders why an exception does not help reads which key of the context is not so."""
    policy = compile_policy(DATA)
    missed = find_grounds(policy, Call("send", {"n": 7}, {"env": "prod"}))[-1]
    met = find_grounds(policy, Call("send", {"n": 7}, {"env": "test"}))[-1]

    assert (missed.holds, missed.text) == (False, "In tests (context.env is not equal to test)")
    assert (met.holds, met.text) == (True, "In tests (context.env: test equal to test)")


def test_a_proof_reads_each_command_once() -> None:
    """However many clauses ask about it, and however many commands there are; reading takes longer than all answers."""
    programs = ["rm", "dd", "mkfs", "shred", "mount"]
    data = DATA | {
        "match": {"tool": "bash", "args.command": {"any": [{"shell": {"program": one}} for one in programs]}}
    }
    calls = [Call("bash", {"command": f"echo {number} && rm {number}"}) for number in range(200)]
    before = shell._read_text.cache_info().misses

    proof = prove(data | {"exceptions": []}, calls)

    reached = [part.place for part in proof.coverage if part.kind == "clause" and part.reached]
    assert reached == ["match.tool", "match.args.command.any[0].shell"]
    assert shell._read_text.cache_info().misses - before <= 2 * len(calls), "once for the clauses, once for the effect"


CONDITIONS = [
    "y", {"shell": {"program": "rm"}}, {"glob": "*.py"}, {"regex": "^ab+$"}, {"prefix": "git "}, {"in": ["u", "v"]},
    {"sql": {"statement": "drop"}}, {"range": {"min": 3}}, {"not": {"prefix": "r"}}, {"surely": {"shell": {"program": "dd"}}},
]  # fmt: skip
VALUES = ["y", "rm x", "a.py", "abb", "git add", "v", "drop table t", 4, 2, "echo $(", ["rm", "x"], ["y", "q"], None]


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("of_kind", [False, True])
def test_a_clause_is_reached_where_its_condition_holds(value: Any, *, of_kind: bool) -> None:
    """Whether a call meets it may be looked up, and not asked, and the answer is the same."""
    tool = {"tool_kind": "shell"} if of_kind else {"tool": "bash"}
    data = DATA | {"match": tool | {"args.command": {"any": CONDITIONS}}, "exceptions": []}
    call = Call("bash", {"cmd" if of_kind else "command": value})
    clauses = compile_policy(data).clauses()
    alone = [
        make_clause(one.key, leaf, leaf.path, of_kind=one.of_kind) for one in clauses for leaf in one.check.leaves()
    ]

    parts = [part for part in prove(data, [call]).coverage if part.kind == "clause"]

    assert [part.reached for part in parts] == [bool(one.test(call).state) for one in alone]
    assert any(part.reached for part in parts)
