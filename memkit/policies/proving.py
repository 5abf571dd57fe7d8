"""Tables of policy tests, and the results of policies' own tests and of tables."""

from __future__ import annotations

import csv
import difflib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.policies.files import FOLDER, PolicyFile
from memkit.runtime.guard.core import Guard
from memkit.runtime.guard.interface import EFFECTS, Call
from memkit.runtime.guard.proof import Case, Proof, TestResult, guard_of_one, prove, read_case
from memkit.store.layout import MAX_BYTES, file_bytes, why_not
from memkit.store.schema import check, load_schema
from memkit.store.yaml import UNSETTLED, Document, conflict_marker, load_yaml

TABLES = f"{FOLDER}/tests"
_OWN_COLUMNS = ("name", "policy", "tool", "expect")
_MAX_SHOWN = 60


@dataclass(frozen=True)
class TableCase:
    """One row of a table."""

    policy: str | None
    """The policy that decides alone; if missing, the whole set decides."""
    case: Case
    path: str
    line: int


def load_tables(root: Path) -> list[TableCase]:
    """Return every row of every table of the store at ``root``; raise ``UsageError`` with the place of a fault."""
    try:
        paths = sorted(path for path in (root / TABLES).iterdir() if not path.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [case for path in paths if path.suffix in _READERS for case in load_table(path)]


def load_table(path: Path) -> list[TableCase]:
    """Return the rows of one table."""
    return list(_READERS[path.suffix](path, f"{TABLES}/{path.name}"))


def _read_yaml(path: Path, name: str) -> Iterator[TableCase]:
    document = load_yaml(path, name=name)
    for finding in check(document.data, load_schema("policy-tests")):
        line, column = finding.position(document)
        raise UsageError(f"{name}:{line}:{column}: {finding.message}", path=name, line=line)
    data = document.data
    default = data.get("policy")
    for index, test in enumerate(data.get("tests", ())):
        case = read_case(test, ("tests", index))
        yield TableCase(test.get("policy", default), case, name, document.position(case.path)[0])
    yield from _yaml_rows(document, name, default)


def _yaml_rows(document: Document, name: str, default: str | None) -> Iterator[TableCase]:
    columns: Sequence[str] = document.data.get("columns", ())
    for index, row in enumerate(document.data.get("rows", ())):
        line = document.position(("rows", index))[0]
        if len(row) != len(columns):
            raise _fault(name, line, f"the row has {len(row)} cells, but there are {len(columns)} columns")
        cells = {column: cell for column, cell in zip(columns, row, strict=True) if cell is not None}
        yield _row(cells, document.data.get("call", {}), default, ("rows", index), (name, line))


def _read_csv(path: Path, name: str) -> Iterator[TableCase]:
    reader = csv.DictReader(io.StringIO(_csv_text(path, name), newline=""), restkey="", strict=True)
    try:
        columns = list(reader.fieldnames or ())
        _check_columns(columns, name)
        for index, row in enumerate(reader):
            line = reader.line_num
            if "" in row or None in row.values():
                raise _fault(name, line, f"the row does not have {len(columns)} cells, one per column")
            cells = dict(_typed(column, cell, (name, line)) for column, cell in row.items() if cell)
            yield _row(cells, {}, None, ("rows", index), (name, line))
    except csv.Error as error:
        raise _fault(name, reader.line_num or 1, f"it is not CSV: {error}") from error


def _csv_text(path: Path, name: str) -> str:
    try:
        data = file_bytes(path)
    except (OSError, ValueError) as error:
        raise _fault(name, 1, why_not(error).rstrip(".")) from error
    if len(data) > MAX_BYTES:
        raise _fault(name, 1, f"it has more than {MAX_BYTES:,} bytes; split the table")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _fault(name, line, "it is not UTF-8") from error
    if marker := conflict_marker(text):
        raise _fault(name, text.count("\n", 0, marker.start()) + 1, UNSETTLED.format(marker=marker[0]).rstrip("."))
    return text


def _check_columns(columns: Sequence[str], name: str) -> None:
    for column in columns:
        plain = column.removesuffix(":")
        if plain not in _OWN_COLUMNS and not plain.startswith(("args.", "context.")):
            known = f"{', '.join(_OWN_COLUMNS)}, args.<name>, context.<name>"
            raise _fault(name, 1, f"unknown column {column!r}; known are {known}")
    if "expect" not in columns or len(set(columns)) < len(columns):
        raise _fault(name, 1, "the first line must name the columns, each once, including 'expect'")


def _typed(column: str, cell: str, place: tuple[str, int]) -> tuple[str, Any]:
    """Return a cell as text, or as data if the column's name ends in a colon."""
    if not column.endswith(":"):
        return column, cell
    try:
        return column.removesuffix(":"), json.loads(cell)
    except (json.JSONDecodeError, RecursionError) as error:
        raise _fault(*place, f"the value in column {column!r} is not JSON: {error}") from None


def _row(
    cells: Mapping[str, Any],
    start: Mapping[str, Any],
    policy: str | None,
    path: tuple[str | int, ...],
    place: tuple[str, int],
) -> TableCase:
    """Return the case of one row; ``start`` is common to the calls of all rows."""
    tool = cells.get("tool", start.get("tool"))
    if not isinstance(tool, str):
        raise _fault(*place, "the row names no tool")
    if cells.get("expect") not in EFFECTS:
        raise _fault(*place, f"{cells.get('expect')!r} is not one of {', '.join(EFFECTS)}")
    args = {**start.get("args", {}), **_named("args.", cells)}
    context = {**start.get("context", {}), **_named("context.", cells)}
    name = str(cells.get("name") or _described(tool, args))
    return TableCase(cells.get("policy", policy), Case(name, Call(tool, args, context), cells["expect"], path), *place)


def _named(root: str, cells: Mapping[str, Any]) -> dict[str, Any]:
    return {column.removeprefix(root): cell for column, cell in cells.items() if column.startswith(root)}


def _described(tool: str, args: Mapping[str, Any]) -> str:
    values = " ".join(str(value) for value in args.values())
    return f"{tool} {values}"[:_MAX_SHOWN].strip()


def _fault(name: str, line: int, message: str) -> UsageError:
    return UsageError(f"{name}:{line}:1: {message[:1].upper()}{message[1:]}.", path=name, line=line)


_READERS = {".yaml": _read_yaml, ".csv": _read_csv}


_MISSPELT = 0.8
"""The least similarity of a name to a policy's that counts as a misspelling."""


@dataclass(frozen=True)
class TableResult:
    """A row of a table with the decision."""

    row: TableCase
    result: TestResult


@dataclass(frozen=True)
class SetProof:
    """The results of the tests of a set of policies."""

    policies: tuple[tuple[PolicyFile, Proof], ...]
    rows: tuple[TableResult, ...]
    orphans: tuple[TableCase, ...] = ()
    """Rows about policies that do not exist, which prove nothing."""

    @property
    def results(self) -> list[TestResult]:
        """Return every test's result: those in policies, then the rows of tables."""
        inline = [result for _, proof in self.policies for result in proof.results]
        return [*inline, *(row.result for row in self.rows)]


def prove_set(
    policies: Sequence[PolicyFile], rows: Sequence[TableCase], chosen: Sequence[PolicyFile] | None = None
) -> SetProof:
    """Return the test results of the ``chosen`` policies of a set; by default of all and of the set itself.

    Raises:
        UsageError: A row names no existing policy, but nearly one.
    """
    orphans = find_orphans(policies, rows)
    proven = policies if chosen is None else chosen
    names = {policy.name for policy in proven}
    calls = {policy.name: [row.case.call for row in rows if row.policy in (None, policy.name)] for policy in proven}
    wanted = [row for row in rows if row.policy in names or (row.policy is None and chosen is None)]
    guards = _guards(policies, {row.policy for row in wanted})
    return SetProof(
        tuple((policy, prove(policy.data, calls[policy.name])) for policy in proven),
        tuple(TableResult(row, row.case.decided_by(guards[row.policy])) for row in wanted),
        orphans,
    )


def _guards(policies: Sequence[PolicyFile], names: set[str | None]) -> dict[str | None, Guard]:
    """Return the deciding guards: for a name its policy alone, for None the whole set."""
    guards: dict[str | None, Guard] = {
        policy.name: guard_of_one(policy.data) for policy in policies if policy.name in names
    }
    return guards | ({None: Guard([policy.data for policy in policies])} if None in names else {})


def find_orphans(policies: Sequence[PolicyFile], rows: Sequence[TableCase]) -> tuple[TableCase, ...]:
    """Return the rows about policies that do not exist: somebody deleted the policy and kept its table.

    Raises:
        UsageError: The name is nearly that of a policy, so that it is misspelt; its test would never fail.
    """
    known = {policy.name for policy in policies}
    orphans = tuple(row for row in rows if row.policy is not None and row.policy not in known)
    for row in orphans:
        if near := difflib.get_close_matches(str(row.policy), sorted(known), n=1, cutoff=_MISSPELT):
            message = f"There is no policy {row.policy!r}. Did you mean {near[0]!r}?"
            raise UsageError(f"{row.path}:{row.line}:1: {message}", path=row.path, line=row.line)
    return orphans
