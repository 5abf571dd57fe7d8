"""Erasing one of those whom a memory tells of: nothing of them is left in any conclusion, and the rest stays."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memkit import open_store
from memkit.cli.main import run
from memkit.integrations.interface import Plug
from memkit.runtime.memory.archive.keeping import KeptDocument
from tests.privacy.traces import commit, erase, git, leaking, remember

Ask = Callable[..., tuple[int, dict[str, Any]]]
TOM = (
    "My brother Zoltan lives in Trondheim", "Zoltan works for Kvaernerhytta", "My brother keeps ferrets",
    "Zoltan was born in Szeged",
)  # fmt: skip
ANNA = ("My sister Anna lives in Porto", "Anna works for Siemens", "Anna plays for Rapid Linz")
CANARIES = (b"zoltan", b"trondheim", b"kvaernerhytta", b"ferret", b"szeged", b"curling")


@pytest.fixture
def family(store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a store in which a brother is in records, core, sessions, a merge, conclusions and consolidations."""
    for text in (*TOM, *ANNA, "I live in Ghent", "I work for Acme"):
        remember(store, text, "ada", "--session", "s1")
    remember(store, "My brother Zoltan runs a shop", "eve")
    for number in range(3):
        for text in (
            f"Zoltan went curling for the {number + 2}. time",
            f"We walked {number + 2} miles along the river",
        ):
            remember(store, text, "ada", "--type", "event", "--session", f"e{number}")
    assert run(["core", "set", "human", "Brother: Zoltan", "--user", "ada", "--store", str(store)]) == 0
    assert run(["core", "set", "human", "Likes tea", "--user", "ada", "--store", str(store)]) == 0
    lines = store.parent / "said"
    lines.write_text("My brother Zoltan sends his love from Trondheim.\nI like green tea in the morning.\n")
    with lines.open() as spoken, monkeypatch.context() as patched:
        patched.setattr(sys, "stdin", spoken)
        assert run(["chat", "--user", "ada", "--jsonl", "--consent", "--session", "c", "--store", str(store)]) == 0
    commit(store)
    assert run(["memory", "search", "where does my brother live?", "--user", "ada", "--store", str(store)]) == 0
    assert run(["memory", "reflect", "--user", "ada", "--branch", "think", "--store", str(store)]) == 0
    git(store, "merge", "-q", "--no-edit", "think")
    monkeypatch.setenv("MEMKIT_CONSOLIDATE_AFTER", "0s")
    monkeypatch.setenv("MEMKIT_CONSOLIDATE_FEWEST", "2")
    assert run(["memory", "consolidate", "--user", "ada", "--branch", "tidy", "--store", str(store)]) == 0
    git(store, "merge", "-q", "--no-edit", "tidy")
    assert run(["graph", "show", "--user", "ada", "--store", str(store)]) == 0
    capsys.readouterr()
    return store


def texts(ask: Ask, user: str = "ada") -> list[str]:
    """Return what is live of a user."""
    return [one["text"] for one in ask("memory", "list", "--user", user)[1]["data"]["records"]]


