"""When a statement holds, when a goal is due, and whose word a correction is, all read from the wording."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.runtime.memory.gate.extraction import draft_from_tool, infer_type, read_period
from memkit.runtime.memory.lifecycle.pieces import SaidTurn, by_rules
from memkit.runtime.memory.main import ArchivalStore, MainContext, MemoryTools
from memkit.runtime.memory.record.lines import Refused
from memkit.runtime.memory.record.record import Draft, Origin

SUNDAY = date(2026, 11, 22)


@pytest.mark.parametrize(
    ("said", "due"),
    [
        ("I need to file my taxes by Friday", "2026-11-27"),
        ("remind me to call mum tomorrow", "2026-11-23"),
        ("I promised Ana the draft by the end of the month", "2026-11-30"),
        ("I have to finish the report before 3 December", "2026-12-03"),
        ("renew the passport in May", "2027-05-31"),
        ("ship it in 3 days", "2026-11-25"),
        ("due 2026-12-24", "2026-12-24"),
        ("pay by 15 Jan", "2027-01-15"),
        ("buy milk", None),
        ("pay by 31 Feb", None),
    ],
)
def test_a_goal_is_due_on_the_next_such_day(said: str, due: str | None) -> None:
    """A deadline in words is a day ahead; one that no calendar has is none."""
    assert read_period(said, "goal", SUNDAY).due == due


@pytest.mark.parametrize(
    ("said", "valid_from", "valid_until"),
    [
        ("I'm in Rome until 3 December", None, "2026-12-03"),
        ("I lived in Rome until 2020", None, None),
        ("Since 2019 I live in Porto", "2019-01-01", None),
        ("From Monday on I work at Acme", "2026-11-23", None),
        ("I live in Porto", None, None),
    ],
)
def test_a_statement_holds_as_long_as_it_says(said: str, valid_from: str | None, valid_until: str | None) -> None:
    """An end ahead and a beginning limit a fact; what ended in the past stays true of the past."""
    assert read_period(said, "fact", SUNDAY)[:2] == (valid_from, valid_until)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["by", "until", "since", "next", "in", "end of", "the", "3", "31", "feb", "may", "friday", "week", "9999"]
        )
    )
    .map(" ".join)
    .filter(bool),
    st.dates(max_value=date(9000, 1, 1)),
)
def test_any_wording_on_any_day_is_read(text: str, today: date) -> None:
    """No phrase on no day of the calendar is an error, and the same one reads the same."""
    assert read_period(text, "goal", today) == read_period(text, "goal", today)
    assert read_period(text, "fact", today).due is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I need to file my taxes by Friday", "goal"),
        ("Remind me to call mum", "goal"),
        ("I promised Ana the draft", "goal"),
        ("I'll send Bob the slides", "goal"),
        ("I have to book the flight", "goal"),
        ("I have to take my pills every morning", "constraint"),
        ("I must not eat nuts", "constraint"),
        ("I should never work late", "constraint"),
        ("Deployments must go through staging", "constraint"),
        ("I'm done with the taxes", "outcome"),
        ("I will always love tea", "constraint"),
        ("Wants to be called Jo", "preference"),
        ("Remind me to drink more, for now", "goal"),
        ("I need to hand in the essay until tomorrow", "goal"),
        ("I have to temporarily fix the roof", "goal"),
        ("I want to save for a temporary exhibition pass", "goal"),
    ],
)
def test_errands_and_rules_are_told_apart(text: str, kind: str) -> None:
    """What somebody still has to do is a goal; what holds for good is a constraint; what is done is an outcome."""
    assert infer_type(text) == kind


PASSING = [line for line in Path(__file__).with_name("passing.txt").read_text("utf-8").splitlines() if line[0] != "#"]


@pytest.mark.parametrize("said", PASSING)
def test_what_holds_for_a_while_is_nothing_to_reach(said: str) -> None:
    """Of what the user wants for now, an agent's note is refused as passing, and rules draw nothing."""
    with ArchivalStore() as archive:
        tools = MemoryTools(MainContext(), archive, user_id="ada", session_id="s1")
        tools.begin_turn("So it is", 1)
        with pytest.raises(Refused) as refused:
            tools.archival_memory_insert(said.replace("I have to", "Ada has to"))

    assert list(refused.value.codes) == ["transient"]
    assert by_rules([SaidTurn(1, said)]).pieces == ()


