"""The page when something is wrong with what it shows: it leads on, and nothing of it is an element."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from memkit.serving.page.rooms import ROOMS
from tests.serving.clients import environment
from tests.serving.pages import Served, token

HEAVIEST = 500_000
"""Bytes of a page, with all that it loads."""


def looks(served: Served, *more: str) -> dict[str, str]:
    """Return every room that opens, by its address; whatever it says, no trace and no path of the machine."""
    found = {}
    for address in (*(f"/{room}" for room in ROOMS), "/time?as_of=2030-01-01", *more):
        answer = served.client.get(address)
        assert answer.status_code == 200, (address, answer.text[-500:])
        assert "Traceback" not in answer.text and str(served.workspace.root) not in answer.text, address
        assert len(answer.content) < HEAVIEST, address
        found[address] = answer.text
    return found


def git(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run git in the store."""
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)


def shards(root: Path) -> list[Path]:
    """Return the shards of the archive."""
    return sorted((root / "archive").rglob("*.jsonl"))


@pytest.mark.parametrize(
    "text",
    [
        "A megabyte: " + "word " * 200_000,
        "One word: " + "w" * 1_000_000,
        "Stacked: " + "a" + "\u0301" * 50_000,
        "עדה אוהבת קפה \u202e abc \u2066 def",
        "Ends a script: </script><script>document.title='owned'</script>",
        "A source: [link](javascript:alert(1)) <a href='javascript:alert(1)'>x</a>",
        "Nothing but \u200b\u200b\u200b and \x00 \x1b[2J",
    ],
    ids=["megabyte", "one word", "stacked marks", "right to left", "ends a script", "javascript", "control signs"],
)
def test_texts_that_are_too_long_or_too_odd(served: Served, text: str) -> None:
    """They are cut and said so where they are long; in no room do they become an element or grow without bounds."""
    served.enter()
    try:
        id = served.add(text, source_url="javascript:alert(document.cookie)")
    except Exception:  # noqa: BLE001 - where the gate takes no such text, its record is written by hand
        id = served.add("Ada likes tea")
    pages = looks(served, f"/memory/{id}") if id != "None" else looks(served)

    for address, page in pages.items():
        assert "<script>document" not in page and not re.search(r'(href|src|action)="javascript', page), address


def test_ten_thousand_tags(served: Served) -> None:
    """More than a record may have is one line and changes nothing; of those that it may have a list shows a dozen."""
    served.enter()
    id = served.add("Ada likes tea", tags=tuple(f"tag{count}" for count in range(40)))

    answer = served.do("tag", id=id, tags=",".join(f"tag{count}" for count in range(10_000)))

    assert answer.status_code == 400 and "Traceback" not in answer.text, answer.text[-900:]
    pages = looks(served, f"/memory/{id}")
    assert pages["/memory"].count('class="tag quiet" href="/memory?tag=') == 12
    assert "tag39" in pages[f"/memory/{id}"]


def test_a_form_that_is_too_long_is_one_line(served: Served) -> None:
    """Half a megabyte at most; nothing is done."""
    served.enter()

    answer = served.do("add", text="x" * 600_000)

    assert answer.status_code == 409 and "524,288 bytes" in answer.text


def test_a_damaged_shard_is_said_and_the_rest_is_shown(served: Served) -> None:
    """Today says which line cannot be read, and by which command one looks."""
    served.enter()
    served.add("Ada likes tea")
    with shards(served.workspace.root)[0].open("a", encoding="utf-8") as shard:
        shard.write('{"half": \n')
    served.add("Ada likes coffee")

    pages = looks(served)

    assert "Ada likes tea" in pages["/memory"] and "Ada likes coffee" in pages["/memory"]
    assert "memkit fsck" in pages["/today"]


def test_a_merge_in_progress_is_looked_at(served: Served) -> None:
    """With the marks of git in a shard, what is whole is shown, and a commit from the page is refused in a line."""
    served.enter()
    served.add("Ada likes tea")
    served.do("commit")
    root = served.workspace.root
    branch = git(root, "branch", "--show-current").stdout.strip()
    git(root, "checkout", "-qb", "theirs")
    (root / "memkit.yaml").write_text((root / "memkit.yaml").read_text() + "# theirs\n")
    git(root, "commit", "-qam", "Theirs")
    git(root, "checkout", "-q", branch)
    (root / "memkit.yaml").write_text((root / "memkit.yaml").read_text() + "# ours\n")
    git(root, "commit", "-qam", "Ours")
    assert git(root, "merge", "theirs").returncode != 0
    with shards(root)[0].open("a", encoding="utf-8") as shard:
        shard.write("<<<<<<< HEAD\n=======\n>>>>>>> theirs\n")

    texts = [served.client.get(f"/{room}") for room in ROOMS]
    committed = served.do("commit")

    assert all(one.status_code in (200, 400, 503) and "Traceback" not in one.text for one in texts)
    assert "Ada likes tea" in texts[list(ROOMS).index("memory")].text
    assert committed.status_code in (400, 409, 503) and "Traceback" not in committed.text


