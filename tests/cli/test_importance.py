"""How much a record matters when nobody says: what memkit.yaml says, and more for an outcome, on every way in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memkit import open_store
from memkit.cli.main import run


def test_every_way_in_takes_the_settings_importance_and_more_for_an_outcome(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command line, values, imports, chat and the front door agree."""
    at = ["--store", str(store)]
    assert run(["config", "set", "importance", "0.4", *at]) == 0
    assert run(["memory", "add", "The deploy failed", "--type", "outcome", "--user", "ada", *at]) == 0
    assert run(["memory", "add", "Tests ran", "--type", "outcome", "--importance", "0.2", "--user", "ada", *at]) == 0
    assert run(["memory", "put", "door", "4 left", "--user", "ada", *at]) == 0
    lines = [{"text": "The backup was restored", "type": "outcome"}, {"text": "Ada owns a boat"}]
    lines.append({"text": "Ada owns a kite", "importance": 0.9})
    file = tmp_path / "lines.jsonl"
    file.write_text("".join(json.dumps({**line, "user_id": "ada"}) + "\n" for line in lines))
    assert run(["memory", "import", str(file), "--format", "memkit", "--mine", *at]) == 0
    assert run(["chat", "--user", "ada", "--consent", "-p", "My cat is called Tom.", *at]) == 0
    with open_store(store) as held:
        held.add("The rollout worked", user="ada", type="outcome")
        held.add("Ada rows on Sundays", user="ada")
    capsys.readouterr()
    assert run(["memory", "list", "--user", "ada", "--json", *at]) == 0
    records = json.loads(capsys.readouterr().out)["data"]["records"]

    assert {one["text"]: one["importance"] for one in records} == {
        "The deploy failed": 0.7, "Tests ran": 0.2, "4 left": 0.4, "The backup was restored": 0.7,
        "Ada owns a boat": 0.4, "Ada owns a kite": 0.9, "My cat is called Tom": 0.4, "The rollout worked": 0.7,
        "Ada rows on Sundays": 0.4,
    }  # fmt: skip
