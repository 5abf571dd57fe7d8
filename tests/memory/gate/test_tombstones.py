"""A rejected value stays rejected, however it is spelled."""

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.memory.main import ArchivalStore, Draft, Origin
from memkit.memory.values import fingerprint

SPELLINGS: tuple[Callable[[str], str], ...] = (
    str.upper,
    str.casefold,
    lambda text: text.replace(" ", "  "),
    lambda text: text.replace(" ", "\u00a0"),
    lambda text: "\u200b".join(text),
    lambda text: f"  {text}.\n",
    lambda text: unicodedata.normalize("NFD", text),
    lambda text: "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text),
)

values = st.lists(
    st.sampled_from(["Alice", "café", "harbour", "Berlin", "42", "élan", "кот", "茶"]), min_size=2, max_size=6
)


@settings(deadline=None)
@given(values.map(" ".join), st.lists(st.sampled_from(SPELLINGS), min_size=1, max_size=3))
def test_every_spelling_has_the_same_digest(value: str, spellings: list[Callable[[str], str]]) -> None:
    """Case, blanks, invisible characters, width, composition and a final mark make no other value."""
    spelled = value
    for spell in spellings:
        spelled = spell(spelled)

    assert fingerprint(spelled) == fingerprint(value)


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(SPELLINGS))
def test_a_rejected_value_is_refused_in_any_spelling(spell: Callable[[str], str]) -> None:
    """After a rejection the gate refuses the value for this user, and for nobody else."""
    alice, bob = (Origin(actor="person", user_id=user) for user in ("alice", "bob"))
    with ArchivalStore() as archive:
        decision = archive.offer(Draft(text="Alice keeps a lion in Berlin"), alice)
        archive.mark("reject", str(decision.id), alice)

        again = archive.offer(Draft(text=spell("Alice keeps a lion in Berlin")), alice)
        elsewhere = archive.offer(Draft(text="Alice keeps a lion in Berlin"), bob)

    assert [reason.code for reason in again.reasons] == ["tombstone"]
    assert elsewhere.decision == "admitted"


OPPOSITES = [
    ("Ada likes tea", "Ada does not like tea"),
    ("Ada can swim", "Ada can't swim"),
    ("Ada flies to Oslo", "Ada flies from Oslo"),
    ("Ada eats meat", "Ada eats no meat"),
    ("The rent is 12.50", "The rent is 1250"),
    ("The freezer is at -5 degrees", "The freezer is at 5 degrees"),
    ("Ada writes C++", "Ada writes C#"),
]


@pytest.mark.parametrize(("one", "other"), [*OPPOSITES, *((other, one) for one, other in OPPOSITES)])
def test_a_rejected_value_leaves_its_opposite_alone(one: str, other: str) -> None:
    """Every word of a rejected value counts, the small ones that turn it round as well."""
    ada = Origin(actor="person", user_id="ada")
    with ArchivalStore() as archive:
        archive.mark("reject", str(archive.offer(Draft(text=one), ada).id), ada)

        opposite = archive.offer(Draft(text=other), ada)
        same = archive.offer(Draft(text=f" {one.upper()}!"), ada)

    assert opposite.decision == "admitted"
    assert [reason.code for reason in same.reasons] == ["tombstone"]
