"""Long texts of one kind: looking for secrets, and reading what to remember, cost what the text is long."""

from __future__ import annotations

import pytest
from growth import grows_with_its_length, steps

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.gate.gate import form_problems
from memkit.runtime.memory.gate.personal import personal_numbers
from memkit.runtime.memory.gate.secrets import HIDDEN, find_secrets, mask
from memkit.runtime.memory.record.record import Draft

PARTS = [
    "1 ",
    "7",
    "x",
    "1-2 ",
    "4 ",
    "4111 ",
    "card 4 ",
    "a.",
    "a@b.",
    "key=",
    "pass ",
    "é ",
    "a://b:",
    "password for ",
    "-----BEGIN ",
]


@pytest.mark.parametrize("part", PARTS)
def test_a_search_for_secrets_grows_with_the_text(part: str) -> None:
    """Twice as much of anything that repeats costs about twice as much, without a blank in it too."""
    assert grows_with_its_length(lambda text: find_secrets(text, HIDDEN), part, 40_000)


@pytest.mark.parametrize("part", ["x", "7", "ж", "猫", "e\u0301"])
def test_a_question_without_a_blank_costs_what_it_is_long(part: str) -> None:
    """It finds nothing, and takes no longer than reading it."""
    with ArchivalStore() as store:
        assert grows_with_its_length(lambda text: store.search(text, user_id="ada"), part, 400_000)


@pytest.mark.parametrize("letter", ["x", "ж", "\u200b"])
def test_of_a_text_that_is_too_long_nothing_but_its_length_is_looked_at(letter: str) -> None:
    """Whoever offers it, in whatever script."""
    draft = Draft(letter * 1_000_000)

    assert next(form_problems(draft)).code == "too_long"
    assert steps(lambda: next(form_problems(draft))) < 500


def test_digits_in_a_row_that_begin_no_card_are_passed_over() -> None:
    """Each costs a glance and no search of its own: a column of numbers may be as long as a text."""
    assert steps(lambda: list(personal_numbers("1 " * 30_000))) < 3 * 30_000


def test_a_card_is_found_behind_a_megabyte_of_digits() -> None:
    """What is passed over hides nothing that stands alone or has a word for it."""
    column = "1 " * 30_000

    assert mask(f"{column}; 4111 1111 1111 1111").endswith("; [masked:card_number]")
    assert mask(f"{column}\ncard: 4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1").endswith("[masked:card_number]")


def test_what_stands_beside_a_card_counts_up_to_where_it_is_near() -> None:
    """A word 48 characters before is near, and behind 32; further off it says nothing of the digits."""
    spelled = "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
    listed = f"9 {spelled}"  # one of a row of digits, unless a word says otherwise

    assert "[masked" in mask(f"card {'.' * 30} {listed}")
    assert "[masked" in mask(f"{listed} {'.' * 10} visa")
    assert "[masked" not in mask(f"card {'.' * 60} {listed}")
    assert "[masked" not in mask(f"{listed} {'.' * 40} visa")
