"""``memkit policy``: list, show, check, test and start policies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import click

from memkit.cli.output import Diagnostic, Front, MemkitGroup, diagnostic
from memkit.errors import UsageError
from memkit.guard.core import Finding, Verdict
from memkit.guard.proof import Proof, Reach, TestResult
from memkit.policies import PolicyFile
from memkit.store.layout import find_store
from memkit.terminal import one_line
from memkit.use_cases.check_policy import check_policy
from memkit.use_cases.draft_policy import draft_policy
from memkit.use_cases.list_policies import list_policies
from memkit.use_cases.prove_policies import prove_policies
from memkit.use_cases.show_policy import show_policy

_STOPS = ("deny", "ask")


@click.group("policy", cls=MemkitGroup)
def policy() -> None:
    """List, check and test policies: what an agent may do."""


@policy.command("list")
@click.pass_obj
def list_command(front: Front) -> None:
    """List the store's policies."""
    policies = list_policies(find_store(front.store))
    lines = [_line(found) for found in policies] or ["No policies yet: policies/ holds no *.yaml."]
    front.answer({"policies": [_summary(found) for found in policies]}, lines)


@policy.command("show")
@click.argument("name")
@click.pass_obj
def show_command(front: Front, name: str) -> None:
    """Show the policy NAME."""
    found = show_policy(find_store(front.store), name)
    front.answer(dict(found.data), found.document.text.rstrip("\n"))


@policy.command("check")
@click.option("--tool", required=True, help="The tool that would be called.")
@click.option("--arg", "args", multiple=True, metavar="K=V", help="An argument; K:=JSON gives it a type.")
@click.option(
    "--context", "context", multiple=True, metavar="K=V", help="A fact that the host program sets; K:=JSON too."
)
@click.pass_obj
def check_command(front: Front, tool: str, args: tuple[str, ...], context: tuple[str, ...]) -> None:
    """Say what the policies decide about a tool call, and why; nothing is run."""
    root = find_store(front.store)
    verdict = check_policy(root, tool, read_pairs(args, "--arg"), read_pairs(context, "--context"))
    front.answer(_verdict_data(verdict), _verdict_lines(verdict), ok=verdict.decision not in _STOPS)


@policy.command("test")
@click.argument("names", nargs=-1)
@click.option("--require-coverage", is_flag=True, help="Fail also when a clause, exception or effect is not reached.")
@click.pass_obj
def test_command(front: Front, names: tuple[str, ...], require_coverage: bool) -> None:
    """Run the tests that the policies (or those NAMED) carry, and say what they do not reach."""
    proofs = prove_policies(find_store(front.store), names)
    failed = [finding for found, proof in proofs for finding in _failures(found, proof)]
    gaps = [finding for found, proof in proofs for finding in _gaps(found, proof, strict=require_coverage)]
    ok = not failed and not (require_coverage and gaps)
    front.answer(_proofs_data(proofs), _proof_lines(proofs), ok=ok, diagnostics=[*failed, *gaps])


@policy.command("new")
@click.argument("name")
@click.pass_obj
def new_command(front: Front, name: str) -> None:
    """Start the policy NAME from an example that passes its own tests, and commit it."""
    path = draft_policy(find_store(front.store), name)
    front.answer({"name": name, "path": str(path)}, f"Wrote {path}. Edit it, then run 'memkit policy test {name}'.")


def read_pairs(pairs: Sequence[str], option: str) -> dict[str, Any]:
    """Return ``k=v`` as text and ``k:=JSON`` as data; raises ``UsageError`` for what is neither."""
    values: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        typed = key.endswith(":")
        key = key.removesuffix(":")
        if not sign or not key:
            raise UsageError(f"{option} {pair!r} is not K=V or K:=JSON.")
        if key in values:
            raise UsageError(f"{option} {key} is given twice.")
        values[key] = _json(value, pair, option) if typed else value
    return values


def _json(value: str, pair: str, option: str) -> Any:
    try:
        return json.loads(value)
    except (json.JSONDecodeError, RecursionError) as error:
        raise UsageError(f"{option} {pair!r}: what follows := is not JSON ({error}). For text write K=V.") from None


def _summary(found: PolicyFile) -> dict[str, Any]:
    data = found.data
    return {
        "name": found.name,
        "description": data["description"],
        "enforcement": data["enforcement"],
        "effect": data.get("effect"),
        "active": data.get("active", True),
        "deprecated": bool(data.get("deprecated", False)),
        "advice": "match" not in data,
        "exceptions": len(data.get("exceptions", ())),
        "tests": len(data.get("tests", ())),
    }


