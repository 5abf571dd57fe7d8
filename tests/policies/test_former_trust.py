"""``memkit migrate`` rewrites policies that wait for a trust of former versions."""

from pathlib import Path

from memkit.cli.main import run
from memkit.store.yaml import load_yaml

POLICY = """\
name: no_sending   # of strangers' words
description: d
rule: r
enforcement: hard
effect: ask
match:
  tool: send
  context.trust: {in: [candidate, quarantined, rejected]}
tests:
  - {name: asks, call: {tool: send, args: {}, context: {trust: candidate}}, expect: ask}
  - {name: lets pass, call: {tool: send, args: {}, context: {trust: verified}}, expect: allow}
"""
TABLE = """\
policy,tool,args.to,context.trust,expect\r
no_sending,send,"Ada, Bob",candidate,ask\r
no_sending,send,,verified,allow\r
"""
ROWS = """\
policy: no_sending   # alone
call: {tool: send}
columns: [context.trust, expect]
rows:
  - [quarantined, ask]
  - [verified, allow]
"""


def test_migrating_rewrites_former_values(tmp_path: Path) -> None:
    """Conditions and tests; comments stay, lint is content again, and nothing is left to do."""
    store = tmp_path / "store"
    assert run(["init", str(store)]) == 0
    path = store / "policies" / "no_sending.yaml"
    path.write_text(POLICY)
    at = ("--store", str(store))
    assert run(["lint", *at, "--select", "MKP012"]) == 1

    assert run(["migrate", *at]) == 0

    data = load_yaml(path.read_text()).data
    assert data["match"]["context.trust"] == "untrusted"
    assert [test["call"]["context"]["trust"] for test in data["tests"]] == ["untrusted", "trusted"]
    assert "# of strangers' words" in path.read_text()
    assert run(["lint", *at, "--select", "MKP012"]) == 0
    assert run(["policy", "test", "no_sending", *at]) == 0


def test_migrating_rewrites_tables_with_the_policies_that_they_test(tmp_path: Path) -> None:
    """A row with a former value failed once its policy was rewritten: the tables of an older store go along with it."""
    store = tmp_path / "store"
    at = ("--store", str(store))
    assert run(["init", str(store)]) == 0
    (store / "policies" / "no_sending.yaml").write_text(POLICY)
    tables = store / "policies" / "tests"
    (tables / "no_sending.csv").write_bytes(TABLE.encode())
    (tables / "sending.yaml").write_text(ROWS)
    (tables / "torn.csv").write_text('policy,tool,expect\nno_sending,send,"ask\n')

    assert run(["migrate", *at]) == 0

    table = TABLE.replace("candidate", "untrusted").replace("verified", "trusted")
    rows = ROWS.replace("quarantined", "untrusted").replace("verified", "trusted")
    assert (tables / "no_sending.csv").read_bytes() == table.encode()
    assert (tables / "sending.yaml").read_text() == rows
    (tables / "torn.csv").unlink()
    assert run(["policy", "test", *at]) == 0
