"""What the comparison says of tools that are at hand is what they do here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "comparison.md").read_text(encoding="utf-8")
SECRET = "AKIA" + "QYLPMN5HFIQR7XYA"


@pytest.fixture
def items(tmp_path: Path):  # noqa: ANN201 - the framework's own type
    """Open LangGraph's store in a file, as an app does that asks for no embedding."""
    sqlite = pytest.importorskip("langgraph.store.sqlite")
    with sqlite.SqliteStore.from_conn_string(str(tmp_path / "store.db")) as store:
        store.setup()
        yield store


def test_what_langgraph_overwrites_is_nowhere(items, tmp_path: Path) -> None:  # noqa: ANN001
    """No call returns the value before, and no table holds it."""
    items.put(("ada",), "drink", {"text": "Ada prefers espresso"})
    items.put(("ada",), "drink", {"text": "Ada prefers mate"})

    assert [item.value for item in items.search(("ada",))] == [{"text": "Ada prefers mate"}]
    assert items.get(("ada",), "drink").value == {"text": "Ada prefers mate"}
    columns = [row[1] for row in items.conn.execute("PRAGMA table_info(store)")]
    assert not {"version", "author", "reason"} & set(columns)


def test_what_langgraph_is_given_it_keeps_whatever_it_is(items) -> None:  # noqa: ANN001
    """A credential is put without a word about it."""
    assert items.put(("ada",), "aws", {"text": f"the key is {SECRET}"}) is None
    assert SECRET in str(items.get(("ada",), "aws").value)


def test_without_an_embedding_langgraph_ranks_nothing(items) -> None:  # noqa: ANN001
    """The words of a query choose no item and give none a score."""
    for number in range(3):
        items.put(("ada",), f"k{number}", {"text": f"Shelf {number} holds book {number}"})

    found = items.search(("ada",), query="shelf 2")

    assert len(found) == 3 and {item.score for item in found} == {None}


def test_every_claim_says_how_it_is_known() -> None:
    """It has a row of the report, was run here by a command, or was read, and then it says so."""
    rows = [row for row in re.findall(r"^\| (.+) \|$", PAGE, re.M) if "---" not in row]
    told = [row.split(" | ") for row in rows if len(row.split(" | ")) == 2]

    claims = [(claim, how) for claim, how in told if how not in ("how it is known", "shown by")]
    assert len(claims) > 20
    for claim, how in claims:
        shown = re.search(r"`(make|memkit|python) [^`]+`|`tests/|\]\(closure\.md#", how) or re.match(
            r"run here.*, the same command$", how
        )
        assert shown or re.match(r"read: .+", how), claim


def test_what_was_only_read_is_no_boast() -> None:
    """A row on another tool that nothing here runs says that it was not run, or points to what can be read."""
    read = re.findall(r"\| (read: .+?) \|$", PAGE, re.M)

    assert read and all("not run here" in how or "issue" in how or "`" in how for how in read)
