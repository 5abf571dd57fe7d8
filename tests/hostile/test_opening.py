"""Nothing of a foreign store runs and nothing outside of it changes, whatever command opens it."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from git_attacks import GIT, ask_for_all, configure, traps_by_setting
from hostile_commands import COMMANDS, NOTHING_TO_DO, WRITING, all_commands, words_of
from link_attacks import LINKS
from store_attacks import ASKING, STORES
from traps import Trap, World

from memkit.cli.main import run

ATTACKS = GIT | LINKS | STORES
LINES = [line for lines in COMMANDS.values() for line in lines]
THOROUGH = os.environ.get("MEMKIT_HOSTILE") == "all"
"""Whether each line meets each attack; else each line meets the first, and a part of those that write each other."""
PARTS = 6
"""One of so many of the lines that write meets an attack, in turn: each line meets as many of the attacks."""


def test_no_command_is_forgotten() -> None:
    """Each command of the command line has its lines in the table."""
    assert set(all_commands()) == set(COMMANDS)


def test_each_line_does_its_work_in_an_honest_store(
    honest: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line that ended with a fault everywhere would show nothing about hostile stores."""
    faults = {}
    for line in LINES:
        world = honest.copied_to(tmp_path / "world")
        monkeypatch.chdir(world.store)
        capsys.readouterr()
        code = run([*words_of(line, world.names), "--no-input"])
        if code not in ((2, 3) if line in NOTHING_TO_DO else (0, 1)):
            faults[line] = code, capsys.readouterr().err

    _say(faults)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("core.fsmonitor", ["status"]),
        ("filter..clean", ["add", "-A"]),
        ("filter.a.b.clean", ["add", "-A"]),
        ("filter.evil.process", ["add", "-A"]),
        ("diff.evil.textconv", ["log", "-p"]),
        ("diff.external", ["diff"]),
        ("gpg.program", ["log", "-1", "--show-signature"]),
    ],
)
def test_the_traps_fire_in_plain_git(setting: str, words: list[str], honest: World) -> None:
    """The same store does run programs where nobody keeps git from it."""
    ask_for_all(honest.store)
    configure(honest.store, {setting: traps_by_setting(honest.trap)[setting]})
    (honest.store / "README.md").open("a").write("more\n")

    subprocess.run(["git", *words], cwd=honest.store, capture_output=True, check=False)

    assert honest.trap.fired() == [setting]


@pytest.mark.parametrize(
    ("attack", "line", "fires"),
    [
        ("tool shell", "chat --user ada -p hello", ["tool"]),
        ("tool program", "chat --user ada -p hello", ["tool"]),
        ("tool module", "chat --user ada -p hello", ["module"]),
        ("skills", "skill check walk", ["tool"]),
        ("skills", "plan be_marked --domain marking --run", ["tool"]),
        ("skills", "evolve task --generations 1", ["evaluator"]),
    ],
)
def test_the_traps_fire_where_a_person_trusts_the_store(
    attack: str, line: str, fires: list[str], honest: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same lines do run what the store offers, so that the test below could fail."""
    ATTACKS[attack](honest.store, honest.outside, honest.trap)
    monkeypatch.chdir(honest.store)
    assert run(["trust", "--yes"]) == 0

    run([*words_of(line, honest.names), "--no-input"])

    assert honest.trap.fired() == fires


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_runs_and_nothing_outside_changes(
    attack: str, honest: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command leaves the traps alone, ends with a clear answer, and writes nowhere but into the store."""
    world = honest.copied_to(tmp_path / "world")
    ATTACKS[attack](world.store, world.outside, world.trap)
    for mark in world.trap.folder.iterdir():  # what fired while the attacker's own git made this
        mark.unlink()
    hostile, before = world.copied_to(tmp_path / "hostile"), world.seen()
    monkeypatch.setattr(socket.socket, "connect", _reached(world.trap))
    wrong = {}
    number = list(ATTACKS).index(attack)
    tried = LINES if THOROUGH or number == 0 else WRITING[number % PARTS :: PARTS]
    for line in [*tried, *(ASKING if attack in STORES else ())]:
        hostile.copied_to(world.folder)
        monkeypatch.chdir(world.store)
        code = run([*words_of(line, world.names), "--no-input"])
        after, said = world.seen(), capsys.readouterr().err
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        if changed or code not in (0, 1, 2, 3):
            wrong[line] = code, changed, said[-300:]

    _say(wrong)


def _reached(trap: Trap) -> Callable[[socket.socket, object], None]:
    """Return what stands for connecting: it leaves a mark in the trap, and reaches nobody."""

    def connect(_: socket.socket, address: object) -> None:
        (trap.folder / f"reached {address}".replace("/", "_")).touch()
        raise ConnectionRefusedError(address)

    return connect


def _say(faults: Mapping[str, object]) -> None:
    if faults:
        pytest.fail("\n".join(f"{line}: {fault}" for line, fault in faults.items()), pytrace=False)
