"""A user without a home directory, as in a container that was started as anybody: one line, and never a trace."""

from __future__ import annotations

import pwd
from pathlib import Path

import pytest

from memkit.cli.main import run


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the home directory away: no variable names it, and no entry of the user database."""

    def unknown(who: object) -> None:
        raise KeyError(who)

    for name in ("HOME", "MEMKIT_KEYS", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr(pwd, "getpwnam", unknown)


@pytest.mark.parametrize(
    "words",
    [
        "memory list", "memory add tea --user ada", "chat --user ada -p hi", "trust --yes", "config set user ada",
        "token new --user ada --scope read", "fsck", "mcp install --client cursor --user ada", "lint", "doctor",
    ],
)  # fmt: skip
@pytest.mark.usefixtures("nobody")
def test_without_a_home_it_works_or_says_what_is_missing(
    words: str, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Set to a folder, the variable that the line names is enough."""
    code = run([*words.split(), "--store", str(store)])
    printed = capsys.readouterr()
    assert code in (0, 1) or "set HOME" in printed.err.replace("Set", "set")

    monkeypatch.setenv("MEMKIT_KEYS", str(tmp_path / "keys"))
    if "mcp" not in words:  # a client's settings lie in the home
        assert run([*words.split(), "--store", str(store)]) == 0


@pytest.mark.parametrize(
    "words", ["memory list --store ~nobody-of-this-name/m", "init ~nobody-of-this-name/m", "lint ~nobody-of-this-name"]
)
def test_the_home_of_somebody_who_is_not_here_is_bad_usage(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A shell does not look after an equals sign or inside quotes."""
    assert run(words.split()) == 2
    assert "Write the path in full" in capsys.readouterr().err


def test_a_home_that_is_relative_is_none(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Keys and trust would lie in whatever folder a command runs in, where git may take them."""
    for name in ("MEMKIT_KEYS", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "at-home")
    monkeypatch.chdir(tmp_path)

    assert run(["token", "new", "--user", "ada", "--scope", "read", "--store", str(store)]) == 3
    assert "Set HOME" in capsys.readouterr().err
    assert not (tmp_path / "at-home").exists()
