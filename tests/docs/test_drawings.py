"""The drawings in the pages are what memkit draws today, and they are shown with a text for who cannot see them."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from tests.written import CHECKOUT
from tests.written.drawings import EVOLUTION, PICTURES, PLAN, plan_drawing

SMALL = 60_000
SHOWN = {"tour.svg": "README.md", "plan.svg": "docs/planning.md", "evolution.svg": "docs/evolution.md"}


def test_the_plan_is_what_a_run_draws() -> None:
    """``python -m tests.written.drawings`` draws it anew."""
    assert plan_drawing() == PLAN.read_text(encoding="utf-8")


def test_the_drawing_of_a_run_leads_from_the_seed_to_the_best() -> None:
    """Chance and the last digits differ from machine to machine, so its parts are compared, and not its bytes."""
    told = " ".join(ElementTree.fromstring(EVOLUTION.read_text(encoding="utf-8")).itertext())

    assert "From the seed to the best" in told and "seed" in told and re.search(r"\b0\b", told)


def test_every_drawing_is_shown_small_and_asks_nobody() -> None:
    """None is left over, and none brings a script, a font or a request along."""
    assert {path.name for path in PICTURES.glob("*.svg")} == set(SHOWN)
    for name, page in SHOWN.items():
        picture = (PICTURES / name).read_text(encoding="utf-8")
        assert len(picture) <= SMALL and not re.search(r"<script|href=|url\(http|@import", picture)
        assert re.search(rf"!\[.{{30,}}\]\((docs/)?pictures/{re.escape(name)}\)", (CHECKOUT / page).read_text("utf-8"))


@pytest.mark.parametrize("path", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.name)
def test_a_drawing_has_a_name_of_its_own(path) -> None:  # noqa: ANN001
    """A screen reader says what it is."""
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))

    assert root.get("role") == "img" and root.get("aria-label")
