"""The record format: what is taken, what is refused, and that nothing is lost on the way to a line and back."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.runtime.memory.record.lines import (
    IdSource,
    InvalidRecord,
    decode_line,
    encode_line,
    kept_time,
    new_id,
    parse_duration,
    parse_time,
    to_text,
)
from memkit.runtime.memory.record.record import ACTORS, SCOPES, SOURCES, TRUSTS, TYPES, Record

PLAIN = {"id": "a", "text": "b", "user_id": "c", "created_at": "2026-11-21T09:00:00.000000Z"}

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80).filter(str.strip)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
moments = st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(UTC)).map(to_text)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)
told = st.fixed_dictionaries({"subject": names, "predicate": names, "object": names}, optional={"valid_from": moments})
records = st.builds(
    Record,
    id=names, text=texts, user_id=names, created_at=moments, type=st.sampled_from(TYPES), scope=st.sampled_from(SCOPES),
    session_id=st.none() | names, turn_id=st.none() | st.integers(0, 9), tags=st.lists(names, max_size=3).map(tuple),
    confidence=st.floats(0, 1), importance=st.floats(0, 1), source=st.sampled_from(SOURCES),
    source_url=st.none() | names, actor=st.sampled_from(ACTORS), trust=st.sampled_from(TRUSTS),
    valid_from=st.none() | moments, valid_until=st.none() | moments, supersedes=st.none() | names,
    agent_id=st.none() | names, key=st.none() | names, taint=st.lists(names, max_size=3).map(tuple),
    parents=st.lists(names, max_size=3).map(tuple), link=st.none() | names, salt=st.none() | names,
    relinked=st.none() | names, about=st.lists(names, max_size=3).map(tuple),
    relation=st.none() | told | st.lists(told, min_size=1, max_size=3),
    extra=st.dictionaries(names.map(lambda key: f"x-{key}"), json_values, max_size=3),
)  # fmt: skip


@given(records)
def test_a_record_survives_its_line(record: Record) -> None:
    """What is read from a line is what was written to it, unknown keys included, and the line has one LF at its end."""
    line = encode_line(record.to_data())

    assert Record.from_data(decode_line(line)) == record
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert encode_line(decode_line(line)) == line


def test_lines_are_canonical_and_readable() -> None:
    """Keys are sorted, there are no blanks, letters stand as themselves and raw control characters do not."""
    line = encode_line({"b": "é\u2028\x1b[31m\n", "a": 1})

    assert line == '{"a":1,"b":"é\u2028\\u001b[31m\\n"}\n'.encode()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("text", "", "Give it some words"),
        ("text", "x" * 5_000_000, "5,000,000 bytes"),
        ("text", "\ud800", "surrogate"),
        ("text", 7, "not a string"),
        ("type", "rumour", "fact, preference"),
        ("confidence", 1.5, "from 0 to 1"),
        ("confidence", True, "from 0 to 1"),
        ("confidence", float("nan"), "from 0 to 1"),
        ("tags", "prefs", "not a list"),
        ("tags", ["a"] * 65, "the limit is 64"),
        ("turn_id", "one", "whole number"),
        ("valid_until", "tomorrow", "not a time"),
        ("user_id", 5, "user_id"),
    ],
)
def test_a_field_that_breaks_the_format_is_named(field: str, value: object, message: str) -> None:
    """The error says which field it is and what would be right."""
    with pytest.raises(InvalidRecord, match=message) as caught:
        Record.from_data({**PLAIN, field: value})

    assert caught.value.exit_code == 2
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "line", [b"{", b"[1]", b'"x"', b'{"a":NaN}', b"\xff{}", b"[" * 100_000, b"{" + b" " * 2_000_000 + b"}"]
)
def test_a_line_that_is_no_object_is_an_error_and_no_crash(line: bytes) -> None:
    """Broken, deep, endless and wrongly encoded lines are refused with a sentence."""
    with pytest.raises(InvalidRecord):
        decode_line(line)


def test_ids_grow_also_when_the_clock_goes_backwards() -> None:
    """Within one process every id sorts after the one before."""
    hours = iter([5_000, 5_000, 4_000, 1, 6_000])
    mint = IdSource(lambda: next(hours))

    ids = [mint() for _ in range(5)]

    assert ids == sorted(set(ids))


def test_ids_sort_by_time_between_processes() -> None:
    """An id minted later by another source sorts later, because its time comes first."""
    earlier, later = IdSource(lambda: 1_000), IdSource(lambda: 1_001)

    assert earlier() < later()
    assert len(new_id()) == 26


def test_a_bare_date_means_its_end() -> None:
    """A date covers its whole day."""
    assert parse_time("2026-11-21") > parse_time("2026-11-21T23:59:59Z")
    assert parse_time("2026-11-21") < parse_time("2026-11-22T00:00:00Z")


@given(st.dates(min_value=date(1000, 1, 1)))
def test_every_form_of_a_bare_date_means_its_end(day: date) -> None:
    """ISO 8601 has four forms of a date; a week without its day is none, and no day of it is guessed."""
    year, week, number = day.isocalendar()
    forms = [f"{day:%Y%m%d}", f"{year:04}-W{week:02}-{number}", f"{year:04}W{week:02}{number}"]
    if year > 9999 or year < 1000:
        return
    for form in forms:
        assert parse_time(form) == parse_time(day.isoformat())
        assert kept_time(form) == day.isoformat()
    for form in (f"{year:04}-W{week:02}", f"{year:04}W{week:02}"):
        with pytest.raises(InvalidRecord):
            parse_time(form)


def test_times_are_converted_to_utc() -> None:
    """An offset is taken into account; a time without one is UTC."""
    assert to_text(parse_time("2026-11-21T10:00:00+01:00")) == "2026-11-21T09:00:00.000000Z"
    assert to_text(parse_time("2026-11-21T09:00:00")) == "2026-11-21T09:00:00.000000Z"


def test_durations_have_a_unit_or_are_seconds() -> None:
    """7d, 1h and a bare number are durations, anything else is an error."""
    assert (parse_duration("7d"), parse_duration("1h"), parse_duration(5)) == (604_800.0, 3600.0, 5.0)
    with pytest.raises(InvalidRecord):
        parse_duration("soon")


def test_unknown_keys_are_kept_and_written_back_flat() -> None:
    """A key of a later version survives reading and writing."""
    record = Record.from_data({**PLAIN, "mood": {"x": [1]}})

    assert record._replace(text="c").to_data()["mood"] == {"x": [1]}
