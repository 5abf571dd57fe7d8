"""A session that goes on in another process still knows what it was shown: repeating that is no new evidence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from memkit.cli.main import run

Captured = pytest.CaptureFixture[str]


def chat(capsys: Captured, script: Path, *turns: object) -> dict[str, object]:
    """Let the scripted model take its turns on one message and return the answer."""
    script.write_text(yaml.safe_dump(list(turns)), encoding="utf-8")
    words = ["chat", "--user", "ada", "--session", "s1", "--provider", f"scripted:{script}", "-p", "Go on, please"]
    capsys.readouterr()
    assert run([*words, "--json"]) == 0
    data: dict[str, object] = json.loads(capsys.readouterr().out)["data"]
    return data


def test_a_repetition_in_a_later_process_is_no_evidence(
    store: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record stays a candidate of one source, and the gate says why."""
    monkeypatch.chdir(store)
    text = "Ada rides a red bicycle to the harbour"
    run(["consent", "grant", "--user", "ada"])
    (tmp_path / "facts.jsonl").write_text(json.dumps({"text": text, "user_id": "ada"}) + "\n", encoding="utf-8")
    assert run(["memory", "import", str(tmp_path / "facts.jsonl"), "--format", "memkit", "--user", "ada"]) == 0
    search = {"tool": "archival_memory_search", "args": {"query": "bicycle harbour"}}
    chat(capsys, tmp_path / "one.yaml", search, {"text": "She rides."})
    before = [path.read_bytes() for path in sorted((store / "archive").rglob("*.jsonl"))]

    insert = {"tool": "archival_memory_insert", "args": {"text": text}}
    told = chat(capsys, tmp_path / "two.yaml", insert, {"text": "Noted."})

    assert "recalled" in json.dumps(told["memory_operations"])
    assert [path.read_bytes() for path in sorted((store / "archive").rglob("*.jsonl"))] == before
