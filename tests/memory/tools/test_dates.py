"""Dates that a text names: phrases become words of the calendar, and nothing else does."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.runtime.memory.words.dates import _PHRASES, _read, dated
from memkit.runtime.memory.words.text import day_words, may_name_a_date

SATURDAY = date(2026, 11, 21)


@pytest.mark.parametrize(
    ("phrase", "words"),
    [
        ("in March 2026", ["d_2026_03"]), ("on 7 May 2023", ["d_2023_05_07"]), ("May 7th, 2023", ["d_2023_05_07"]),
        ("the 7th of May", ["d_2026_05_07"]), ("Mar 3", ["d_2026_03_03"]), ("2026-03-14", ["d_2026_03_14"]),
        ("2023/05/20", ["d_2023_05_20"]), ("2026-03", ["d_2026_03"]), ("in 2024", ["d_2024"]),
        ("in december", ["d_2025_12"]), ("in May?", ["d_2026_05"]), ("next March", ["d_2027_03"]),
        ("yesterday", ["d_2026_11_20"]), ("the day before yesterday", ["d_2026_11_19"]), ("tomorrow", ["d_2026_11_22"]),
        ("last week", ["d_2026_w46"]), ("two weeks ago", ["d_2026_w45"]), ("a few months ago", ["d_2026_08"]),
        ("last month", ["d_2026_10"]), ("3 years ago", ["d_2023"]), ("last Friday", ["d_2026_11_20"]),
        ("on Monday", ["d_2026_11_16"]), ("this week", ["d_2026_w47"]), ("next Saturday", ["d_2026_11_28"]),
        ("on 5 March 2026 and 2026-03-14", ["d_2026_03_05", "d_2026_03_14"]),
    ],
)  # fmt: skip
def test_a_phrase_names_its_date(phrase: str, words: list[str]) -> None:
    """Days, weeks, months and years are read as people write them, relative ones from the day of the text."""
    assert list(dated(f"what was it {phrase}", SATURDAY).words) == words


@pytest.mark.parametrize(
    "text",
    [
        "may I march in", "a march on Rome", "I paid 2026 euros", "version 2.2020.1", "Feb 30 2024", "2024-02-30",
        "in may 1800", "the mayor", "a monday feeling", "12:30", "9999999 days ago", "99 99", "", "喝茶", "d_2026_03",
    ],
)  # fmt: skip
def test_what_names_no_date_stays_text(text: str) -> None:
    """Words that only look like dates, and days that no calendar has, are left as they are."""
    assert dated(text, SATURDAY) == ((), text)


@given(st.dates(min_value=date(1900, 1, 1), max_value=date(2099, 12, 31)))
def test_every_day_is_found_by_its_own_name(day: date) -> None:
    """What was said on a day holds the word of every phrase that names the day, its week, month or year."""
    phrases = [
        f"on {day.isoformat()}", f"on {day.day} {day:%B} {day.year}", f"in {day:%B} {day.year}", f"in {day.year}",
    ]  # fmt: skip

    for phrase in phrases:
        (word,) = dated(phrase, SATURDAY).words
        assert word in day_words(day)


@given(st.dates(min_value=date(1900, 2, 1), max_value=date(2099, 11, 30)), st.integers(1, 12))
def test_relative_dates_are_steps_from_the_day_of_the_text(day: date, weeks: int) -> None:
    """So many weeks ago is the week of the day that lies so far back, over every end of a year."""
    assert dated(f"{weeks} weeks ago", day).words[0] in day_words(day - timedelta(weeks=weeks))
    assert dated("yesterday", day).words[0] in day_words(day - timedelta(days=1))


@given(st.text(max_size=300), st.dates())
def test_any_text_on_any_day_is_read(text: str, day: date) -> None:
    """No text and no day of the calendar is an error, and only whole phrases are taken out."""
    found = dated(text, day)

    assert found.words or found.rest == text


WORDS_OF_DATES = st.sampled_from([
    "in", "on", "since", "the", "of", "March", "may", "mar", "3", "3rd", "2026", "2024-05", "2024-05-06", "last",
    "past", "this", "next", "week", "weeks", "month", "year", "weekend", "Monday", "sunday", "ago", "two", "a", "few",
    "couple", "days", "yesterday", "today", "tomorrow", "before", "after", "1999", "12", "99", "sept", "x",
])  # fmt: skip


@given(st.lists(WORDS_OF_DATES, min_size=1, max_size=6).map(" ".join))
def test_what_is_not_looked_through_names_no_date(text: str) -> None:
    """The short question that spares most texts the patterns never hides a date."""
    found = [match[0] for match in _PHRASES.finditer(text) if _read(match, SATURDAY, 6) is not None]

    assert may_name_a_date(text) or not found
