"""What was true at a moment: dates of records, and where a successor begins."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from open_gate import OpenStore, note, person

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.record.record import Draft

START = datetime(2026, 1, 10, tzinfo=UTC)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        """Return the moment that was set."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Give a clock at the start."""
    return Clock()


@pytest.fixture
def moved(open_store: OpenStore, clock: Clock) -> ArchivalStore:
    """Give a store in which Ada moved from Berlin to Paris on the twentieth of January."""
    store = open_store(None, clock=clock)
    berlin = note(store, "Ada lives in Berlin")
    clock.now += timedelta(days=10)
    store.supersede(berlin, "Ada lives in Paris", person())
    clock.now += timedelta(days=10)
    return store


def texts(store: ArchivalStore, query: str, as_of: str | None = None) -> list[str]:
    """Return the texts that a search finds."""
    return [hit.text for hit in store.search(query, user_id="ada", as_of=as_of).hits]


def test_a_superseded_record_was_true_until_its_successor(moved: ArchivalStore) -> None:
    """Before the correction the old value answers, from its day on the new one, and never both."""
    assert texts(moved, "Where does Ada live?") == ["Ada lives in Paris"]
    assert texts(moved, "Where does Ada live?", "2026-01-15") == ["Ada lives in Berlin"]
    assert texts(moved, "Where does Ada live?", "2026-01-19") == ["Ada lives in Berlin"]
    assert texts(moved, "Where does Ada live?", "2026-01-20") == ["Ada lives in Paris"]


def test_the_past_is_found_by_words_that_nothing_live_holds(moved: ArchivalStore) -> None:
    """A word of the old value alone finds it, also when nothing live is left."""
    assert texts(moved, "Berlin", "2026-01-15") == ["Ada lives in Berlin"]
    assert texts(moved, "Berlin") == []
    for record in moved.records(user_id="ada"):
        moved.mark("forget", record.id, person())
    assert texts(moved, "Berlin", "2026-01-15") == ["Ada lives in Berlin"]


def test_a_successor_with_a_date_begins_at_that_date(open_store: OpenStore, clock: Clock) -> None:
    """What was told late and holds from earlier on ends what it corrects where it begins itself."""
    store = open_store(None, clock=clock)
    berlin = note(store, "Ada lives in Berlin")
    clock.now += timedelta(days=60)
    store.offer(Draft("Ada lives in Paris", supersedes=berlin, valid_from="2026-02-01"), person())

    assert texts(store, "Ada lives", "2026-01-31") == ["Ada lives in Berlin"]
    assert texts(store, "Ada lives", "2026-02-01") == ["Ada lives in Paris"]


def test_a_date_that_a_successor_was_given_later_counts_too(moved: ArchivalStore) -> None:
    """Who says afterwards since when the correction holds ends there what it corrected: no moment has both."""
    (paris,) = moved.records(user_id="ada")
    moved.mark("update", paris.id, person(), valid_from="2026-01-05")

    assert texts(moved, "Ada lives", "2026-01-04") == ["Ada lives in Berlin"]
    assert texts(moved, "Ada lives", "2026-01-15") == ["Ada lives in Paris"]


@pytest.mark.parametrize("op", ["forget", "reject", "revoke", "retire"])
def test_what_was_taken_away_never_comes_back(moved: ArchivalStore, op: str) -> None:
    """Forgotten, rejected and revoked records answer for no moment at all."""
    rome = note(moved, "Ada lives in Rome in winter")
    moved.mark(op, rome, person())

    assert texts(moved, "Rome winter", "2026-01-15") == []


def test_the_list_of_a_moment_is_what_was_true_then(moved: ArchivalStore) -> None:
    """Listing follows the same rule as searching, filters included."""

    def listed(as_of: str, **more: object) -> list[str]:
        return [record.text for record in moved.records(user_id="ada", as_of=as_of, **more)]

    assert listed("2026-01-15") == ["Ada lives in Berlin"]
    assert listed("2026-01-20") == ["Ada lives in Paris"]
    assert listed("2026-01-15", types=("goal",)) == []
    assert listed("2026-01-15", session_id="elsewhere") == []


def test_another_users_past_stays_theirs(moved: ArchivalStore) -> None:
    """As-of opens no door between users."""
    assert moved.search("Berlin", user_id="bob", as_of="2026-01-15").hits == ()
    assert moved.records(user_id="bob", as_of="2026-01-15") == []


def test_dates_of_the_record_hold_for_the_past_too(open_store: OpenStore, clock: Callable[[], datetime]) -> None:
    """A record counts between its own dates only; a bare date means its end."""
    store = open_store(None, clock=clock)
    note(store, "Ada is on parental leave", valid_from="2026-03-01", valid_until="2026-03-31")

    assert texts(store, "parental leave", "2026-02-28") == []
    assert texts(store, "parental leave", "2026-03-01") == ["Ada is on parental leave"]
    assert texts(store, "parental leave", "2026-03-31") == ["Ada is on parental leave"]
    assert texts(store, "parental leave", "2026-04-01") == []
