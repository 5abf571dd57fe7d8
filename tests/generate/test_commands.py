"""``memkit gen`` and ``memkit targets`` at the command line."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run


def ran(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    """Run one command with --json and return its exit code and envelope."""
    capsys.readouterr()
    code = run([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_gen_says_what_it_wrote(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The data names target, place and every file."""
    out = tmp_path / "project"

    code, envelope = ran(["gen", "--target", "react", "--out", str(out), "--store", str(store)], capsys)

    assert code == 0 and envelope["schema"] == "memkit.gen/1"
    assert envelope["data"]["target"] == "react" and envelope["data"]["out"] == str(out)
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert set(envelope["data"]["files"]) == files


def test_gen_writes_beside_the_store_that_it_is_called_in(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The way there begins in the store's repository and leads out of it, which no .gitignore of the store is about."""
    monkeypatch.chdir(store)

    code, envelope = ran(["gen", "--target", "react", "--out", "../project"], capsys)

    assert code == 0 and envelope["diagnostics"] == []
    assert (store.parent / "project" / "README.md").is_file()


def test_gen_writes_into_the_stores_outputs(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --out the project lies in outputs/<target> of the store; a second run does not overwrite it."""
    assert ran(["gen", "virtual-memory", "--target", "react", "--store", str(store)], capsys)[0] == 0
    mine = store / "outputs" / "react" / "README.md"
    mine.write_text("mine")

    code, envelope = ran(["gen", "--target", "react", "--store", str(store)], capsys)

    assert code == 2 and "not empty" in envelope["diagnostics"][0]["message"]
    assert mine.read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--target", "langgrph"], "Did you mean 'langgraph'?"),
        (["--target", "react", "--data", "modle=x"], "Did you mean 'model'?"),
        (["--target", "react", "--data", "model"], "KEY=VALUE"),
        (["--target", "openai-assistants", "--data", "wire=assistant"], "Did you mean 'assistants-v2'?"),
        (["--target", "react", "--data", "model="], "1 to 2000"),
        (["virtual-memry", "--target", "react"], "Did you mean 'virtual-memory'?"),
        ([], "--target"),
    ],
)
def test_bad_usage_is_answered_with_a_suggestion(
    arguments: list[str], words: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unknown targets, keys and skills are exit code 2, and nothing is written."""
    code, envelope = ran(["gen", *arguments, "--store", str(store)], capsys)

    assert code == 2
    assert words in envelope["diagnostics"][0]["message"]
    assert [path.name for path in (store / "outputs").iterdir()] == [".gitkeep"]


def test_gen_needs_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Outside a store the answer is exit code 3 and what to run; a misspelt target is said first."""
    monkeypatch.chdir(tmp_path)
    assert ran(["gen", "--target", "reakt"], capsys)[0] == 2

    code, envelope = ran(["gen", "--target", "react"], capsys)

    assert code == 3 and "memkit init" in envelope["diagnostics"][0]["message"]


def test_gen_says_when_it_adds_to_another_repository(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A place inside another repository is fine and is said; inside the store's own nothing needs saying."""
    other = tmp_path / "other"
    other.mkdir()
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    line = ["gen", "--target", "react", "--store", str(store)]
    capsys.readouterr()

    assert run([*line, "--out", str(other / "agent")]) == 0
    assert str(other) in capsys.readouterr().err
    assert (other / "agent" / "README.md").is_file()

    assert run(line) == 0
    assert capsys.readouterr().err == ""


def test_targets_need_no_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The list says what each target needs: bounded packages, variables, wires and data keys."""
    monkeypatch.chdir(tmp_path)

    code, envelope = ran(["targets"], capsys)

    assert code == 0
    found = {target["name"]: target for target in envelope["data"]["targets"]}
    assert {"langgraph", "openai-agents", "react"} <= found.keys()
    for target in found.values():
        assert target["title"] and target["environment"] and target["wires"] and "model" in target["data"]
        assert all("<" in requirement and ">=" in requirement for requirement in target["requires"])


def test_a_generated_project_is_a_store_for_memkit(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Memkit's own commands work on the project."""
    out = tmp_path / "project"
    assert run(["gen", "--target", "react", "--out", str(out), "--store", str(store)]) == 0

    code, envelope = ran(["memory", "add", "Ada likes tea", "--user", "ada", "--store", str(out)], capsys)

    assert code == 0 and envelope["data"]["decision"] == "admitted"
    assert ran(["memory", "search", "tea", "--user", "ada", "--store", str(out)], capsys)[1]["data"]["results"]


def test_gen_says_what_an_answer_brings_with_it(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A note of the target for an answer is told on standard error, in the envelope, and in the project's README."""
    from memkit.generate import plugins, targets

    note = "The maker of this protocol closed it; bring a server of your own."
    variant = targets.Variant(
        {"model": "old"}, (targets.Variable("MODEL", "An old one."),), ("chat", "responses"), ("It is *old*.",), (note,)
    )
    found = plugins.find_target("react")
    changed = replace(found, variants=(variant,))
    monkeypatch.setattr("memkit.use_cases.generate_project.find_target", lambda name: changed)
    line = ["gen", "--target", "react", "--store", str(store)]

    assert ran([*line, "--out", str(tmp_path / "plain")], capsys)[1]["diagnostics"] == []
    code, envelope = ran([*line, "--out", str(tmp_path / "noted"), "--data", "model=old"], capsys)

    assert code == 0
    assert [(finding["severity"], finding["message"]) for finding in envelope["diagnostics"]] == [("warning", note)]
    readme = (tmp_path / "noted" / "README.md").read_text()
    assert note in readme and "\nIt is *old*.\n" in readme
    assert readme.count("`MODEL` | An old one.") == 1 and readme.count("`MODEL` |") == 1
    assert run([*line, "--out", str(tmp_path / "third"), "--data", "model=old"]) == 0
    assert note in capsys.readouterr().err


def test_memkits_own_targets_keep_the_schema_that_plug_ins_have_to_keep() -> None:
    """What a plug-in is refused for is not in memkit's own."""
    from memkit.generate.targets import RECORD
    from memkit.resources import resource
    from memkit.store.schema import check, load_schema
    from memkit.store.yaml import load_yaml

    records = sorted(resource("templates").glob(f"*/{RECORD}"))
    found = {
        str(path): [finding.message for finding in check(load_yaml(path).data, load_schema("target"))]
        for path in records
    }

    assert found and not any(found.values()), found


def test_the_wire_whose_makers_closed_it_is_rendered_with_that_said(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error, as a diagnostic, and on the project's first page; the other wire has nothing to say."""
    line = ["gen", "--target", "openai-assistants", "--store", str(store)]
    assert ran([*line, "--out", str(tmp_path / "new")], capsys)[1]["diagnostics"] == []

    code, envelope = ran([*line, "--out", str(tmp_path / "old"), "--data", "wire=assistants-v2"], capsys)

    assert code == 0
    told = " ".join(finding["message"] for finding in envelope["diagnostics"])
    for text in (told, (tmp_path / "old" / "README.md").read_text()):
        assert "OpenAI and Azure closed the Assistants API on 2026-08-26" in text
    assert run([*line, "--out", str(tmp_path / "third"), "--data", "wire=assistants-v2"]) == 0
    assert "2026-08-26" in capsys.readouterr().err