def _line(found: PolicyFile) -> str:
    shown = _summary(found)
    kind = "advice" if shown["advice"] else f"{shown['enforcement']} {shown['effect']}"
    marks = "" if shown["active"] else " (off)"
    marks += " (deprecated)" if shown["deprecated"] else ""
    return f"{found.name}{marks}  {kind}  {one_line(shown['description'], 90)}"


def _verdict_data(verdict: Verdict) -> dict[str, Any]:
    return {
        "decision": verdict.decision,
        "policies": [asdict(finding) for finding in verdict.policies],
        "exempted": [asdict(finding) for finding in verdict.exempted],
    }


def _verdict_lines(verdict: Verdict) -> Iterator[str]:
    yield verdict.decision if verdict.policies else f"{verdict.decision}  (no policy applies)"
    for finding in verdict.policies:
        yield _finding_line("*" if finding.decides else " ", finding)
    for finding in verdict.exempted:
        yield _finding_line("-", finding)


def _finding_line(mark: str, finding: Finding) -> str:
    return f" {mark} {finding.name} ({finding.enforcement} {finding.effect}): {one_line(finding.reason)}"


def _proofs_data(proofs: Sequence[tuple[PolicyFile, Proof]]) -> dict[str, Any]:
    results = [result for _, proof in proofs for result in proof.results]
    return {
        "passed": sum(result.passed for result in results),
        "failed": sum(not result.passed for result in results),
        "policies": [_proof_data(found, proof) for found, proof in proofs],
    }


def _proof_data(found: PolicyFile, proof: Proof) -> dict[str, Any]:
    return {
        "name": found.name,
        "tests": [_result_data(found, result) for result in proof.results],
        "coverage": {kind: _coverage_data(proof, kind) for kind in ("clause", "exception", "effect")},
    }


def _result_data(found: PolicyFile, result: TestResult) -> dict[str, Any]:
    return {
        "name": result.name,
        "ok": result.passed,
        "expected": result.expected,
        "decision": result.verdict.decision,
        "reason": _reason(result),
        "line": found.document.position(result.path)[0],
    }


def _reason(result: TestResult) -> str:
    findings = (*result.verdict.policies, *result.verdict.exempted)
    return findings[0].reason if findings else "the policy does not match"


def _coverage_data(proof: Proof, kind: str) -> dict[str, Any]:
    reaches = [reach for reach in proof.coverage if reach.kind == kind]
    missing = [{"path": reach.place, "text": reach.text} for reach in reaches if not reach.reached]
    return {"total": len(reaches), "reached": len(reaches) - len(missing), "missing": missing}


def _proof_lines(proofs: Sequence[tuple[PolicyFile, Proof]]) -> Iterator[str]:
    for found, proof in proofs:
        passed = sum(result.passed for result in proof.results)
        reached = sum(reach.reached for reach in proof.coverage)
        tests, parts = len(proof.results), len(proof.coverage)
        yield f"{found.name}: {passed} of {tests} tests pass, {reached} of {parts} parts reached"
        for result in proof.results:
            if not result.passed:
                yield f"  FAIL {_failure_text(result)}"
        yield from (f"  not reached: {_gap_text(reach)}" for reach in proof.unreached)


def _failure_text(result: TestResult) -> str:
    name, reason = one_line(result.name), one_line(_reason(result))
    return f"{name}: expected {result.expected}, decided {result.verdict.decision} ({reason})"


def _gap_text(reach: Reach) -> str:
    return f"{reach.kind} {reach.place} ({one_line(reach.text, 60)})"


def _failures(found: PolicyFile, proof: Proof) -> Iterator[Diagnostic]:
    for result in proof.results:
        if not result.passed:
            line = found.document.position(result.path)[0]
            yield diagnostic("policy-test", _failure_text(result), path=found.document.path, line=line)


def _gaps(found: PolicyFile, proof: Proof, *, strict: bool) -> Iterator[Diagnostic]:
    for reach in proof.unreached:
        line = found.document.position(reach.path)[0]
        message = f"No test reaches the {_gap_text(reach)}."
        severity = "error" if strict else "note"
        yield diagnostic("policy-coverage", message, severity=severity, path=found.document.path, line=line)
