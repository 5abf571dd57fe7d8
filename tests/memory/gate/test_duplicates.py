"""When two texts are one record, and when they must not be."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.runtime.memory.gate.duplicates import likeness, one_slip

SAME = [
    ("أليس تُحِبُّ القهوةَ", "أليس تحب القهوة"),
    ("She writes to a@x.org.", "she writes to A@X.org"),
    ("Alice prefers espresso over latte", "alice  prefers ESPRESSO over latte."),
    ("Alice prefers espresso over latte", "Alice really prefers espresso over latte!"),
    ("The deploy script needs the VPN", "Deploy scripts need a VPN"),
    ("Alice doesn't like milk", "Alice does not like milk"),
    ("Alice’s cat is called Muffin", "Alice's cat is called Muffin"),
    ("Her favourite colour is green", "Her favorite color is green"),
    ("彼女はコーヒーが好きです。", "彼女はコーヒーが好きです"),
    ("ＡＬＩＣＥ likes tea", "alice likes tea"),
    ("Она любит чай с лимоном", "она любит чай с лимоном."),
    ("تحب القهوة في الصباح", "تحب القهوة في الصباح."),
    ("她喜欢喝咖啡。", "她喜欢喝咖啡！"),
    ("zero\u200bwidth tea", "zerowidth tea"),
    ("она любит зелёный чай с лимоном", "она любит зеленый чай с лимоном"),
    ("أليس تحب الشاي الأخضر", "أليس تحب الشاي الأخضر!"),
    ("อลิซชอบดื่มชาเขียวตอนเช้า", "อลิซ ชอบ ดื่ม ชาเขียว ตอนเช้า"),
    ("ऐलिस को हरी चाय पसंद है", "ऐलिस को हरी चाय पसंद है।"),
    ("앨리스는 녹차를 좋아한다", "앨리스는  녹차를 좋아한다."),
    ("אליס אוהבת תה ירוק", "אליס אוהבת תה ירוק!"),
    ("🍵🐱 every morning", "🍵 🐱 every morning."),
    ("👍👍", "👍👍"),
]

DIFFERENT = [
    ("Alice's email is a@x.org", "Alice's email is b@x.org"),
    ("The team has decided to go with option a", "The team has decided to go with option b"),
    ("The notes are in /srv/notes/a", "The notes are in /srv/notes/b"),
    ("Alice lives in Berlin", "Alice lived in Berlin"),
    ("this is fact 17 of the list of facts that we keep", "this is fact 18 of the list of facts that we keep"),
    ("Alice will travel by the night train to Berlin next spring with her two sisters and the dog",
     "Alice will travel by the night train to Paris next spring with her two sisters and the dog"),
    ("Alice likes tea", "Alice does not like tea"),
    ("Alice will travel by the night train to Berlin next spring with her two sisters and the dog",
     "Alice will not travel by the night train to Berlin next spring with her two sisters and the dog"),
    ("Alice prefers espresso over latte", "Alice prefers latte over espresso"),
    ("Anna told Maria about the new office in the harbour", "Maria told Anna about the new office in the harbour"),
    ("Alice likes tea", "Alice likes coffee"),
    ("Jon owns the blue boat in the northern harbour", "John owns the blue boat in the northern harbour"),
    ("Martha owns the blue boat in the northern harbour", "Marthe owns the blue boat in the northern harbour"),
    ("The flight leaves from Berlin", "The flight leaves to Berlin"),
    ("Alice is married", "Alice was married"),
    ("The budget is ten thousand", "The budget is two thousand"),
    ("Version 2.4.1 fixed the crash on start", "Version 2.4.2 fixed the crash on start"),
    ("The price is 5€", "The price is 5$"),
    ("她喜欢喝咖啡", "她不喜欢喝咖啡"),
    ("他住在北京的一个小公寓里已经很多年", "他住在东京的一个小公寓里已经很多年"),
    ("Она любит чай с лимоном", "Она не любит чай с лимоном"),
    ("👍👍", "👎👎"),
    ("أليس تحب الشاي", "أليس لا تحب الشاي"),
    ("อลิซชอบชา", "อลิซไม่ชอบชา"),
    ("ऐलिस को चाय पसंद है", "ऐलिस को चाय पसंद नहीं है"),
    ("ऐलिस के पास ३ बिल्लियाँ हैं", "ऐलिस के पास ४ बिल्लियाँ हैं"),
    ("アリスは緑茶が好きです", "アリスは緑茶が好きではありません"),
    ("앨리스는 녹차를 좋아한다", "앨리스는 녹차를 좋아하지 않는다"),
    ("אליס אוהבת תה", "אליס לא אוהבת תה"),
    ("爱丽丝喜欢喝茶", "鲍勃喜欢喝茶"),
    ("🍵🐱", "🍵🐶"),
    ("Alice can swim", "Alice can't swim"),
    ("", "x"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spellings_of_one_statement_are_duplicates(one: str, other: str) -> None:
    """Case, width, blanks, marks, fillers, word endings and slips of the pen make no second record, in any script."""
    assert likeness(one, other) >= 0.9


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_another_number_name_negation_or_order_is_another_statement(one: str, other: str) -> None:
    """A single number, name, negation, preposition or swapped place makes another record, however long the rest."""
    assert likeness(one, other) < 0.9


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_likeness_is_symmetric_about_substance(one: str, other: str) -> None:
    """Whether two texts are duplicates does not depend on which came first, and every text is like itself."""
    assert (likeness(one, other) == 0) == (likeness(other, one) == 0)
    assert likeness(one, one) == 1.0


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.lists(st.sampled_from(["tea", "boat", "green", "walk"]), max_size=30),
)
def test_numbers_always_tell_apart(one: int, other: int, rest: list[str]) -> None:
    """Two texts with different numbers are never duplicates, whatever surrounds the number."""
    frame = " ".join(rest)

    assert (likeness(f"{frame} {one} {frame}", f"{frame} {other} {frame}") > 0) == (one == other)


@pytest.mark.parametrize(
    ("one", "other", "slip"),
    [
        ("espresso", "expresso", True),
        ("receive", "recieve", True),
        ("harbour", "harbor", True),
        ("harbour", "harbours", True),
        ("cat", "cot", False),
        ("espresso", "latte", False),
        ("fact17x", "fact18x", False),
        ("abcdef", "ghijkl", False),
    ],
)
def test_a_slip_is_one_letter_of_a_long_word(one: str, other: str, slip: bool) -> None:
    """One letter more, fewer, changed or swapped in a long word is a slip; in a short word it is another word."""
    assert one_slip(one, other) is slip
