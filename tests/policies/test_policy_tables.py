# ruff: noqa: E501 - tables read best when they are dense
"""Tables of tests: one call a row, decided by one policy or by the whole set, every fault with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from memkit.errors import UsageError
from memkit.policies.files import load_policies
from memkit.policies.proving import TABLES, load_table, load_tables, prove_set
from memkit.runtime.guard.core import Guard

ASK = "name: asks\ndescription: d\nrule: r\nenforcement: hard\neffect: ask\nmatch: {tool: send, args.to: 'a*'}\n"
DENY = "name: denies\ndescription: d\nrule: r\nenforcement: hard\neffect: deny\nmatch: {tool: send, args.to: 'ab*'}\n"
TABLE = """\
policy: asks
call: {tool: send, context: {env: prod}}
columns: [name, tool, args.to, args.count, expect]
rows:
  - [asks, ~, ada, 3, ask]
  - [~, read, ada, ~, allow]
tests:
  - {name: the set denies, policy: denies, call: {tool: send, args: {to: abe}}, expect: deny}
"""
CSV = 'policy,tool,args.to,args.deep:,context.env,expect,name\n,send,abe,,,deny,\nasks,send,abe,,,ask,alone\n,send,,{"a": [1]},test,allow,\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a folder with two policies and room for tables."""
    (tmp_path / TABLES).mkdir(parents=True)
    (tmp_path / "policies/asks.yaml").write_text(ASK)
    (tmp_path / "policies/denies.yaml").write_text(DENY)
    return tmp_path


def table(root: Path, name: str, content: str | bytes) -> Path:
    """Write a table."""
    path = root / TABLES / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_yaml_table_has_rows_and_tests(root: Path) -> None:
    """Cells fill in what the calls have in common, an empty one leaves its column out, and lines are those of the file."""
    rows = load_table(table(root, "t.yaml", TABLE))

    assert [(row.policy, row.case.name, row.case.call.tool, row.case.expected, row.line) for row in rows] == [
        ("denies", "the set denies", "send", "deny", 8),
        ("asks", "asks", "send", "ask", 5),
        ("asks", "read ada", "read", "allow", 6),
    ]
    assert (rows[1].case.call.args, rows[1].case.call.context) == ({"to": "ada", "count": 3}, {"env": "prod"})


def test_a_csv_table_has_text_and_typed_cells(root: Path) -> None:
    """A column whose name ends in a colon holds JSON; a row that names no policy is about the whole set."""
    rows = load_table(table(root, "t.csv", CSV))

    assert [(row.policy, row.case.expected, row.line) for row in rows] == [
        (None, "deny", 2),
        ("asks", "ask", 3),
        (None, "allow", 4),
    ]
    assert (rows[2].case.call.args, rows[2].case.call.context) == ({"deep": {"a": [1]}}, {"env": "test"})


def test_rows_are_decided_by_their_policy_or_by_the_set(root: Path) -> None:
    """The same call is asked about by one policy and denied by the set."""
    table(root, "t.csv", CSV)

    proof = prove_set(load_policies(root / "policies"), load_tables(root))

    assert [(row.row.policy, row.result.verdict.decision) for row in proof.rows] == [
        (None, "deny"),
        ("asks", "ask"),
        (None, "allow"),
    ]
    assert all(not shown.unreached for _, shown in proof.policies)


