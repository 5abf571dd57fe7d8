"""The session of docs/chat.md, played again on a real terminal: the page shows what happens."""

from __future__ import annotations

import re
from pathlib import Path

from recording import PAGE, masked, record, rewritten, shown_on

COUNTED = re.compile(r"[█·]{30} +[\d,]+ +\d+ %|\(\d+ tokens\)")
"""Estimated tokens: ids are random, and no two of them weigh the same."""


def test_the_page_shows_what_the_session_shows(tmp_path: Path) -> None:
    """Consent, facts, a correction, verdicts, a plan, undoing, paging, resuming: to the letter, counts apart."""
    played = record(tmp_path)
    page = PAGE.read_text(encoding="utf-8")

    shown = shown_on(page)
    assert set(shown) == set(played)
    for scene, text in played.items():
        assert COUNTED.sub("", shown[scene]) == COUNTED.sub("", text), (
            f"{scene} differs: make recording writes the page anew\n{text}"
        )
    assert COUNTED.sub("", rewritten(page, played)) == COUNTED.sub("", page)


def test_records_have_short_names_in_the_order_in_which_they_come_up() -> None:
    """An id is the same name on the whole page, and what only looks like one stays."""
    names: dict[str, str] = {}
    first, second = "01M80HFFNM1VZBW9GFA2YNPVYZ", "01M80HFGVR8HZKJMPNB2KVSJ98"

    assert masked(f"[{second}] {first} x{first}", names) == f"[01…A] 01…B x{first}"
    assert masked(first, names) == "01…B"


def test_a_page_that_differs_is_rewritten() -> None:
    """Only the block behind the mark of a scene is written."""
    page = "a\n<!-- scene: one -->\n```text\nold\n```\nb\n```text\nother\n```\n"

    assert rewritten(page, {"one": "new\n"}) == page.replace("old", "new")
    assert shown_on(page) == {"one": "old\n"}
