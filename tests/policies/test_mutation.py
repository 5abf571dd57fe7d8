# ruff: noqa: E501 - tables read best when they are dense
"""Mutation: small changes of a policy that no test notices are named with their place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memkit.policies.files import PolicyFile, load_policies
from memkit.policies.mutation import mutants_of, mutate
from memkit.policies.proving import load_tables, prove_set
from memkit.resources import resource
from memkit.runtime.guard.core import Guard
from memkit.runtime.guard.proof import guard_of_one
from memkit.store.yaml import load_yaml
from memkit.use_cases.policy_proofs import mutate_policies

POLICY = """\
name: probe
description: d
rule: r
enforcement: hard
effect: ask
match:
  tool: [send, mail]
  args.n: {range: {min: 5, below: 9}}
  args.to: {any: [{prefix: a}, {not: {in: [bob, eve]}}]}
  args.cmd: {shell: {program: rm, flags: {all_of: [-r, -f]}}}
exceptions:
  - {text: t, match: {context.env: {in: [test, ci]}}}
"""


def policy(text: str) -> PolicyFile:
    """Return a policy of a text."""
    document = load_yaml(text, name="probe.yaml")
    return PolicyFile("probe", document.data, document)


def kinds(text: str) -> set[tuple[str, str]]:
    """Return kind and place of every mutant."""
    return {(mutant.kind, mutant.place) for mutant in mutants_of(load_yaml(text).data)}


def test_every_part_of_a_policy_is_changed() -> None:
    """Clauses are removed, turned round, widened and narrowed; bounds move; exceptions and effects go."""
    assert kinds(POLICY) >= {
        ("removed", "match.tool"), ("flipped", "match.tool"), ("narrowed", "match.tool[0]"), ("narrowed", "match.tool[1]"),
        ("widened", "match.args.n.range.min"), ("boundary", "match.args.n.range"), ("removed", "match.args.to.any[0]"),
        ("flipped", "match.args.to.any[1]"), ("narrowed", "match.args.to.any[1].not.in[0]"), ("widened", "match.args.cmd.shell.flags"),
        ("narrowed", "match.args.cmd.shell.flags.all_of[1]"), ("dropped", "exceptions[0]"), ("flipped", "exceptions[0].match.context.env"),
        ("narrowed", "exceptions[0].match.context.env.in[1]"), ("weakened", "effect"), ("weakened", "enforcement"),
    }  # fmt: skip


def test_a_change_changes_one_place_and_not_the_policy() -> None:
    """Mutants differ from the policy and from each other, and the policy's own data stays as it was."""
    data = load_yaml(POLICY).data
    before = repr(data)

    mutants = list(mutants_of(data))

    assert repr(data) == before
    assert all(mutant.data != data for mutant in mutants)
    assert len({repr(mutant.data) for mutant in mutants}) == len(mutants)


def test_what_a_test_holds_does_not_survive() -> None:
    """Two tests hold tool and effect; what they do not look at survives and is named."""
    tests = "tests:\n  - {name: a, call: {tool: send, args: {to: x}}, expect: ask}\n  - {name: b, call: {tool: read, args: {to: x}}, expect: allow}\n"
    base = "name: probe\ndescription: d\nrule: r\nenforcement: hard\neffect: ask\nmatch: {tool: [send, mail], args.to: x}\n"

    report = mutate(policy(base + tests), [], [])

    assert [(mutant.kind, mutant.place) for mutant in report.survivors] == [
        ("narrowed", "match.tool[1]"),
        ("removed", "match.args.to"),
    ]
    assert report.tried > 5


def test_without_tests_every_mutant_survives() -> None:
    """A policy that nothing tests can be changed as one likes."""
    report = mutate(policy(POLICY), [], [])

    assert len(report.survivors) == report.tried > 20


def test_a_failing_test_notices_nothing() -> None:
    """A test that fails on the policy itself says nothing about its mutants."""
    text = POLICY + "tests: [{name: a, call: {tool: read}, expect: deny}]\n"

    assert len(mutate(policy(text), [], []).survivors) == mutate(policy(text), [], []).tried


def test_advice_has_nothing_to_change() -> None:
    """A policy without match decides nothing."""
    assert list(mutants_of(load_yaml("name: a\ndescription: d\nrule: r\nenforcement: hard\n").data)) == []


def test_the_set_can_hide_what_a_policy_does(tmp_path: Path) -> None:
    """Where another policy decides the same, a row about the set does not notice that this one is weakened."""
    (tmp_path / "policies/tests").mkdir(parents=True)
    for name in ("one", "two"):
        text = f"name: {name}\ndescription: d\nrule: r\nenforcement: hard\neffect: deny\nmatch: {{tool: send}}\n"
        (tmp_path / f"policies/{name}.yaml").write_text(text)
    (tmp_path / "policies/tests/t.csv").write_text("policy,tool,expect\n,send,deny\none,send,deny\n")

    reports = mutate_policies(prove_set(load_policies(tmp_path / "policies"), load_tables(tmp_path)))

    survived = {report.policy.name: {mutant.place for mutant in report.survivors} for report in reports}
    assert ("effect" in survived["one"], "effect" in survived["two"]) == (False, True)


def test_every_mutant_of_the_starters_is_noticed() -> None:
    """The starters ship with tests that hold every clause, value, exception and effect of them.

    Of the one with a list of programs the clauses are held by its table, and the values by the corpus.
    """
    root = resource("policies").parent
    small = [policy for policy in load_policies(root / "policies") if policy.name != "destructive_command_approval"]

    reports = mutate_policies(prove_set(small, load_tables(root)))

    assert [(report.policy.name, mutant.place) for report in reports for mutant in report.survivors] == []
    assert sum(report.tried for report in reports) > 150


@pytest.mark.parametrize("call", [{"tool": "send", "args": {"n": 7, "to": "x", "cmd": "rm -rf x"}}])
def test_mutants_are_policies(call: dict[str, Any]) -> None:
    """Each change leaves something that compiles and decides."""
    for mutant in mutants_of(load_yaml(POLICY).data):
        guard: Guard = guard_of_one(mutant.data)
        assert guard.decide(call["tool"], call["args"], {}).decision in ("allow", "warn", "ask")
