"""The page about policies: what it shows is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memkit.policies.files import load_policies
from memkit.policies.proving import TABLES, load_tables, prove_set
from memkit.runtime.guard.core import Guard
from memkit.runtime.guard.proof import prove
from memkit.use_cases.policy_proofs import mutate_policies

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "policies.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(yaml|csv)\n(.*?)^```$", PAGE, re.M | re.S)
TABLE = re.compile(r"^\| \w+ \| a policy on `(.+)` \|\n\|---\|---\|\n((?:\|.*\|\n)+)", re.M)


def claims() -> list[tuple[str, str, str]]:
    """Return condition, text and decision of every row that shows what a condition does."""
    found = []
    for condition, rows in TABLE.findall(PAGE):
        for text, decision in re.findall(r"^\| `(.+)` \| (\w+) \|$", rows, re.M):
            found.append((condition, text, decision))
    return found


@pytest.mark.parametrize(("condition", "text", "decision"), claims())
def test_what_the_page_says_about_a_text_is_so(condition: str, text: str, decision: str) -> None:
    """Each row of its tables is decided as it says."""
    from memkit.store.yaml import load_yaml

    policy = {
        "name": "probe", "description": "d", "rule": "r", "enforcement": "hard", "effect": "ask",
        "match": {"args.x": load_yaml(f"c: {condition}\n").data["c"]},
    }  # fmt: skip

    assert Guard([policy]).decide("any", {"x": text}, {}).decision == decision


def test_the_examples_of_the_page_prove_themselves(tmp_path: Path) -> None:
    """The policy passes its tests, the tables load and pass, and every part is reached."""
    (tmp_path / TABLES).mkdir(parents=True)
    (policy_kind, policy), (csv_kind, rows), (yaml_kind, table) = BLOCKS
    (tmp_path / "policies/no_mass_mail.yaml").write_text(policy)
    (tmp_path / TABLES / "mail.csv").write_text(rows)
    (tmp_path / TABLES / "mail.yaml").write_text(table)

    policies = load_policies(tmp_path / "policies")
    proof = prove_set(policies, load_tables(tmp_path))

    assert [policy_kind, csv_kind, yaml_kind] == ["yaml", "csv", "yaml"]
    assert all(result.passed for result in proof.results) and len(proof.results) == 9
    assert prove(policies[0].data).unreached == ()
    assert [report.survivors for report in mutate_policies(proof)] == [()]
    assert len(claims()) == 13
