"""What a terminal shows of a list, and that a pipe gets the same lines whoever looks."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pexpect
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.cli.display import CODES, ListCell, ListRow, Meaning, Presentation, age, beginnings, columns_of, signed
from memkit.cli.main import run
from tests.forked import program

ROOT = Path(__file__).resolve().parents[2]
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
ADA = "Ada prefers espresso in the morning and tea when the sun goes down behind the lake"
SHOWN = (
    ["memory", "list"], ["memory", "search", "espresso"], ["memory", "stats"], ["audit"], ["policy", "list"],
    ["policy", "coverage"], ["skill", "list"], ["domain", "list"], ["config", "show"], ["doctor"], ["rule"],
    ["policy", "check", "--tool", "bash", "--arg", "command=rm -rf /"], ["backend", "status"], ["core", "history"],
    ["lint"], ["policy", "conflicts"], ["sessions", "list"], ["consent", "list"], ["diff"], ["review"],
)  # fmt: skip
SAID = (
    ["memory", "erase", "--user", "ada", "--dry-run"], ["memory", "search", "espresso lake sun", "--explain"],
    ["memory", "stats"], ["trust", "--show"], ["plan", "deliver book shop", "--domain", "errands", "--dry-run"],
)  # fmt: skip
REFUSED = (
    ["memory", "get", "01ZZZZ"], ["memory", "why", "espresso"], ["memory", "list", "--usr", "ada"], ["frobnicate"],
    ["memory", "search", "tea", "--user", "ad"], ["config", "set", "retrieval.min_confidense", "0.5"],
    ["skill", "lint"], ["memory", "forget"], ["audit", "yesterday"],
)  # fmt: skip
WIDEST_WORD = 30
"""Columns of a word or a command that has no room beside an indentation in a terminal of forty."""
COLOUR = re.compile(r"\x1b\[[0-9;]*m")

Screen = Callable[..., str]


@pytest.fixture
def told(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """Return a store whose user is set and of whom some things are remembered, as it was made for the first test.

    It lies where it was made, with the same home, because a store elsewhere is another clone's.
    """
    base, home = tmp_path_factory.getbasetemp() / "told", Path(os.environ["HOME"])
    if not (base / "home").exists():
        shutil.copytree(request.getfixturevalue("store"), base / "store", symlinks=True)
        tell(base / "store")
        request.getfixturevalue("capsys").readouterr()
        shutil.copytree(base / "store", base / "kept", symlinks=True)
        shutil.copytree(home, base / "home", symlinks=True)
    shutil.rmtree(base / "store")
    shutil.copytree(base / "home", home, symlinks=True, dirs_exist_ok=True)
    return shutil.copytree(base / "kept", base / "store", symlinks=True)


def tell(store: Path) -> None:
    """Set the user of a store and let some things be remembered."""
    for words in (
        ["config", "set", "user", "ada"],
        ["consent", "grant"],
        ["memory", "add", ADA, "--type", "preference"],
        ["memory", "add", "Ada lives in Zurich"],
        ["memory", "add", "Ada lives in Bern"],
        ["core", "set", "human", "Name: Ada."],
        ["chat", "--session", "01M8SESS1NAAAAAAAAAAAAAAAA", "-p", "I like window seats"],
    ):
        assert run([*words, "--store", str(store)]) == 0


@pytest.fixture
def screen(told: Path, monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Return what runs a command on a real terminal and gives everything that came there."""

    def shown(words: Sequence[str], columns: int = 100, **environment: str) -> str:
        variables = {"TERM": "xterm-256color", "PAGER": "cat", **environment}
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("COLUMNS", raising=False)
        child = pexpect.spawn(
            str(program()), list(words), cwd=str(told), dimensions=(24, columns), encoding="utf-8",
            timeout=600, env=dict(os.environ),  # readline, which pytest loads, tells children of another width
        )  # fmt: skip
        child.expect(pexpect.EOF)
        child.close()
        for name in variables:
            monkeypatch.delenv(name)
        return str(child.before).replace("\r\n", "\n")

    return shown