@pytest.mark.parametrize(
    ("said", "kind", "scope", "until"),
    [
        ("I want to be called Captain for today only", "preference", "user", "2026-11-22"),
        ("I'm on the night shift this week only", "fact", "user", "2026-11-22"),
        ("I want to share a desk, just this month", "fact", "user", "2026-11-30"),
        ("I want to answer in rhymes for this session only", "fact", "session", None),
        ("I plan to work from home until tomorrow", "fact", "user", "2026-11-23"),
        ("I am temporarily without a car", "fact", "user", None),
        ("I have to take the bus this week only", "fact", "user", "2026-11-22"),
        ("For today only, I must not eat sugar", "constraint", "user", "2026-11-22"),
    ],
)
def test_what_the_user_wants_kept_for_a_while_ends_with_it(said: str, kind: str, scope: str, until: str | None) -> None:
    """Their own word is kept: until the day is over that it names, or for the session that it speaks of."""
    origin = Origin(actor="agent", user_id="ada", session_id="s1", user_text=said)

    draft = draft_from_tool(said, origin, today=SUNDAY)

    assert (draft.type, draft.scope, draft.valid_until, draft.source) == (kind, scope, until, "explicit")


def test_a_correction_in_the_agents_words_is_the_agents() -> None:
    """The corrected record is the only one that is live, and a candidate until somebody confirms it."""
    with ArchivalStore(clock=lambda: datetime(2026, 11, 22, 12, tzinfo=UTC)) as archive:
        tools = MemoryTools(MainContext(), archive, user_id="ada")
        tools.begin_turn("My dog is called Rex", 1)
        rex = tools.archival_memory_insert("My dog is called Rex")
        tools.begin_turn("it's Max", 2)
        tools.archival_memory_search("dog")
        tools.archival_memory_insert("My dog is called Max", supersedes=rex)

        (max_,) = archive.records(user_id="ada")
        assert (max_.text, max_.trust, max_.supersedes, max_.parents) == (
            "My dog is called Max", "candidate", rex, (rex,),
        )  # fmt: skip


def test_goals_are_listed_with_their_day() -> None:
    """A search without words lists the newest, of one type where that is asked, and shows the day a goal is due."""
    with ArchivalStore(clock=lambda: datetime(2026, 11, 22, 12, tzinfo=UTC)) as archive:
        tools = MemoryTools(MainContext(), archive, user_id="ada")
        for number, text in enumerate(["I like tea", "I need to file my taxes by Friday"]):
            tools.begin_turn(text, number)
            tools.archival_memory_insert(text)

        listed = tools.call("archival_memory_search", {"query": "", "type": "goal"})
        assert "due=2026-11-27" in listed and "tea" not in listed
        assert [hit.text for hit in tools.archival_memory_search("")][1] == "I like tea"


def test_what_was_true_on_a_day_is_found() -> None:
    """A search as of a day finds what was corrected since."""
    days = iter([datetime(2026, 1, 1, tzinfo=UTC)])
    now = [next(days)]
    with ArchivalStore(clock=lambda: now[0]) as archive:
        tools = MemoryTools(MainContext(), archive, user_id="ada")
        tools.begin_turn("I live in Paris", 1)
        paris = tools.archival_memory_insert("I live in Paris")
        now[0] = datetime(2026, 3, 1, tzinfo=UTC)
        tools.begin_turn("I live in Berlin", 2)
        tools.archival_memory_insert("I live in Berlin", supersedes=paris)

        assert [hit.text for hit in tools.archival_memory_search("live", as_of="2026-02-01")] == ["I live in Paris"]
        assert [hit.text for hit in tools.archival_memory_search("live")] == ["I live in Berlin"]


def test_without_a_day_nothing_is_dated() -> None:
    """Who has no clock at hand gets drafts without days."""
    origin = Origin(actor="agent", user_id="ada", user_text="I need to pay by Friday")

    assert not draft_from_tool("I need to pay by Friday", origin).extra


def test_a_list_holds_what_a_search_would_and_nothing_of_others() -> None:
    """What is for another session, agent or user, has ended, or is too unsure for a prompt is not listed."""
    with ArchivalStore(clock=lambda: datetime(2026, 11, 22, 12, tzinfo=UTC)) as archive:
        person = Origin(actor="person", user_id="ada")
        for draft, origin in (
            (Draft("I like tea"), person),
            (Draft("I like rain", scope="session"), person._replace(session_id="other")),
            (Draft("I like snow", scope="agent"), person._replace(agent_id="other")),
            (Draft("I like fog", valid_until="2026-01-01"), person),
            (Draft("Bob likes hail"), person._replace(user_id="bob")),
            (Draft("Everybody likes sun", scope="shared"), person),
        ):
            archive.offer(draft, origin)
        tools = MemoryTools(MainContext(), archive, user_id="ada", session_id="mine")

        listed = [hit.text for hit in tools.archival_memory_search("", top_k=50)]

    assert sorted(listed) == ["Everybody likes sun", "I like tea"]
