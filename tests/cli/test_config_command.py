"""``memkit config``: settings can be read and changed, and the file stays a person's file."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from memkit.cli.main import run
from memkit.store.config import load_settings
from memkit.store.manifest import meanings
from tests.written.settings_page import settings_page


def test_a_setting_is_changed_in_place(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Comments and order of memkit.yaml stay, the change is one commit, and it holds from now on."""
    path = store / "memkit.yaml"
    comments = [line for line in path.read_text().splitlines() if line.startswith("#")]

    assert run(["config", "set", "context.max_tokens", "1234", "--store", str(store)]) == 0

    assert [line for line in path.read_text().splitlines() if line.startswith("#")] == comments
    subject = subprocess.run(
        ["git", "log", "-1", "--format=%s"], cwd=store, capture_output=True, text=True, check=True
    ).stdout
    assert subject.strip() == "Set context.max_tokens"
    capsys.readouterr()
    run(["config", "show", "--json", "--store", str(store)])
    settings = {item["key"]: item for item in json.loads(capsys.readouterr().out)["data"]["settings"]}
    assert settings["context.max_tokens"] == {"key": "context.max_tokens", "value": 1234, "origin": "memkit.yaml"}


def test_a_word_that_others_read_as_a_truth_value_is_quoted(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What memkit writes its own lint finds nothing in."""
    assert run(["config", "set", "privacy.seal", "off", "--store", str(store)]) == 0

    assert 'seal: "off"\n' in (store / "memkit.yaml").read_text(encoding="utf-8")
    capsys.readouterr()
    assert run(["lint", str(store / "memkit.yaml"), "--store", str(store)]) == 0


def test_a_password_in_an_address_is_not_shown_again(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither as it is set and taken out, nor in what is said of the change."""
    for words in (
        ["config", "set", "backends.archive", "postgresql://memkit:opensesame@db.example/memory"],
        ["config", "unset", "backends.archive"],
        ["config", "unset", "backends.archive", "--json"],
        ["diff", "HEAD~2..HEAD~1", "--json"],
        ["review", "HEAD~1..HEAD", "--json"],
    ):
        assert run([*words, "--store", str(store)]) in (0, 1)

    assert "opensesame" not in "".join(capsys.readouterr())


def test_every_setting_is_explained(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each has a meaning and the values it takes, and the page of the docs says the same."""
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text(encoding="utf-8")

    explained = meanings()

    assert [one.key for one in explained] == [item.key for item in load_settings(store, {})]
    assert all(one.meaning.endswith(".") and one.takes for one in explained)
    assert page == settings_page()
    assert run(["config", "show", "git.commit", "--json", "--store", str(store)]) == 0
    assert json.loads(capsys.readouterr().out)["data"] == {
        "key": "git.commit",
        "value": "batch",
        "origin": "default",
        "meaning": "When the archive is committed: at each change, in batches, or by hand.",
        "takes": "each, batch, manual",
        "default": "batch",
    }
    assert run(["config", "show", "git.comit", "--store", str(store)]) == 2
    assert "Did you mean 'git.commit'?" in capsys.readouterr().err
    assert run(["config", "show", "xyz", "--store", str(store)]) == 2
    assert "'memkit config show' lists them" in capsys.readouterr().err
    assert run(["config", "show", "git", "--json", "--store", str(store)]) == 0
    assert {item["key"].partition(".")[0] for item in json.loads(capsys.readouterr().out)["data"]["settings"]} == {
        "git"
    }


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("context.max_tokns", "5", "context.max_tokens"),
        ("context.max_tokens", "many", "context.max_tokens"),
        ("tools", "x", "several parts"),
        ("format", "3", "memkit migrate"),
        ("context.summary_model", "opnai:small", "Did you mean 'openai'?"),
    ],
)
def test_a_wrong_change_changes_nothing(
    key: str, value: str, complaint: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown key or a value that does not fit is bad usage, and the file stays as it was."""
    before = (store / "memkit.yaml").read_bytes()

    assert run(["config", "set", key, value, "--store", str(store)]) == 2

    assert complaint in capsys.readouterr().err
    assert (store / "memkit.yaml").read_bytes() == before


def test_a_setting_is_taken_back(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its default holds again, in one commit; what stood beside it stays, and what is not there is left alone."""
    path = store / "memkit.yaml"
    before = path.read_text()
    path.write_text(before + "# the budget\ncontext:\n  max_tokens: 1234   # small\n  # why\n  keep_recent: 7\n# end\n")
    subprocess.run(["git", "commit", "-qam", "Settings"], cwd=store, check=True)

    assert run(["config", "unset", "context.max_tokens", "--json", "--store", str(store)]) == 0
    data = json.loads(capsys.readouterr().out)["data"]
    assert (data["key"], data["before"], data["after"]) == ("context.max_tokens", 1234, 8000) and data["commit"]
    assert path.read_text() == before + "# the budget\ncontext:\n  # why\n  keep_recent: 7\n# end\n"
    assert run(["config", "unset", "context.keep_recent", "--store", str(store)]) == 0
    assert "context.keep_recent: 7 → 5 (default)" in capsys.readouterr().out
    assert path.read_text() == before + "# the budget\n# end\n"
    assert run(["config", "unset", "context.keep_recent", "--store", str(store)]) == 0
    assert "context.keep_recent is not in memkit.yaml." in capsys.readouterr().out
    assert not subprocess.run(["git", "status", "--short"], cwd=store, capture_output=True, check=True).stdout


def test_a_variable_of_the_wrong_kind_says_what_it_takes(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In words of a person, and not the name of a type."""
    monkeypatch.setenv("MEMKIT_CONTEXT_MAX_TOKENS", "many")

    assert run(["config", "show", "--store", str(store)]) == 2

    assert "MEMKIT_CONTEXT_MAX_TOKENS must be a whole number, not 'many'." in capsys.readouterr().err


def test_a_duration_beyond_all_dates_keeps_everything(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A setting that nobody can outlive is no error of a talk."""
    for key in ("recall.ttl", "working.ttl", "checkpoint.ttl", "forget.max_age", "audit.keep"):
        assert run(["config", "set", key, "99999999999d", "--store", str(store)]) == 0

    for words in (["chat", "--consent", "-p", "My cat is called Tom"], ["memory", "sweep"]):
        assert run([*words, "--user", "ada", "--store", str(store)]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("key", "complaint"),
    [
        ("context.max_tokns", "Did you mean 'context.max_tokens'?"),
        ("format", "is not a setting that can be unset"),
    ],
)
def test_what_a_store_needs_is_not_taken_out(
    key: str, complaint: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bad usage, in one line, and the file stays as it was."""
    before = (store / "memkit.yaml").read_bytes()

    assert run(["config", "unset", key, "--store", str(store)]) == 2

    assert complaint in capsys.readouterr().err
    assert (store / "memkit.yaml").read_bytes() == before


def test_what_another_provider_left_is_named_and_harms_nobody(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The model that needs no address is tested as such, and the leftovers have a command each."""
    for key, value in {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "key_variable": "SOME_KEY"}.items():
        assert run(["config", "set", key, value, "--store", str(store)]) == 0
    capsys.readouterr()

    assert run(["config", "unset", "provider", "--store", str(store)]) == 0
    shown = capsys.readouterr().out
    run(["doctor", "--store", str(store), "--json"])
    checks = {one["name"]: one for one in json.loads(capsys.readouterr().out)["data"]["checks"]}

    assert "memkit config unset base_url" in shown and "memkit config unset key_variable" in shown
    assert checks["model"]["ok"], checks["model"]