def piped(store: Path, words: Sequence[str], environment: dict[str, str] | None = None) -> bytes:
    """Return what a pipe gets of a command."""
    line = [program(), *words]
    done = subprocess.run(
        line, cwd=store, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, check=False
    )
    return done.stdout


# A pipe


def test_a_pipe_gets_the_same_bytes_whatever_the_terminal_is(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole ids, exact times and no colour: what reads along does not depend on who looks."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    listed = piped(told, ["memory", "list"]).decode().splitlines()
    for name, value in (("TERM", "xterm-256color"), ("COLUMNS", "40"), ("PAGER", "false"), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)

    assert piped(told, ["memory", "list"]).decode().splitlines() == listed
    assert re.fullmatch(rf"[0-9A-Z]{{26}}  \d{{4}}-\d\d-\d\d  ada  preference  {ADA}", listed[0])


@pytest.mark.parametrize("words", SHOWN, ids=" ".join)
def test_a_dumb_terminal_and_a_screen_reader_get_what_a_pipe_gets(
    words: list[str], told: Path, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is drawn, coloured, shortened or paged there; a command that looks leaves an event, so audit differs."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    wanted = piped(told, words).decode()
    if words == ["audit"]:
        words, wanted = ["audit", "--event", "write"], piped(told, ["audit", "--event", "write"]).decode()

    for environment in ({"TERM": "dumb"}, {"ACCESSIBLE": "1"}):
        shown = screen(words, **environment)
        assert without_ages(shown).endswith(without_ages(wanted)) and "\x1b" not in shown, environment


def without_ages(text: str) -> str:
    """Return a text without what a clock or a search gives, which goes on between two looks."""
    return re.sub(r"\d+ (min|h|d) ago|\bjust now\b|\b[01]\.\d{3}\b|^.*token counter.*$", "", text, flags=re.M).strip()


def test_a_reader_that_leaves_ends_a_list_without_a_trace(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with ``head``; with more than a pipe holds."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    line = f"set -o pipefail; for i in 1 2 3; do {sys.executable} -m memkit rule --json; done | head -c 10"

    done = subprocess.run(["bash", "-c", line], cwd=told, capture_output=True, text=True, check=False)

    assert done.stderr == "" and len(done.stdout) == 10


# A terminal


@pytest.mark.parametrize("words", (*SHOWN, *SAID, *REFUSED), ids=" ".join)
def test_no_line_is_wider_than_forty_columns(words: list[str], screen: Screen) -> None:
    """Lists, plans, accounts and errors: what does not fit stands below, and a word or command to copy stays whole."""
    shown = COLOUR.sub("", screen(words, columns=40))

    assert shown.strip()
    for line in shown.splitlines():
        assert len(line) <= 40 or widest(line) > WIDEST_WORD, line


def widest(line: str) -> int:
    """Return how long the longest word or quoted command of a line is."""
    return max(map(len, re.findall(r"'memkit [^']*'|`memkit [^`]*`|^ *memkit .*|\S+", line)))


@pytest.mark.parametrize("words", [["skill", "list"], ["policy", "list"], ["domain", "list"]], ids=" ".join)
def test_a_terminal_cuts_no_description(words: list[str], screen: Screen) -> None:
    """A pipe gets one line of each, cut; on a terminal the rest stands below."""
    assert "…" not in screen(words, columns=40)


def test_a_digest_is_told_by_its_beginning(told: Path, screen: Screen) -> None:
    """By as much as the name of an erasure's certificate has of it; a pipe and ``--json`` have all."""
    assert run(["memory", "erase", "--user", "ada", "--yes", "--store", str(told)]) == 0

    shown = COLOUR.sub("", screen(["audit", "--event", "erasure"], columns=40))

    (digest,) = re.findall(rb"[0-9a-f]{64}", piped(told, ["audit", "--event", "erasure"]))
    assert f"{digest.decode()[:12]}…" in shown and digest.decode() not in shown


@pytest.mark.parametrize(
    ("words", "meaning"),
    [(["memory", "get", "01ZZZZ"], "care"), (["memory", "list", "--usr", "ada"], "bad"), (["frobnicate"], "bad")],
    ids=lambda given: " ".join(given) if isinstance(given, list) else given,
)
def test_an_error_has_the_colour_of_what_it_means(words: list[str], meaning: Meaning, screen: Screen) -> None:
    """No is an answer and what cannot be done is none; without colours, and to whom lines are read, it is a line."""
    assert screen(words).startswith(f"\x1b[{CODES[meaning]}mmemkit:\x1b[0m ")
    assert screen(words, NO_COLOR="1").startswith("memkit: ")
    for environment in ({"TERM": "dumb"}, {"ACCESSIBLE": "1"}):
        assert screen(words, columns=40, **environment).rstrip("\n").count("\n") == 0


def test_a_list_has_short_ids_ages_and_colours_on_a_terminal(screen: Screen, told: Path) -> None:
    """The id that is shown is one that commands take."""
    shown = screen(["memory", "list"])
    bare = COLOUR.sub("", shown)
    short = bare.split()[0]

    assert (COLOUR.search(shown) and "just now" in bare) or "ago" in bare
    assert 6 <= len(short) < 26
    assert ADA in COLOUR.sub("", screen(["memory", "get", short]))


def test_no_color_leaves_the_table_and_takes_the_colours(screen: Screen) -> None:
    """It is about colours alone."""
    shown = screen(["memory", "list"], NO_COLOR="1")

    assert "\x1b" not in shown and len(shown.split()[0]) < 26


def test_an_open_question_is_marked_in_lists_and_searches(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its ids in the envelope; records that nothing contradicts have no mark."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for words in (["memory", "list"], ["memory", "search", "Where does Ada live?"]):
        lines = [line for line in piped(told, words).decode().splitlines() if "open question" in line]
        data = json.loads(piped(told, [*words, "--json"]))["data"]

        assert len(lines) == 2 and len(data["open"]) == 2
        assert all(any(id in line for id in data["open"]) for line in lines)
    assert "open" not in json.loads(piped(told, ["memory", "search", "espresso", "-k", "1", "--json"]))["data"]


def test_a_long_list_goes_through_the_pager_and_a_short_one_does_not(
    told: Path, screen: Screen, tmp_path: Path
) -> None:
    """``PAGER`` is asked with the whole text; with ``--no-input`` nothing waits for a key."""
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho PAGED; cat\n", encoding="utf-8")
    pager.chmod(0o755)

    assert screen(["rule"], PAGER=str(pager)).startswith("PAGED")
    assert "PAGED" not in screen(["memory", "list"], PAGER=str(pager))
    assert "PAGED" not in screen(["rule", "--no-input"], PAGER=str(pager))
    assert "PAGED" not in screen(["rule"], PAGER=str(pager), CLAUDECODE="1")


@pytest.mark.parametrize("pager", ["", "no-such-program-here", "'unclosed", "true"])
def test_a_pager_that_is_none_or_that_leaves_takes_nothing_away(pager: str, screen: Screen) -> None:
    """Without one the text is printed; one that ends before it read everything is no fault."""
    shown = screen(["rule"], PAGER=pager)

    assert "Traceback" not in shown and ("MKS001" in shown or pager == "true")


@pytest.mark.parametrize(
    ("words", "newest"),
    [
        (["memory", "list", "--tail", "1"], "window seats"),
        (["audit", "--tail", "1", "--event", "write"], "write"),
        (["core", "history", "--tail", "1"], "Name: Ada."),
        (["sessions", "list", "--tail", "1"], "window seats"),
    ],
    ids=lambda given: " ".join(given[:2]) if isinstance(given, list) else None,
)
def test_a_tail_is_the_newest(told: Path, words: list[str], newest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line of it."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    lines = piped(told, words).decode().splitlines()

    assert len(lines) == 1 and newest in lines[0]


# The parts


def drawn(*lines: str, width: int = 80, colour: bool = False) -> list[str]:
    """Return lines as a terminal of that width shows them."""
    return Presentation(width, colour, NOW, lambda ids: {id: id[:6] for id in ids}).text(lines).split("\n")


def row(id: str, name: str, text: str) -> ListRow:
    """Return a row of three cells."""
    return ListRow(ListCell(id, "id"), ListCell(name, "name"), ListCell(text))


def test_rows_that_stand_together_are_aligned() -> None:
    """By the widest of each column, wide letters counted as two."""
    assert drawn(row("01M8AAAAAA", "ada", "one"), "between", row("01M8BBBBBB", "日本", "two")) == [
        "01M8AA  ada  one",
        "between",
        "01M8BB  日本  two",
    ]
    assert drawn(row("01M8AAAAAA", "ada", "one"), row("01M8BBBBBB", "日本", "two"))[0] == "01M8AA  ada   one"


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=120)), min_size=1, max_size=5), st.integers(20, 120))
def test_no_text_is_lost_and_none_reaches_the_terminal_as_an_order(rows: list[tuple[str, str]], width: int) -> None:
    """Whatever stands in a store: every word is there, and no control character but those of colours."""
    lines = [ListRow(ListCell(name, "name"), ListCell(text)) for name, text in rows]

    plain, coloured = drawn(*lines, width=width), drawn(*lines, width=width, colour=True)

    assert COLOUR.sub("", "\n".join(coloured)) == "\n".join(plain)
    assert "\x1b" not in "\n".join(plain)
    words = "".join("".join(plain).split())
    assert all("".join(text.split()) in words for _, text in rows if text.isascii() and text.isprintable())


@pytest.mark.parametrize("width", [24, 40, 60, 200])
def test_a_text_has_room_or_stands_below(width: int) -> None:
    """No line is wider than the terminal as long as no single word is."""
    lines = drawn(row("01M8AAAAAA", "a-name-of-some-length", ADA), width=width)

    assert all(columns_of(line) <= width or len(line.split()) == 1 for line in lines)
    assert " ".join(" ".join(lines).split()).endswith(ADA)


def test_signs_have_the_colour_of_what_they_mean() -> None:
    """Only where a command says that its lines begin with one."""
    assert drawn(*signed(["deny", " ! look"]), colour=True) == [
        f"\x1b[{CODES['bad']}mdeny\x1b[0m",
        f" \x1b[{CODES['care']}m!\x1b[0m look",
    ]
    assert drawn("deny", colour=True) == ["deny"]


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("2026-11-23T11:59:30Z", "just now"), ("2026-11-23T11:58:00Z", "2 minutes ago"),
        ("2026-11-23T10:59:00Z", "1 hour ago"), ("2026-11-20T12:00:00Z", "3 days ago"),
        ("2026-10-01T12:00:00Z", "53 days ago"),
        ("2026-08-01", "3 months ago"), ("2024-11-01", "2 years ago"), ("2026-11-26T12:00:00Z", "in 3 days"),
        ("not a time", "not a time"),
    ],
)  # fmt: skip
def test_an_age_is_told_in_the_largest_unit_that_says_enough(at: str, told: str) -> None:
    """Days up to sixty, and what is no time as it is."""
    assert age(at, NOW) == told


@given(st.sets(st.text("0123456789ABCDEF", min_size=26, max_size=26), min_size=1, max_size=20))
def test_the_beginning_of_an_id_is_nobody_elses(ids: set[str]) -> None:
    """And no letter longer than that takes, above the least."""
    for id, short in beginnings(ids).items():
        assert [one for one in ids if one.startswith(short)] == [id]
        assert len(short) == 6 or sum(one.startswith(short[:-1]) for one in ids) > 1
