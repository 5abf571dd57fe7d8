"""``memkit policy search`` finds policies by their words, tools and conditions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memkit.cli.main import run


def found(store: Path, query: str, capsys: pytest.CaptureFixture[str], *more: str) -> list[str]:
    """Return the names that a search finds."""
    assert run(["policy", "search", query, "--json", *more, "--store", str(store)]) == 0
    return [hit["name"] for hit in json.loads(capsys.readouterr().out)["data"]["results"]]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("deploy to production", "staging_first_deployment"),
        ("drop table", "destructive_command_approval"),
        ("kubectl", "staging_first_deployment"),
        ("untrusted recall", "untrusted_recall_approval"),
        ("DESTRUCTIVE", "destructive_command_approval"),
    ],
)
def test_words_of_rule_and_match_find_a_policy(
    query: str, first: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a person remembers of it may be the rule, a program or a tool."""
    assert found(store, query, capsys)[0] == first


def test_nothing_found_and_nothing_asked_differ(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown word finds nothing; no word is bad usage; -k bounds the list."""
    assert found(store, "zebra", capsys) == []
    assert len(found(store, "policy approval production memory", capsys, "-k", "1")) == 1
    assert run(["policy", "search", "  ", "--store", str(store)]) == 2
    for path in (store / "policies").glob("*.yaml"):
        path.unlink()
    assert found(store, "deploy", capsys) == []
