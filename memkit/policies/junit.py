"""The results of policy tests as JUnit XML, for services that show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import quoteattr

from memkit.policies.mutation import MutationReport
from memkit.policies.proving import SetProof, TableResult
from memkit.runtime.guard.proof import TestResult
from memkit.runtime.host.terminal import one_line


def junit_xml(proof: SetProof, mutations: Sequence[MutationReport] = ()) -> str:
    """Return a suite for each policy and each table, and a case for each test; a mutant that lives is a failed case."""
    suites = [_policy_suite(policy.document.path, policy.name, found.results) for policy, found in proof.policies]
    suites += _table_suites(proof.rows)
    suites += [_mutation_suite(report) for report in mutations]
    body = "\n".join(suite for suite in suites if suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="memkit policy test">\n{body}\n</testsuites>\n'


def _policy_suite(path: str, name: str, results: Sequence[TestResult]) -> str:
    return _suite(f"policy {name}", [_case(path, result) for result in results])


def _table_suites(rows: Sequence[TableResult]) -> Iterator[str]:
    for path in dict.fromkeys(row.row.path for row in rows):
        yield _suite(f"table {path}", [_case(path, row.result, row.row.line) for row in rows if row.row.path == path])


def _mutation_suite(report: MutationReport) -> str:
    cases = []
    for mutant in report.survivors:
        line, column = report.policy.document.position(mutant.path)
        path = report.policy.document.path
        failure = _failure("survived", f"{mutant.kind}: {mutant.says}, and every test still passes", path, line, column)
        cases.append(
            (f"<testcase classname={_attribute(path)} name={_attribute(mutant.place)}>{failure}</testcase>", True)
        )
    killed = report.tried - len(report.survivors)
    cases.append(
        (f'<testcase classname={_attribute(report.policy.document.path)} name="{killed} mutants killed"/>', False)
    )
    return _suite(f"mutants of {report.policy.name}", cases)


def _case(path: str, result: TestResult, line: int | None = None) -> tuple[str, bool]:
    head = f"<testcase classname={_attribute(path)} name={_attribute(result.name)}"
    if result.passed:
        return f"{head}/>", False
    message = f"expected {result.expected}, decided {result.verdict.decision}: {result.reason}"
    return f"{head}>{_failure('decision', message, path, line)}</testcase>", True


def _failure(kind: str, message: str, path: str, line: int | None = None, column: int | None = None) -> str:
    place = ":".join(str(part) for part in (path, line, column) if part is not None)
    return f"<failure type={_attribute(kind)} message={_attribute(message)}>{_text(place)}</failure>"


def _suite(name: str, cases: Sequence[tuple[str, bool]]) -> str:
    if not cases:
        return ""
    failures = sum(failed for _, failed in cases)
    lines = "\n".join(f"    {case}" for case, _ in cases)
    head = f'  <testsuite name={_attribute(name)} tests="{len(cases)}" failures="{failures}" errors="0" skipped="0">'
    return f"{head}\n{lines}\n  </testsuite>"


def _attribute(text: str) -> str:
    return quoteattr(one_line(text))


def _text(text: str) -> str:
    return one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
