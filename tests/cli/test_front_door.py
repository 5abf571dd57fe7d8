"""The manners of the command line: one envelope, one line for an error, and exit codes that can be scripted against."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memkit.cli import main as front_door
from memkit.cli.main import COMMANDS, run

HEAVY = {"yaml", "ruamel", "jinja2", "git", "rank_bm25", "numpy", "tiktoken", "copier", "asyncio", "sqlite3"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    """The help and the version come without any library but click."""
    program = (
        f"import sys; from memkit.cli.main import run; run({arguments!r}); "
        f"print(sorted(name for name in sys.modules if name in {HEAVY!r}), file=sys.stderr)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stderr.strip() == "[]"


def test_completion_imports_nothing_heavy() -> None:
    """Completing a command name comes without any library but click."""
    environment = os.environ | {"_MEMKIT_COMPLETE": "bash_complete", "COMP_WORDS": "memkit me", "COMP_CWORD": "1"}
    program = (
        "import sys; from memkit.cli.main import run; run([]); "
        f"print(sorted(name for name in sys.modules if name in {HEAVY!r}), file=sys.stderr)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment)

    assert "memory" in done.stdout
    assert done.stderr.strip() in ("[]", "")


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_in_the_table_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command of the table can be imported and explains itself."""
    assert run([name, "--help"]) == 0
    assert "Usage: memkit " + name in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [
        (["memry"], "'memory'"),
        (["memory", "serch", "x"], "search"),
        (["memory", "add", "x", "--usr", "a"], "--user"),
        (["memory", "add", "x", "--type", "preferense"], "'preference'"),
    ],
)
def test_a_misspelt_word_gets_a_suggestion(
    arguments: list[str], suggestion: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands, options and choice values each say what was probably meant, and exit 2."""
    assert run(arguments) == 2
    assert suggestion in capsys.readouterr().err


def test_a_usage_error_is_an_envelope_with_json(capsys: pytest.CaptureFixture[str]) -> None:
    """A script that asked for JSON gets JSON, also when its own call was wrong."""
    assert run(["memory", "get", "--json"]) == 2

    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "memkit.memory.get/1"
    assert answer["ok"] is False
    assert answer["data"] is None
    assert answer["diagnostics"][0]["code"] == "usage"


@pytest.mark.parametrize("place", ["nowhere", __file__], ids=["missing", "file"])
def test_a_store_named_first_does_not_hide_the_command(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong with it is said in the envelope of the command that would have used it."""
    assert run(["--store", place, "--json", "memory", "list"]) in (2, 3)

    assert json.loads(capsys.readouterr().out)["schema"] == "memkit.memory.list/1"


def test_without_a_store_a_command_says_where_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No store here is exit 3 and names the command that makes one."""
    monkeypatch.chdir(tmp_path)

    assert run(["memory", "list"]) == 3
    assert "memkit init" in capsys.readouterr().err


@pytest.mark.parametrize("written", ["format: 99\n", "name: [unclosed\n"], ids=["newer", "damaged"])
@pytest.mark.parametrize(
    "arguments",
    [["memory", "list"], ["policy", "check", "--tool", "shell"], ["skill", "list"], ["domain", "list"]],
    ids=" ".join,
)
def test_no_command_answers_for_a_store_that_it_cannot_read(
    arguments: list[str], written: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a newer memkit wrote is not judged by an older one, and a damaged store allows no call."""
    (tmp_path / "memkit.yaml").write_text(written, encoding="utf-8")

    assert run([*arguments, "--store", str(tmp_path)]) == (3 if "format" in written else 2)
    assert "memkit.yaml" in capsys.readouterr().err


def test_an_error_is_one_line_whatever_it_quotes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder's name with a line break would make two, of which the second looks like memkit's own."""
    assert run(["fsck", "--store", str(tmp_path / "a\nmemkit: all is well")]) == 3

    told = capsys.readouterr().err
    assert told.count("\n") == 1 and "a\\nmemkit: all is well is not a store" in told


def wrapped(cause: BaseException) -> RuntimeError:
    """Return the error that Python 3.11 raises for ``cause`` while it makes a class."""
    error = RuntimeError("Error calling __set_name__ on 'cached_property' instance")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt(), 130),
        (wrapped(KeyboardInterrupt()), 130),
        (RuntimeError("boom"), 70),
        (wrapped(KeyError()), 70),
    ],
)
def test_interrupts_and_bugs_have_their_own_codes(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An interrupt is 130; a bug is 70, one line, and a trace only with --debug."""

    def failing(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(front_door.cli, "main", failing)

    assert run(["memory", "list"]) == code
    printed = capsys.readouterr().err
    assert "Traceback" not in printed
    assert len(printed.strip().splitlines()) == 1


@pytest.mark.parametrize("arguments", [["memory", "list"], ["init", "notes"], ["lint", "--json"]])
def test_a_folder_that_is_gone_is_said(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another program took away where this one runs, and what to do is clear."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    assert run(arguments) == 3
    assert "no longer exists" in "".join(capsys.readouterr())


@pytest.mark.parametrize("arguments", [["memory", "list"], ["memory", "list", "--open"], ["graph", "show"]])
def test_an_empty_name_in_the_environment_is_nobody_and_not_everybody(
    arguments: list[str], store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What looks at everybody's memory where no user is set says so of a user that is set and empty."""
    monkeypatch.setenv("MEMKIT_USER", "")

    assert run([*arguments, "--store", str(store)]) == 2
    assert "Whose memory?" in capsys.readouterr().err


IN_A_CLASS = """
class Named:
    def __set_name__(self, *_):
        raise KeyboardInterrupt
class Made:
    name = Named()
"""


@pytest.mark.parametrize("interrupted", ["raise KeyboardInterrupt", IN_A_CLASS])
def test_an_interrupt_while_the_program_is_loaded_is_one_too(interrupted: str, tmp_path: Path) -> None:
    """Whoever presses Ctrl-C at once gets exit 130 and no trace."""
    (tmp_path / "click.py").write_text(interrupted, encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "memkit", "--help"], env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted.\n")


def test_a_closed_pipe_is_no_error(store: Path) -> None:
    """``memkit … | head -1`` ends quietly when the reader leaves."""
    command = f"{sys.executable} -m memkit config show --store {store} | head -1"

    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)

    assert done.returncode == 0
    assert done.stderr == ""


def test_text_with_terminal_escapes_is_shown_harmlessly(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An escape sequence in a message reaches neither standard output nor standard error as such."""
    assert run(["memory", "get", "\x1b[31mred\x1b]0;title\x07", "--store", str(store)]) == 1

    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err
    assert "\\x1b" in printed.err
