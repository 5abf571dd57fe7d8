"""The results of policy tests as JUnit XML, for services that show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from memkit.policies.mutation import MutationReport
from memkit.policies.proving import SetProof
from memkit.runtime.guard.proof import TestResult
from memkit.runtime.host.terminal import one_line


class _Case(NamedTuple):
    name: str
    failure: tuple[str, str, str] | None = None
    """Its kind, its message, and its place."""


def junit_xml(proof: SetProof, mutations: Sequence[MutationReport] = ()) -> str:
    """Return a suite for each policy and each table, and a case for each test; a surviving mutant is a failed case."""
    suites = Element("testsuites", name="memkit policy test")
    for policy, found in proof.policies:
        path = policy.document.path
        _add_suite(suites, f"policy {policy.name}", path, [_case(result, path) for result in found.results])
    for path in dict.fromkeys(row.row.path for row in proof.rows):
        rows = [_case(row.result, f"{path}:{row.row.line}") for row in proof.rows if row.row.path == path]
        _add_suite(suites, f"table {path}", path, rows)
    for report in mutations:
        _add_suite(suites, f"mutants of {report.policy.name}", report.policy.document.path, _mutants(report))
    indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suites, encoding="unicode")}\n'


def _case(result: TestResult, place: str) -> _Case:
    message = f"expected {result.expected}, decided {result.verdict.decision}: {result.reason}"
    return _Case(result.name, None if result.passed else ("decision", message, place))


def _mutants(report: MutationReport) -> list[_Case]:
    cases = []
    for mutant in report.survivors:
        place = ":".join(map(str, (report.policy.document.path, *report.policy.document.position(mutant.path))))
        message = f"{mutant.kind}: {mutant.says}, and every test still passes"
        cases.append(_Case(mutant.place, ("survived", message, place)))
    return [*cases, _Case(f"{report.tried - len(report.survivors)} mutants killed")]


def _add_suite(suites: Element, name: str, path: str, cases: Sequence[_Case]) -> None:
    if not cases:
        return
    failures = str(sum(case.failure is not None for case in cases))
    counts = {"tests": str(len(cases)), "failures": failures, "errors": "0", "skipped": "0"}
    suite = SubElement(suites, "testsuite", {"name": one_line(name), **counts})
    for case in cases:
        shown = SubElement(suite, "testcase", classname=one_line(path), name=one_line(case.name))
        if case.failure is not None:
            kind, message, place = case.failure
            SubElement(shown, "failure", type=kind, message=one_line(message)).text = one_line(place)
