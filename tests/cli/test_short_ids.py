"""The beginning of an id stands for the whole one, in every command that takes one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from memkit.cli.main import cli, run
from memkit.cli.output import RecordId

Told = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def told(store: Path, capsys: pytest.CaptureFixture[str]) -> Told:
    """Return what runs a command, and gives its exit code, its data and its messages."""

    def answered(*words: str) -> tuple[int, Any, str]:
        capsys.readouterr()
        code = run([*words, "--store", str(store), "--json"])
        printed = capsys.readouterr()
        return code, json.loads(printed.out)["data"] if printed.out else None, printed.out + printed.err

    return answered


def test_a_beginning_that_one_id_has_is_enough(told: Told) -> None:
    """Of all that is told, or of what is told of the user who is named; the answer has the whole id."""
    ada = told("memory", "add", "Ada likes tea", "--user", "ada")[1]["id"]
    bob = told("memory", "add", "Bob likes rum", "--user", "bob")[1]["id"]

    assert told("memory", "get", ada[:22])[1]["id"] == ada
    assert told("memory", "get", ada[:4], "--user", "ada")[1]["id"] == ada
    assert told("memory", "supersede", bob[:4], "Bob likes gin", "--user", "bob")[1]["supersedes"] == bob


def test_a_beginning_that_several_have_is_told(told: Told) -> None:
    """Nothing is done, and the ids are named."""
    ids = [told("memory", "add", f"Ada has been to {place}", "--user", "ada")[1]["id"] for place in ("Rome", "Bern")]

    code, _, said = told("memory", "reject", ids[0][:4], "--user", "ada")

    assert code == 2 and all(id in said for id in ids)
    assert len(told("memory", "list", "--user", "ada")[1]["records"]) == 2


@pytest.mark.parametrize("given", ["01ZZ", "ada", "0", "%", "01M8_", "z" * 300])
def test_what_begins_no_id_is_not_found(told: Told, given: str) -> None:
    """One line says so, as of a whole id."""
    told("memory", "add", "Ada likes tea", "--user", "ada")

    code, _, said = told("memory", "get", given)

    assert code == 1 and "No record" in said


def test_every_command_that_takes_the_id_of_a_record_takes_its_beginning() -> None:
    """Whoever adds one is reminded."""
    context = click.Context(cli)
    group = cli.get_command(context, "memory")
    assert isinstance(group, click.Group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command
        for param in command.params:
            if param.name in ("record_id", "ids"):
                assert isinstance(param.type, RecordId), name


def test_a_shell_offers_what_is_known_of_the_user(store: Path, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing of anybody else."""
    ada = told("memory", "add", "Ada likes tea", "--user", "ada")[1]["id"]
    told("memory", "add", "Bob likes rum", "--user", "bob")
    monkeypatch.chdir(store)
    context = click.Context(click.Command("get"))
    context.params = {"user": "ada"}

    offered = RecordId().shell_complete(context, click.Argument(["record_id"]), "01")

    assert [(one.value, one.help) for one in offered] == [(ada, "Ada likes tea")]


def test_an_edit_and_a_rejected_record_are_named_by_a_beginning_as_well(told: Told) -> None:
    """Where an id stands beside a number or a value, too; what begins none is the value that it was."""
    for text in ("Name: Ada.", "Name: Ada L."):
        told("core", "set", "human", text, "--user", "ada")
    first = told("core", "history", "--user", "ada")[1]["versions"][0]["id"]
    nuts = told("memory", "add", "Ada is allergic to nuts", "--user", "ada")[1]["id"]
    told("memory", "reject", nuts, "--user", "ada")

    assert told("core", "rollback", "human", first[:22], "--user", "ada")[1]["text"] == "Name: Ada."
    assert told("memory", "allow", nuts[:22], "--user", "ada")[0] == 0
    assert told("memory", "allow", "CAFE", "--user", "ada")[0] == 1