def test_no_byte_of_one_relative_is_left_and_the_rest_stays(
    family: Path, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    """Records, corrections, conclusions, summaries, core, sessions, caches and every commit, by another scan too."""
    told = texts(ask)
    assert leaking(family, CANARIES)
    assert any("Zoltan" in text and "river" not in text for text in told)

    assert run(["memory", "erase", "--user", "eve", "--yes", "--store", str(family)]) == 0
    code, answer = erase(family, capsys, "--about", "Zoltan", user="ada")

    assert leaking(family, CANARIES) == []
    assert (code, answer["ok"]) == (0, True), answer["diagnostics"]
    assert answer["data"]["removed"]["records"] >= len(TOM)
    left = texts(ask)
    assert {*ANNA, "I live in Ghent", "I work for Acme"} <= set(left)
    assert any("river" in text for text in left)
    names = {node["name"] for node in ask("graph", "show", "--user", "ada")[1]["data"]["nodes"]}
    assert {"Anna", "Siemens"} <= names
    assert run(["fsck", "--store", str(family)]) == 0
    capsys.readouterr()
    assert "Likes tea" in json.dumps(ask("core", "show", "--user", "ada")[1]["data"])
    assert ask("memory", "add", TOM[0], "--user", "ada")[1]["data"]["decision"] == "refused"


def test_what_is_over_stays_behind_what_holds_when_somebody_is_erased(
    family: Path, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rewritten records and the index made anew know when something ended."""
    remember(family, "My sister Anna worked for Galp from 2014 to 2018", "ada")
    remember(family, "My sister Anna used to work for Voestalpine", "ada")
    commit(family)
    assert erase(family, capsys, "--about", "Zoltan", user="ada")[0] == 0

    found = ask("memory", "search", "who is my sister's employer?", "--user", "ada")[1]["data"]["results"]

    employers = [one["text"] for one in found if "work" in one["text"] and one["type"] != "summary"]
    assert employers[0] == "Anna works for Siemens"


def test_what_others_tell_of_the_same_name_stays(family: Path, ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    """Another user's Zoltan is another one's to erase."""
    erase(family, capsys, "--about", "my brother", user="ada")

    assert texts(ask, "eve") == ["My brother Zoltan runs a shop"]
    assert not any("Zoltan" in text or "ferrets" in text for text in texts(ask))


def test_a_dry_run_shows_what_would_go_and_changes_nothing(family: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A person reads the statements before they go."""
    head = git(family, "rev-parse", "HEAD")
    assert run(["memory", "erase", "--user", "ada", "--about", "Zoltan", "--dry-run", "--store", str(family)]) in (0, 1)

    shown = capsys.readouterr().out
    assert "My brother keeps ferrets" in shown and "Nothing was changed." in shown and ANNA[0] not in shown
    assert git(family, "rev-parse", "HEAD") == head


def test_a_dry_run_shows_the_messages_that_go_with_them(
    store: Path, ask: Ask, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was said in a chat or through a drop-in goes whole where it names them, and is read before."""
    kept = "I live in Porto. My sister is called Eva. Where is the lynx?"
    spoken = "My sister Eva sends her love."
    with open_store(store) as opened, Plug(opened, "notes", user="ada", consent=True, taint="clean") as plug:
        value = {"role": "user", "content": kept}
        plug.keep(
            "ada", [KeptDocument("transcript", "chat", "1", value), KeptDocument("transcript", "chat", "2", "Hm")]
        )
    assert run(["core", "set", "human", "Sister: Eva", "--user", "ada", "--store", str(store)]) == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{spoken}\nI like green tea.\n"))
    assert run(["chat", "--user", "ada", "--jsonl", "--consent", "--session", "c", "--store", str(store)]) == 0
    wanted = ["memory", "erase", "--user", "ada", "--about", "Eva"]
    capsys.readouterr()

    run([*wanted, "--dry-run", "--store", str(store)])
    shown = capsys.readouterr().out
    told = ask(*wanted, "--dry-run")[1]["data"]["told"]
    gone = ask(*wanted, "--yes")[1]["data"]

    assert {kept, spoken, "Sister: Eva"} <= set(told) and not any("tea" in one for one in told)
    assert all(f"\n  {one}\n" in shown for one in (kept, spoken, "Sister: Eva"))
    assert gone["told"] == [] and leaking(store, (b"eva.", b"lynx")) == []


def test_a_dry_run_shows_twenty_statements_and_counts_the_rest(
    store: Path, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    """A screen is enough for a person; a program gets all of them."""
    for number in range(23):
        remember(store, f"Zoltan went curling in {number + 1980}", "ada", "--type", "event")
    wanted = ["memory", "erase", "--user", "ada", "--about", "Zoltan", "--dry-run"]
    capsys.readouterr()

    run([*wanted, "--store", str(store)])
    shown = capsys.readouterr().out
    told = ask(*wanted)[1]["data"]["told"]

    assert len(told) == 23 and shown.count("curling") == 20
    assert "… and 3 more: --dry-run --json has all of them." in shown


@pytest.mark.parametrize(
    ("name", "code", "line"),
    [
        ("Zacharias", 1, "Nothing is stored about 'Zacharias' for 'ada'"),
        ("Anna", 2, "Several are called 'Anna': Anna (ada's sister), Anna (ada's colleague)."),
        (" ", 2, "needs a name"),
        ("?!", 2, "needs a name"),
    ],
)
def test_mistakes_get_one_clear_line(
    name: str, code: int, line: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody of that name, two of it, and none at all: nothing is changed."""
    remember(store, "My sister Anna works for Siemens", "ada")
    remember(store, "My colleague Anna lives in Ghent", "ada")
    capsys.readouterr()

    assert run(["memory", "erase", "--user", "ada", "--about", name, "--yes", "--store", str(store)]) == code
    told = "".join(capsys.readouterr())
    assert line in told and "Traceback" not in told
    assert run(["memory", "search", "Anna", "--user", "ada", "--store", str(store)]) == 0


def test_of_two_of_one_name_the_one_goes_whose_part_is_said(
    store: Path, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is told of the bare name may be of either, and stays for a person to look at."""
    for text in ("My sister Anna works for Siemens", "My colleague Anna lives in Ghent", "My sister likes opals"):
        remember(store, text, "ada")

    erase(store, capsys, "--about", "my sister", user="ada")

    assert texts(ask) == ["My colleague Anna lives in Ghent"]


def test_a_reflection_that_waits_for_its_merge_loses_them_too(
    store: Path, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    """Parents that are erased while a conclusion lies on its branch leave nothing to merge of them."""
    for text in (*TOM, *ANNA):
        remember(store, text, "ada", "--session", "s1")
    commit(store)
    assert run(["memory", "reflect", "--user", "ada", "--branch", "think", "--store", str(store)]) == 0

    code, _ = erase(store, capsys, "--about", "Zoltan", user="ada")
    git(store, "merge", "-q", "--no-edit", "think")

    assert code == 0 and leaking(store, CANARIES) == []
    summaries = [text for text in texts(ask) if text not in ANNA]
    assert summaries == ["Anna: is ada's sister; lives in Porto; works for Siemens; plays for Rapid Linz."]
    assert run(["fsck", "--store", str(store)]) == 0


def test_sealed_records_are_read_to_find_them(sealing: Path, ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    """What is sealed at rest is opened to see whom it tells of; the user's key stays for the rest."""
    for text in (*TOM, *ANNA):
        remember(sealing, text, "ada")
    commit(sealing)

    code, _ = erase(sealing, capsys, "--about", "my brother", user="ada")

    assert code == 0 and texts(ask) == [*ANNA]
