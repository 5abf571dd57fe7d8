"""The same commands on a store in files and on one in PostgreSQL: the same answers, but for ids, times and places."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run

ID = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{26}\b")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)|\d{8}T\d{6}Z?")
PLACES = (
    "files", "path", "line", "commit", "commits", "author", "committed_at", "subject", "batch",
    "session", "session_id", "used", "recalled", "messages",
)  # fmt: skip
"""Keys that say where lines lie, in files under git or nowhere that a person could open, and what chance names."""
CHANCE = re.compile(r"\b[0-9a-f]{12,64}\b")
SCRIPTS: dict[str, list[str]] = {
    "what is remembered": [
        "memory add 'Ann prefers espresso over latte' --user ann --tag coffee",
        "memory add 'The office opens at nine' --user ann --scope shared",
        "memory add 'Ann prefers espresso over latte' --user ann",
        "memory add 'My key is sk-ant-REDACTED' --user ann",
        "memory add '' --user ann",
        "memory put editor 'vim with tabs' --user ann",
        "memory get-value editor --user ann",
        "memory get-value nothing --user ann",
        "memory search 'What does Ann prefer?' --user ann --explain",
        "memory search office --user bob",
        "memory search espresso --user bob",
        "memory list --user ann",
        "memory get {0} --user ann",
        "memory get {0} --user bob",
        "memory stats --user ann",
        "core set human 'Name: Ann' --user ann",
        "core show --user ann",
        "core history --user ann",
        "audit --user ann --event write",
    ],
    "what is said of it later": [
        "memory add 'Ann lives in Lisbon' --user ann",
        "memory add 'Ann has a red bicycle' --user ann",
        "memory add 'The office opens at nine' --user ann --scope shared",
        "memory add 'Ann sings in a choir on Mondays' --user ann",
        "memory confirm {2} --user bob",
        "memory supersede {0} 'Ann lives in Porto' --user ann",
        "memory update {1} --tag vehicle --user ann",
        "memory contradict {1} --user ann",
        "memory reject {1} --user ann",
        "memory add 'Ann has a red bicycle' --user ann",
        "memory allow {1} --user ann",
        "memory forget {3} --user ann",
        "memory restore {3} --user ann",
        "memory why {0} --user ann",
        "memory why {3} --user ann",
        "memory search 'Where does Ann live?' --user ann --as-of 2200-01-01",
        "memory search 'Where does Ann live?' --user ann --as-of 2001-01-01",
        "memory list --user ann --status rejected",
        "memory get {0} --user ann",
        "memory merge {3} {4} --text 'Ann sings in Porto on Mondays' --user ann",
        "memory list --user ann",
        "lint",
        "fsck",
    ],
    "what repeats and what contradicts": [
        "memory add 'The deadline of the Apollo project is in March' --user ann",
        "memory add 'The deadline of the Apollo project is in June' --user ann",
        "memory list --user ann --status contested",
        "memory stats --user ann",
        "memory add 'Ann likes short answers' --user ann --confidence 0.2",
        "memory add 'The fair was on 3 March' --user ann --valid-until 2020-01-01T00:00:00Z",
        "commit",
        "memory sweep --user ann --dry-run",
        "memory sweep --user ann",
        "commit",
        "memory consolidate --user ann --dry-run",
        "memory reflect --user ann --dry-run",
        "graph --user ann",
        "memory list --user ann",
    ],
    "what the machine says": [
        "memory add 'Ann has a cat' --user ann",
        "consent grant --user ann",
        "consent list --user ann",
        "consent withdraw --user ann",
        "memory list --user ann",
        "index",
        "index rebuild",
        "memory search cat --user ann",
        "sessions --user ann",
        "commit",
        "consent grant --user ann",
        "chat --user ann -p 'I have a dog called Rex'",
        "chat --user ann -p 'Do I have a cat?'",
        "memory blame {0} --user ann",
        "memory why {0} --user ann",
        "audit --user ann",
        "memory erase --user ann --dry-run --yes",
        "doctor",
        "export --user ann --dry-run",
    ],
    "what goes out and comes in": [
        "memory add 'Ann prefers espresso' --user ann",
        "memory add 'The office opens at nine' --user ann --scope shared",
        "memory supersede {0} 'Ann prefers tea' --user ann",
        "core set human 'Name: Ann' --user ann",
        "memory export --user ann --out STORE/../out.jsonl --force",
        "memory forget {2} --user ann",
        "memory import STORE/../out.jsonl --user ann",
        "memory import STORE/../out.jsonl --user bob",
        "memory import STORE/../out.jsonl --user ann --restore",
        "memory list --user ann",
        "memory export --user ann",
        "memory import STORE/../none.jsonl --user ann",
        "memory blame {0} --user ann",
        "memory snapshot --branch kept",
        "memory forget {1} --user ann",
        "memory search office --user ann --at kept",
        "memory search office --user ann",
    ],
    "what is sealed": [
        "config privacy.seal user",
        "memory add 'Ann prefers espresso' --user ann",
        "memory add 'Ann has a cat' --user ann",
        "memory search espresso --user ann",
        "memory supersede {0} 'Ann prefers tea' --user ann",
        "memory export --user ann",
        "key list",
        "key destroy --user ann --yes",
        "memory search tea --user ann",
        "memory list --user ann",
        "fsck",
    ],
}  # fmt: skip

Told = tuple[int, Any, str]


@pytest.fixture
def told(store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Told]]:
    """Return a function that runs a script and returns of each command what it says, told without chance and places."""
    monkeypatch.setenv("MEMKIT_PERSON", "1")

    def play(script: list[str], root: Path) -> list[Told]:
        names: dict[str, str] = {}
        ids: list[str] = []
        said: list[Told] = []
        for line in script:
            capsys.readouterr()
            code = run([*shlex.split(line.format(*ids).replace("STORE", str(root))), "--json", "--store", str(root)])
            out, err = capsys.readouterr()
            found = json.loads(out) if out.startswith("{") else out
            if line.startswith(("memory add", "memory supersede", "memory merge")) and isinstance(found, dict):
                id = (found.get("data") or {}).get("id")
                ids += [id] if id and id not in ids else []
            said.append((code, plain(found, names, root), plain(err, names, root)))
        return said

    return play


def plain(value: Any, names: dict[str, str], root: Path) -> Any:
    """Return what was said with ids by their turn, and without times, digests and places."""
    match value:
        case dict():
            return {key: plain(one, names, root) for key, one in value.items() if key not in PLACES}
        case list():
            return [plain(one, names, root) for one in value]
        case float():
            return round(value, 3)
        case str():
            text = ID.sub(lambda match: names.setdefault(match[0], f"#{len(names)}"), value.replace(str(root), "STORE"))
            return CHANCE.sub("CHANCE", TIME.sub("TIME", text))
    return value


@pytest.mark.parametrize("name", SCRIPTS)
def test_commands_say_the_same_wherever_the_archive_lies(
    name: str, told: Callable[..., list[Told]], store: Path, tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command of a script: its exit code, its envelope and what it says on the side."""
    other = shutil.copytree(store, tmp_path / "other", symlinks=True)
    on_files = told(SCRIPTS[name], store)
    monkeypatch.setenv("MEMKIT_BACKENDS_ARCHIVE", url)
    on_server = told(SCRIPTS[name], other)

    for line, files, server in zip(SCRIPTS[name], on_files, on_server, strict=True):
        assert server == files, line
