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
