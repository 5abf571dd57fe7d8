"""Every help page shows two examples, and each of them does what it says in a store that is made for it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from memkit.cli import main
from memkit.cli.first_words import FirstWordsCommand
from memkit.cli.output import EXAMPLES, examples
from tests.forked import program

HERE = Path(__file__).parent
NOT_RUN = {
    "memkit backend migrate --url postgresql://owner@db/memory --role agent --dry-run": "it asks a PostgreSQL server",
    "memkit demo": "it plays the whole tour with a project's tests, which tests/cli/test_demo.py has it do",
    "memkit demo --keep ../tour": "the same",
    "memkit backend migrate --url postgresql://owner@db/memory --role agent": "it makes tables in a PostgreSQL server",
    "memkit backend move --to '$MEMORY_URL' --dry-run": "it asks a PostgreSQL server; tests/backends has one",
    "memkit backend move --tier working --to redis://cache:6379/0 --yes": "it asks a Redis server",
}
"""Examples that are not run here, and why: what needs a server that no test of this folder has, and the tour."""


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield every command that help tells of, by its words."""

    def below(words: tuple[str, ...], command: click.Command) -> Iterator[tuple[str, click.Command]]:
        yield " ".join(words), command
        context = click.Context(command)
        if isinstance(command, click.Group):
            inner = [(name, command.get_command(context, name)) for name in command.list_commands(context)]
        elif isinstance(command, FirstWordsCommand):
            inner = [(word, command.command_of(word)) for word in command.words]
        else:
            inner = []
        for name, one in inner:
            if one is not None and not one.hidden:
                yield from below((*words, name), one)

    yield from below((), main.cli)


COMMANDS = dict(commands())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the room of the examples: a store, a home, programs, and what is read from elsewhere; return its copy."""
    base = tmp_path_factory.mktemp("examples")
    programs, home, room = base / "programs", base / "home", base / "room"
    programs.mkdir()
    home.mkdir()
    (programs / "memkit").symlink_to(program())
    script = [HERE / "example_store.sh", room, HERE / "example_memories.jsonl"]
    done = subprocess.run(["bash", *script], env=environment(base), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-2000:]
    shutil.copytree(base, _kept(base), symlinks=True)
    return base


def _kept(base: Path) -> Path:
    """Return where the copy of a room lies; a worker that leaves this file and comes back makes another room."""
    return base.with_name(f"{base.name}-kept")


def environment(base: Path) -> dict[str, str]:
    """Return the environment in which the examples run: theirs alone."""
    return {
        **os.environ, "HOME": str(base / "home"), "PATH": f"{base / 'programs'}:{os.environ['PATH']}",
        "MEMKIT_INSTALL": "memkit-agent", "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER")
           for key, value in (("NAME", "Ada Tester"), ("EMAIL", "ada@example.org"))},
    }  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_page_shows_two_examples(command: str) -> None:
    """They stand below the options, whole, and are of that command or of one of its own."""
    shown = examples(command)
    text = COMMANDS[command].get_help(click.Context(COMMANDS[command], info_name=f"memkit {command}".strip()))

    assert len(shown) == 2
    assert [line.strip() for line in text.partition("Examples:\n")[2].splitlines()] == shown
    assert all(f"memkit {command}".strip() in line for line in shown) or isinstance(COMMANDS[command], click.Group)


def test_no_example_is_of_a_command_that_is_gone() -> None:
    """A title that names no command would never be shown."""
    titles = re.findall(r"(?m)^(?:memkit|\w[\w -]*)$", EXAMPLES.read_text(encoding="utf-8"))

    assert {title.removeprefix("memkit") for title in titles} == set(COMMANDS)


def test_few_examples_are_not_run() -> None:
    """Each is shown by a page still, and says what it would need."""
    shown = {line for command in COMMANDS for line in examples(command)}

    assert set(NOT_RUN) <= shown and len(NOT_RUN) <= 6


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_of_a_page_run(
    command: str, made: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each for itself in a store as it was made, and it ends with 0 or with the code that stands behind it."""
    for name, value in environment(made).items():
        monkeypatch.setenv(name, value)
    for line in (one for one in examples(command) if one not in NOT_RUN):
        restore(made)
        monkeypatch.chdir(made / "room" / "store")
        code, printed = here(line, capfd) if is_plain(line) else run(line, made)
        wanted = re.search(r"# exit (\d)", line)
        assert code == int(wanted[1] if wanted else 0), f"$ {line}\n{printed}"


def is_plain(line: str) -> bool:
    """Return whether a line needs no shell and no server, so that this process runs it: there are three hundred."""
    return line.startswith("memkit ") and not re.search(r"[|<>]|--http|TOKEN|^memkit (fake-llm|demo|evolve)", line)


def here(line: str, capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Run a line in this process, and return its exit code and what it printed."""
    capfd.readouterr()
    code = main.run(shlex.split(line, comments=True)[1:])
    printed = capfd.readouterr()
    return code, printed.out + printed.err


def restore(base: Path) -> None:
    """Put back what an example changed, at the same place, because a store elsewhere is another clone's."""
    kept = _kept(base)
    for name in ("room", "home"):
        for path in (base / name).iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        shutil.copytree(kept / name, base / name, symlinks=True, dirs_exist_ok=True)


def run(line: str, base: Path) -> tuple[int, str]:
    """Run a line as a shell does; a server that it starts is told to end once it listens."""
    text = line
    if "TOKEN" in line:
        text = line.replace("TOKEN", json.loads((base / "room/token.json").read_text(encoding="utf-8"))["data"]["id"])
    process = subprocess.Popen(
        ["bash", "-c", f"set -o pipefail; {text}"], cwd=base / "room" / "store", env=environment(base),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    if "--http" not in line:
        printed, _ = process.communicate()
        return process.returncode, printed
    assert process.stdout is not None
    said = process.stdout.readline()
    threading.Timer(0.5, os.killpg, (process.pid, signal.SIGINT)).start()
    rest, _ = process.communicate()
    return (0 if process.returncode in (0, 130, -signal.SIGINT) and "127.0.0.1" in said else 1), said + rest
