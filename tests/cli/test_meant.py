"""What may have been meant is said, who asked is named, and words need no quotes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from memkit.cli.main import COMMANDS, run
from memkit.cli.other_words import MEANT, TOLD
from memkit.cli.skill import _PROFILES
from memkit.library import open_store
from memkit.runtime.memory.interface import Origin
from memkit.skills.sheet import PROFILES
from memkit.use_cases.recall import search_memory
from memkit.workspace import open_workspace

Said = Callable[..., tuple[int, str]]


@pytest.fixture
def said(store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Said:
    """Return what runs a command in a store and gives its exit code, with what it printed on both streams."""
    monkeypatch.chdir(store)

    def answered(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        code = run(list(words))
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return answered


@pytest.fixture
def id(said: Said) -> str:
    """Return the id of the one thing that is remembered, which ada said."""
    return str(said("memory", "add", "Ada", "likes", "tea", "--user", "ada")[1].split()[1])


@pytest.mark.parametrize(
    "words",
    [
        ("memory", "list", "--user", "adda"),
        ("memory", "search", "tea", "--user", "adda"),
        ("memory", "stats", "--user", "adda"),
        ("sessions", "list", "--user", "adda"),
        ("core", "history", "--user", "adda"),
        ("audit", "--user", "adda"),
    ],
    ids=" ".join,
)
def test_a_user_of_whom_nothing_is_stored_may_be_misspelt(words: tuple[str, ...], id: str, said: Said) -> None:
    """Whoever reads is told of a near one; a name that is near none is simply nobody."""
    assert "Did you mean 'ada'?" in said(*words)[1]
    assert "Did you mean" not in said(*words[:-1], "somebody-else")[1]
    envelope = json.loads(said(*words, "--json")[1])
    assert any(one["code"] == "unknown-user" for one in envelope["diagnostics"])


def test_whoever_is_to_be_erased_may_be_misspelt(id: str, said: Said) -> None:
    """Also where a search by that name left a line of the audit log, which is there to be erased."""
    erase = ("memory", "erase", "--user", "adda", "--dry-run")

    assert "Nothing is stored about 'adda'. Nothing was changed. Did you mean 'ada'?" in said(*erase)[1]

    said("memory", "search", "tea", "--user", "adda")
    assert "Nothing is stored of 'adda'. Did you mean 'ada'?" in said(*erase)[1]
    assert "Did you mean 'ada'?" in said(*erase[:-1], "--yes")[1]


def test_an_id_or_its_user_may_be_misspelt(id: str, said: Said) -> None:
    """One letter of it, or whose it is; in small letters it is the same id."""
    wrong = id[:-1] + ("0" if id[-1] != "0" else "1")

    assert f"Did you mean '{id}'?" in said("memory", "get", wrong)[1]
    assert "Did you mean 'ada'?" in said("memory", "get", id, "--user", "adda")[1]
    assert said("memory", "get", id[:20].lower())[0] == 0
    assert "Did you mean" not in said("memory", "get", "Z" * 26)[1]


def test_the_id_of_another_user_is_not_suggested(id: str, said: Said) -> None:
    """Whoever asks for one user learns no id of another, however near what was typed comes to it."""
    said("memory", "add", "Bob likes tea", "--user", "bob")

    for near in (id[:12], id[:-1] + "*"):
        code, told = said("memory", "get", near, "--user", "bob")
        assert code == 1 and id not in told


def test_an_ambiguous_beginning_is_told_with_what_the_candidates_say(id: str, said: Said) -> None:
    """So that one can be chosen without looking each of them up."""
    said("memory", "add", "Ada owns a kite", "--user", "ada")

    code, text = said("memory", "get", id[:4])

    assert code == 2 and "(Ada likes tea)" in text and "(Ada owns a kite)" in text


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("config", "show", "retreival.floor"), "retrieval.floor"),
        (("config", "set", "retrieval.flor", "0.2"), "retrieval.floor"),
        (("skill", "show", "virtul-memory"), "virtual-memory"),
        (("policy", "show", "person_word"), "persons_word"),
        (("domain", "show", "erands"), "errands"),
        (("gen", "--target", "langgrph"), "langgraph"),
        (("policy", "check", "--tool", "bsh"), "bash"),
        (("memory", "serch", "tea"), "search"),
        (("sessions", "show", "holidy", "--user", "ada"), "holiday"),
    ],
    ids=lambda given: " ".join(given[:3]) if isinstance(given, tuple) else None,
)
def test_a_name_may_be_misspelt(words: tuple[str, ...], meant: str, id: str, said: Said) -> None:
    """Settings, skills, policies, domains, targets, tools, commands and sessions: the near one is named."""
    said("consent", "grant", "--user", "ada")
    said("chat", "--session", "holiday", "-p", "Hello", "--user", "ada")

    assert f"Did you mean '{meant}'?" in said(*words)[1]


def test_words_without_quotes_are_one_text(id: str, said: Said) -> None:
    """As they were typed, with one space between two; what was in quotes is as it was."""
    for words, text in (
        (("memory", "supersede", id, "Ada", "likes", "mate"), "Ada likes mate"),
        (("memory", "add", "Ada  has two   cats"), "Ada  has two   cats"),
    ):
        code, _ = said(*words, "--user", "ada")
        assert code == 0 and text in said("memory", "list", "--user", "ada", "--json")[1]
    assert "Ada likes mate" in said("memory", "search", "what", "does", "Ada", "like", "--user", "ada")[1]
    assert said("memory", "search", "--user", "ada")[0] == 2


def test_why_names_who_asked(store: Path, id: str, said: Said) -> None:
    """The command line, an agent at it, a client of MCP, or a framework; not everybody is the command line."""
    said("memory", "search", "tea", "--user", "ada")
    workspace = open_workspace(store)
    search_memory(workspace.opened_for(Origin(actor="mcp:cursor", user_id="ada")), "tea", "ada", 5)
    for actor in ("tool:langgraph", "agent:codex"):
        workspace.audit.append({"event": "retrieved", "user_id": "ada", "actor": actor, "query": "tea", "ids": [id]})
    workspace.close()

    told = said("memory", "why", id)[1]

    for who in (
        "  command line  “tea”",
        "MCP client cursor",
        "framework langgraph",
        "command line, by the agent codex",
    ):
        assert told.count(who) == 1, told


def test_a_setting_of_several_parts_is_told_where_it_is_written(said: Said) -> None:
    """Not with another setting that has nothing to do with it; a section names those in it."""
    told = said("config", "set", "core.sections", "goals")[1]

    assert "memkit.yaml" in told and "Did you mean" not in told
    assert "retrieval.per_turn" in said("config", "set", "retrieval", "8")[1]


def test_a_task_that_no_domain_has_is_told_with_those_that_are_near(said: Said) -> None:
    """By its name; where none is near, with all that there are."""
    near, far = said("plan", "dliver", "book", "shop")[1], said("plan", "juggle")[1]

    assert "deliver ?p ?to (errands)" in near and "deployment" not in near
    assert "deliver ?p ?to (errands)" in far and "(deployment)" in far


def test_a_servers_tool_is_known_with_and_without_its_server(store: Path, said: Said) -> None:
    """A policy that names one does not apply to the other, and says so."""
    text = (store / "policies" / "persons_word.yaml").read_text(encoding="utf-8")
    assert said("policy", "new", "no_push")[0] == 0
    path = store / "policies" / "no_push.yaml"
    for tool, asked, told in (
        ("git_push", "mcp__github__git_push", "'git_push' without its server"),
        ("mcp__github__git_push", "git_push", "mcp__github__git_push: a server's tool"),
    ):
        path.write_text(
            "name: no_push\ndescription: Ask before a push.\nenforcement: hard\neffect: ask\n"
            f"rule: Ask.\nmatch:\n  - tool: {tool}\n",
            encoding="utf-8",
        )
        assert told in said("policy", "check", "--tool", asked)[1], text
        assert "server" not in said("policy", "check", "--tool", tool)[1]


def test_the_profiles_that_help_names_are_all_there_are() -> None:
    """They are written there by hand, so that completion need not load what knows them."""
    assert list(_PROFILES) == list(PROFILES)


def test_completion_loads_nothing_that_names_do_not_need(store: Path) -> None:
    """What a command carries out is loaded when it does."""
    with open_store(store) as memory:
        memory.add("Ada likes tea", user="ada")
    for line, needless in (
        ("memkit domain show ", {"yaml", "memkit.lint.rules", "memkit.workspace"}),
        ("memkit skill show ", {"yaml", "memkit.skills.skill", "memkit.workspace"}),
        ("memkit config set ", {"yaml", "git", "memkit.workspace"}),
        ("memkit memory list --user ", {"yaml", "git", "dataclasses", "memkit.runtime.memory.gate.gate"}),
    ):
        program = "import sys; from memkit.cli.main import run; run([]); print('\\n', *sys.modules, sep='\\n')"
        order = [sys.executable, "-c", program]
        environment = {**os.environ, "_MEMKIT_COMPLETE": "bash_complete", "MEMKIT_LINE": line}
        subprocess.run(order, cwd=store, capture_output=True, check=True, env=environment)  # what is kept is there then
        done = subprocess.run(order, cwd=store, capture_output=True, text=True, check=True, env=environment)
        offered, _, loaded = done.stdout.partition("\n\n")
        assert offered.startswith("plain\t"), line
        assert not needless & set(loaded.split()), line


def typed_words(table: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return what newcomers type, each with the answer it is kept under."""
    return [(typed, answer) for answer, words in table.items() for typed in words.split(", ")]


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        *typed_words(MEANT),
        ("why", "memory why"), ("import", "memory import"), ("forget", "memory forget"), ("blame", "memory blame"),
        ("sessions remove", "sessions rm"), ("sessions view", "sessions show"), ("skill create", "skill new"),
        ("policy find", "policy search"), ("token delete", "token revoke"), ("consent give", "consent grant"),
        ("list skills", "skill list"), ("create policy", "policy new"), ("show session", "sessions show"),
    ],
)  # fmt: skip
def test_a_word_that_other_programs_have_leads_to_a_command_that_is_here(
    typed: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the table, by another verb for the same deed or the other way round, and never by a near spelling."""
    assert run([*typed.split(), "something"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and said.count("Did you mean") == 1
    assert f"Did you mean 'memkit {command}'?" in said
    assert run([*command.split(), "--help"]) == 0


@pytest.mark.parametrize(("typed", "told"), typed_words(TOLD))
def test_what_no_single_command_does_is_told_in_a_sentence(
    typed: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line; the commands in it are those of the test of named commands."""
    assert run([*typed.split(), "something"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and told in said and "Did you mean" not in said


def test_no_word_that_leads_elsewhere_is_a_command_of_its_own() -> None:
    """It would never be looked up; and none leads to two places."""
    typed = [word for word, _ in typed_words(MEANT) + typed_words(TOLD)]

    assert [word for word in typed if len(word.split()) == 1 and word in COMMANDS] == []
    assert len(typed) == len(set(typed))