def test_a_store_that_is_moved_away_is_no_empty_one(served: Served) -> None:
    """It is said everywhere, a probe learns it, nothing is made where it was, and once it is back all is there."""
    served.enter()
    served.add("Ada likes tea")
    root = served.workspace.root
    aside = root.rename(root.with_name("aside"))

    gone = [served.client.get(address) for address in ("/", "/memory", "/skills", "/people", "/readyz")]
    gone.append(
        served.client.post("/do/add", data={"form_key": next(iter(served.site.visits._open.values())).form_key})
    )

    assert not root.exists()
    aside.rename(root)
    assert {answer.status_code for answer in gone} == {503}
    assert all("no longer where this server opened it" in answer.text for answer in gone)
    assert "Ada likes tea" in served.client.get("/memory").text


def test_policies_that_do_not_load_allow_nothing(served: Served) -> None:
    """The room says so, also of a call that is tried."""
    served.enter()
    (served.workspace.root / "policies" / "bad.yaml").write_text("<<<<<<< ours\nname: bad\n")

    page = served.client.get("/policies?tool=bash&args=%7B%7D&conflicts=1&coverage=1").text

    assert "every call is denied" in page and "everything is allowed" not in page
    assert "<strong>deny</strong>" in page


def test_a_memory_that_is_erased_meanwhile(served: Served) -> None:
    """By a command in another process: whoever browses sees it before or after, and never a trace or half of it."""
    served.enter()
    ids = [served.add(f"Ada keeps lynx {count}") for count in range(20)]
    words = [sys.executable, "-m", "memkit", "memory", "erase", "--user", "ada", "--yes"]
    words += ["--store", str(served.workspace.root)]
    erasing = subprocess.Popen(words, env=environment(), stdout=subprocess.DEVNULL)
    seen: list[tuple[int, str]] = []
    while erasing.poll() is None:
        for address in ("/memory", f"/memory/{ids[len(seen) % 20]}", "/health", "/memory?q=lynx"):
            answer = served.client.get(address)
            seen.append((answer.status_code, answer.text))

    assert erasing.returncode in (0, 1), "a question that was asked meanwhile is a trace, which it finds and says"
    assert subprocess.run(words, env=environment(), stdout=subprocess.DEVNULL, check=False).returncode == 0
    assert {status for status, _ in seen} <= {200, 404, 409, 503}
    assert not any("Traceback" in text or "A bug in memkit" in text for _, text in seen)
    assert "lynx" not in served.client.get("/memory").text
    assert served.client.get(f"/memory/{ids[0]}").status_code == 404


@pytest.mark.parametrize("years", [-30, 30])
def test_a_clock_that_jumps(served: Served, years: int) -> None:
    """Nobody is thrown out by it, and every room opens."""
    served.enter()
    id = served.add("Ada likes tea", valid_from="2026-01-01")
    clock = served.workspace.clock
    served.workspace.clock = lambda: clock() + timedelta(days=365 * years)

    pages = looks(served, f"/memory/{id}")

    assert "Ada likes tea" in pages[f"/memory/{id}"]
    assert served.do("correct", id=id, text="Ada likes coffee").status_code == 200


def test_a_token_that_is_revoked_between_page_and_form(served: Served) -> None:
    """The form that was open does nothing, and the page asks who it is."""
    from memkit.store.tokens import ServerTokens

    id = served.add("Ada likes tea")
    mark = token(served, "ada", "review")
    found = re.search(r'name="form_key" value="([^"]+)"', served.client.get("/people").text)
    assert found
    ServerTokens(served.workspace.root).revoke(mark)

    for deed in ("forget", "say"):
        answer = served.client.post(
            f"/do/{deed}",
            data={"form_key": found[1], "id": id, "text": "x"},
            headers={"Accept": "application/x-ndjson"},
        )
        assert answer.status_code == 401
    assert served.status(id) == "live"