def test_a_choice_of_policies_leaves_out_the_rows_of_others(root: Path) -> None:
    """Whoever asks about one policy gets its rows only; those of the set still count for its coverage."""
    table(root, "t.csv", CSV)
    policies = load_policies(root / "policies")

    proof = prove_set(policies, load_tables(root), [policies[1]])

    assert (proof.rows, [policy.name for policy, _ in proof.policies], proof.policies[0][1].unreached) == (
        (),
        ["denies"],
        (),
    )


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("t.yaml", TABLE.replace("columns", "colums"), "t.yaml:3:1"),
        ("t.yaml", TABLE.replace("ada, 3, ask", "ada, ask"), "t.yaml:5:1: The row has 4 cells"),
        ("t.yaml", TABLE.replace("3, ask", "3, maybe"), "t.yaml:5:1: 'maybe' is not one of"),
        ("t.yaml", TABLE.replace("tool: send, context", "context"), "t.yaml:5:1: The row names no tool"),
        ("t.yaml", TABLE.replace("args.to, args", "arg.to, args"), "t.yaml:3:"),
        ("t.yaml", "rows: [", "t.yaml:1"),
        ("t.yaml", "", "t.yaml:1:1"),
        ("t.csv", CSV.replace("expect", "expects"), "t.csv:1:1: Unknown column 'expects'"),
        ("t.csv", CSV.replace("context.env", "expect"), "t.csv:1:1"),
        ("t.csv", CSV.replace("asks,send,abe", "asks,send"), "t.csv:3:1: The row does not have 7 cells"),
        ("t.csv", CSV.replace("alone", "alone,more"), "t.csv:3:1"),
        ("t.csv", CSV.replace('{"a": [1]}', '{"a": [1'), "t.csv:4:1"),
        ("t.csv", CSV.replace(",deny,", ",denied,"), "t.csv:2:1"),
        ("t.csv", b"tool,expect\nsend,\xff\n", "t.csv:2:1: It is not UTF-8"),
        ("t.csv", 'tool,expect\n"send,ask\n', "t.csv:"),
        ("t.csv", b"", "t.csv:1:1"),
        ("t.csv", "tool,expect\n" + "send,ask\n" * 150_000, "bytes"),
    ],
)  # fmt: skip
def test_a_fault_in_a_table_is_named_with_its_place(root: Path, name: str, content: str | bytes, place: str) -> None:
    """A table that cannot be read is an error, and never a table without rows."""
    path = table(root, name, content)

    with pytest.raises(UsageError) as caught:
        load_table(path)

    assert f"{TABLES}/" in str(caught.value) and place in str(caught.value)


def test_a_row_about_an_unknown_policy_is_refused(root: Path) -> None:
    """A misspelt name would be a test that never fails."""
    table(root, "t.csv", CSV.replace("asks,", "ask,"))

    with pytest.raises(UsageError, match=r"t\.csv:3:1.*asks"):
        prove_set(load_policies(root / "policies"), load_tables(root))


def test_a_row_about_a_deleted_policy_says_nothing(root: Path) -> None:
    """Who deletes a policy and keeps its table is told, and not failed."""
    table(root, "t.csv", CSV.replace("asks,", "quite_another,"))

    proof = prove_set(load_policies(root / "policies"), load_tables(root))

    assert ([row.line for row in proof.orphans], len(proof.rows)) == ([3], 2)


def test_a_byte_order_mark_and_windows_line_ends_are_read(root: Path) -> None:
    """A table that a spreadsheet saved is a table."""
    rows = load_table(table(root, "t.csv", b"\xef\xbb\xbf" + CSV.replace("\n", "\r\n").encode()))

    assert [row.case.expected for row in rows] == ["deny", "ask", "allow"]


def test_only_what_lies_in_the_folder_is_a_table(root: Path) -> None:
    """Other files and hidden ones are left alone."""
    for name in ("README.md", ".t.csv"):
        table(root, name, "x")

    assert load_tables(root) == []


def test_a_long_table_compiles_its_policies_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rows there are, each policy is compiled a fixed number of times."""
    made: list[int] = []
    compiled = Guard.__init__
    monkeypatch.setattr(Guard, "__init__", lambda self, policies: made.append(1) or compiled(self, policies))
    counts = []
    for rows in (10, 500):
        made.clear()
        table(root, "t.csv", "policy,tool,expect\n" + ",read,allow\nasks,read,allow\n" * rows)
        assert len(prove_set(load_policies(root / "policies"), load_tables(root)).rows) == 2 * rows
        counts.append(len(made))

    assert counts[0] == counts[1]
