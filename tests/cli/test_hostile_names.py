"""Names that people and imports choose are shown harmless: no escape, no forged line, no reordering."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memkit.cli.main import run

Captured = pytest.CaptureFixture[str]
NASTY = "eve\x1b[31m\n       status  forged\u202egnp\u2028x"
ID = "id\x1b]0;title\x07\nforged"


@pytest.fixture
def held(store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a store that holds a record whose names, labels and id are hostile."""
    monkeypatch.chdir(store)
    line = {"id": ID, "text": "Eve paints boats\n       status  forged", "user_id": NASTY, "tags": [NASTY]}
    line |= {"session_id": NASTY, "agent_id": NASTY, "source_url": NASTY}
    line |= {"relation": {"subject": NASTY, "predicate": NASTY, "object": "<script>alert(1)</script>"}}
    line |= {"type": "fact", "trust": "verified", "actor": "person", "created_at": "2026-01-02T03:04:05Z"}
    shard = store / "archive" / "2026-01" / "elsewhere.jsonl"  # as a merge brings it, past every gate
    shard.parent.mkdir(parents=True)
    shard.write_text(json.dumps(line) + "\n", encoding="utf-8")
    return store


@pytest.mark.parametrize(
    "words",
    [
        ["memory", "get", ID],
        ["memory", "list"],
        ["memory", "list", "--user", NASTY],
        ["memory", "list", "--user", NASTY + "2"],
        ["memory", "search", "paints boats", "--user", NASTY, "--session", NASTY, "--explain"],
        ["memory", "confirm", ID],
        ["memory", "update", ID, "--tag", NASTY + "3"],
        ["memory", "blame", ID],
        ["memory", "why", ID],
        ["memory", "forget", ID, "--reason", NASTY],
        ["memory", "stats", "--user", NASTY],
        ["memory", "revoke", "--session", NASTY, "--dry-run"],
        ["memory", "sweep", "--dry-run"],
        ["memory", "export", "--user", NASTY, "--out", "out.jsonl"],
        ["memory", "erase", "--user", NASTY, "--dry-run"],
        ["memory", "allow", "no such value", "--user", NASTY],
        ["audit"],
        ["consent", "grant", "--user", NASTY],
        ["consent", "list"],
        ["core", "history", "--user", NASTY],
        ["chat", "-c", "--user", NASTY + "4", "-p", "hi"],
        ["graph", "show", "--user", NASTY],
        ["graph", "show", "--user", NASTY, "--mermaid"],
        ["graph", "show", "--user", NASTY, "--svg"],
        ["graph", "around", NASTY + "5", "--user", NASTY],
        ["memory", "reflect", "--dry-run"],
    ],
)
def test_hostile_names_are_shown_harmless(words: list[str], held: Path, capsys: Captured) -> None:
    """No command prints an escape sequence, a character that reorders, or a line that a name made up."""
    capsys.readouterr()
    run(words)
    printed = "".join(capsys.readouterr())

    assert not {"\x1b", "\x07", "\u202e", "\u2028"} & set(printed)
    assert not [line for line in printed.splitlines() if line.startswith(("       status  forged", "forged"))], printed


def test_a_record_of_several_lines_forges_no_field(held: Path, capsys: Captured) -> None:
    """Its lines are marked as what was told, and the fields stand below."""
    run(["memory", "forget", ID])
    capsys.readouterr()
    run(["memory", "get", ID])
    lines = capsys.readouterr().out.splitlines()

    assert lines[:2] == ["> Eve paints boats", ">        status  forged"]
    assert [line.split()[1] for line in lines if line.split()[:1] == ["status"]] == ["retired"]
