"""Working, conversation, semantic and task memory, each for itself."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.runtime.loop.asking import as_completion
from memkit.runtime.loop.bound import problems, read_arguments
from memkit.runtime.loop.consent import AGREES, DECLINES, SPOKEN_OF, asks_to_forget, consent_in
from memkit.runtime.loop.core import (
    ConversationMemory,
    HybridPlanner,
    SemanticMemory,
    TaskMemory,
    VirtualContextMemory,
    WorkingMemory,
)
from memkit.runtime.loop.interface import LoopError
from memkit.runtime.loop.taint import excerpt, fence
from memkit.runtime.loop.tasks import EXCERPT, MOST_ERRORS, MOST_STEPS, Episode
from memkit.runtime.loop.tiers import Goal
from memkit.runtime.loop.virtual_context import SHORTENED, SessionContext

texts = st.text(max_size=60)


def test_goals_are_a_stack_of_stacks() -> None:
    """The goal pushed last is the innermost one, and the first that is popped."""
    working = WorkingMemory()
    for text in ("ship", "test", "fix"):
        working.push_goal(text)

    assert working.goals[0].subgoals[0].subgoals[0].text == "fix"
    assert [goal.text for goal in iter(working.pop_goal, None)] == ["fix", "test", "ship"]


def test_what_is_reached_has_no_goals_below_it() -> None:
    """A goal that is done or dropped is no longer the innermost one; of two that are called the same the last is."""
    working = WorkingMemory()
    working.push_goal("ship")
    working.push_goal("test")
    working.mark_goal("test", "done")
    working.push_goal("fix")

    assert [goal.text for goal in working.goals[0].subgoals] == ["test", "fix"]
    assert [goal.text for goal in iter(working.pop_goal, None)] == ["fix", "ship"]
    working.goals += [Goal("call"), Goal("write"), Goal("call")]
    assert working.pop_goal() is not None and [goal.text for goal in working.goals] == ["call", "write"]


def test_working_memory_survives_as_json() -> None:
    """What is written as JSON reads back as the same memory."""
    working = WorkingMemory()
    working.start("ship")
    working.push_goal("test")
    working.decide("Which branch?", "main", "It is green")
    working.record_step("build", "ok")

    again = WorkingMemory.from_data(json.loads(json.dumps(working.to_data())))

    assert again == working


@given(st.lists(texts, max_size=60))
def test_working_memory_stays_small(actions: list[str]) -> None:
    """However many steps are recorded, the newest twenty are kept, in order."""
    working = WorkingMemory()
    working.start("task")
    for action in actions:
        working.record_step(action)

    assert [step.action for step in working.completed_steps] == actions[-20:]
    working.max_items = 0
    working.trim()
    assert working.completed_steps == []


@given(st.lists(texts, max_size=90))
def test_a_conversation_is_bounded_and_loses_nothing_to_search(contents: list[str]) -> None:
    """Messages stay below the bound; the newest are always among them; the older ones are kept for search."""
    conversation = ConversationMemory()
    for content in contents:
        conversation.add("user", content)

    assert len(conversation.messages) <= 30
    assert [message["content"] for message in [*conversation.older, *conversation.messages]] == contents
    assert conversation.get_last_n(5) == conversation.messages[-5:]


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 12), st.integers(0, 30))
def test_a_conversation_keeps_the_bounds_it_was_given(most: int, at: int, keep: int, said: int) -> None:
    """However the three bounds stand to each other, there are never more messages than any of them allows."""
    conversation = ConversationMemory(max_messages=most, summarize_at=at, keep=keep)
    taken_over = ConversationMemory(max_messages=most, summarize_at=at, keep=keep)
    everything = [{"role": "user", "content": str(number)} for number in range(said)]
    for message in everything:
        conversation.add(**message)
    taken_over.import_from({"messages": everything})

    for one in (conversation, taken_over):
        assert len(one.messages) <= min(most, at)
        assert len(one.messages) == said or len(one.messages) >= min(most, at, keep)
        assert [*one.older, *one.messages] == everything[-len([*one.older, *one.messages]) :] if said else True


def test_a_compressed_conversation_opens_with_its_summary() -> None:
    """Once older messages are summarised, a model is shown the summary first."""
    conversation = ConversationMemory(summarize_at=4, keep=2)
    for number in range(6):
        conversation.add("user", f"line {number} harbour")

    shown = conversation.get_messages_for_llm()

    assert shown[0]["role"] == "system"
    assert "line 0" in shown[0]["content"]
    assert conversation.search("harbour", limit=10)[0].tier == "messages"
    assert len(conversation.search("harbour", top_k=2)) == 2


def test_an_exported_conversation_can_be_imported() -> None:
    """Export and import are inverse, also through JSON text; anything else is refused."""
    conversation = ConversationMemory()
    conversation.add("user", "grüße")
    other = ConversationMemory()

    other.import_from(json.dumps(conversation.export()))

    assert other.export() == conversation.export()
    with pytest.raises(LoopError, match="messages"):
        other.import_from({"turns": []})
    with pytest.raises(LoopError, match="JSON"):
        other.import_from("{half")
    broken: list[dict[str, Any]] = [{"messages": 3}, {"messages": ["hi"]}, {"messages": [{"role": "user"}]}]
    for one in (*broken, {"messages": [], "older": 3}):
        with pytest.raises(LoopError, match="list of messages"):
            other.import_from(one)
    assert other.export() == conversation.export()


def test_a_statement_told_again_counts_more() -> None:
    """The same statement is kept once, with its highest importance; what matters little goes when consolidated."""
    semantic = SemanticMemory()
    semantic.add("Ada likes green tea", 0.2)
    semantic.add("Ada likes green tea", 0.6)
    semantic.add("The train was late", 0.1)

    dropped = semantic.consolidate()

    assert [known.text for known in dropped] == ["The train was late"]
    assert semantic.search("tea")[0].importance == 0.6
    assert semantic.search("tea")[0].times == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Bob likes Ada", "Ada likes Bob"),
        ("The night train goes from Oslo to Bergen", "The night train goes to Oslo from Bergen"),
        ("The backup of the main database starts at 3 nightly", "The backup of the main database starts at 4 nightly"),
        ("Ada does well without C++", "Ada does well without C"),
    ],
)
def test_other_words_or_another_order_are_another_statement(one: str, other: str) -> None:
    """Neither is lost to the other, and each is forgotten alone."""
    known = SemanticMemory()
    known.learn(one)
    known.learn(other)

    assert [(kept.text, kept.times) for kept in known.statements] == [(one, 1), (other, 1)]
    assert [kept.text for kept in known.forget(one)] == [one] and [kept.text for kept in known.statements] == [other]


@pytest.mark.parametrize("importance", [-0.1, 2, float("nan"), "high"])
def test_an_importance_that_is_no_share_is_refused(importance: Any) -> None:
    """What nothing could be ranked by is not kept."""
    with pytest.raises(LoopError, match="from 0 to 1"):
        SemanticMemory().add("Water boils at 100 degrees", importance)


def test_a_statement_may_be_called_content_and_the_number_of_finds_top_k() -> None:
    """The names of the memory tools hold here as well."""
    semantic = SemanticMemory()
    for content in ("Water boils at 100 degrees", "Water freezes at zero"):
        semantic.add(content=content)

    assert len(semantic.search("water", top_k=1)) == 1
    with pytest.raises(LoopError, match="no statement"):
        semantic.add("")


def test_a_resolved_error_is_the_lesson() -> None:
    """An action that failed and then worked is what the outcome teaches; no step is kept twice."""
    kept: list[tuple[str, tuple[str, ...]]] = []
    tasks = TaskMemory(WorkingMemory(), lambda outcome, taint: kept.append(outcome.text) or "R1")
    tasks.start_task("deploy")
    for _ in range(2):
        tasks.record_step("push", "rejected", succeeded=False)
    tasks.record_step("push", "accepted")
    tasks.working.decide("Which branch?", "main", "It is green")
    episode = tasks.episode

    record_id = tasks.end_task(True, "it runs")

    assert record_id == "R1"
    assert episode is not None
    assert len(episode.steps) == 2
    assert [(made.question, made.rationale) for made in episode.decisions] == [("Which branch?", "It is green")]
    assert kept == ["The task “deploy” succeeded: it runs. Lesson: push worked after it had failed with: rejected."]
    with pytest.raises(LoopError, match="start_task"):
        tasks.end_task(True, "again")


def test_what_is_no_text_is_said_where_it_comes_in() -> None:
    """A model that declined answers None; kept, it would make every later message fail."""
    none, talk = cast("str", None), ConversationMemory(summarize_at=2, keep=1)
    tasks = TaskMemory(WorkingMemory(), lambda outcome, taint: "R1")
    with pytest.raises(LoopError, match="a message is a NoneType"):
        talk.add_message("assistant", none)
    for said in ("My dog is called Rex.", "He is old.", "It rains."):
        talk.add_message("user", said)
    assert [message["content"] for message in talk.messages] == ["It rains."]
    for search in (VirtualContextMemory().search, VirtualContextMemory().recall):
        with pytest.raises(LoopError, match="is searched for is a NoneType"):
            search(none)
    tasks.start_task("deploy")
    for action, result in ((none, ""), ("push", none)):
        with pytest.raises(LoopError, match="of a step is a NoneType"):
            tasks.record_step(action, result)
    with pytest.raises(LoopError, match="evolutionary"):
        HybridPlanner().evolve()


@given(st.lists(texts, max_size=40), st.integers(60, 400))
def test_a_session_context_keeps_its_budget(contents: list[str], budget: int) -> None:
    """The budget holds, the oldest leave first, and what stays is what was said, or its beginning and a mark."""
    main = SessionContext(budget)
    gone = [left["content"] for text in contents for left in main.append({"role": "user", "content": text})]

    seen = gone + [message["content"] for message in main.messages]
    assert main.used() <= budget
    assert len(seen) == len(contents)
    assert all(said.startswith(shown.removesuffix(SHORTENED)) for said, shown in zip(contents, seen, strict=True))


@pytest.mark.parametrize("budget", [100, 140])
def test_a_fence_that_is_cut_stays_closed(budget: int) -> None:
    """What a tool returned is shortened inside its fence, in the prompt and in the report."""
    main = SessionContext(budget)
    main.append({"role": "user", "name": "memory", "content": fence("All hands on deck. " * 90, "outbox", "0a1b")})

    assert main.used() <= budget
    assert main.messages[0]["content"].endswith(f"{SHORTENED}\n</data 0a1b>")
    assert excerpt(fence("x" * 900, "outbox", "0a1b"), 100).endswith(" characters left out)\n</data 0a1b>")


@given(texts, st.text("0123456789abcdef", min_size=6, max_size=12))
def test_nothing_inside_a_fence_can_end_it(text: str, marker: str) -> None:
    """Whatever the text is, the closing line stands once, at the end."""
    fenced = fence(f"{text}\n</data {marker}>\n{text}", "tool", marker)

    assert fenced.split(f"</data {marker}>") == [fenced.removesuffix(f"</data {marker}>"), ""]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner)
    )
)
def test_arguments_of_any_shape_are_read_or_refused(value: object) -> None:
    """JSON text is arguments exactly when it is an object."""
    assert (read_arguments(json.dumps(value)) is not None) == isinstance(value, dict)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-1e999"])
def test_numbers_that_json_does_not_have_are_no_arguments(number: str) -> None:
    """Python reads them, as text or within a mapping, and no server and no envelope could take them back."""
    assert read_arguments(f'{{"deep": [{number}]}}') is None
    assert read_arguments({"deep": [float(number)]}) is None


def test_booleans_are_no_numbers() -> None:
    """A schema that wants an integer refuses true, and names the argument."""
    schema = {"properties": {"count": {"type": "integer"}}, "required": []}

    assert problems(schema, {"count": True}) == ["'count' must be integer"]
    assert problems(schema, {"count": 3}) == []
    either = {"properties": {"on": {"enum": [1, "yes"]}}}
    assert problems(either, {"on": True}) == ["'on' must be one of 1, yes"]
    assert problems(either, {"on": 1}) == []


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("yes, you may remember", True),
        ("You can store that.", True),
        ("I consent to long-term memory", True),
        ("You may not remember anything", False),
        ("don't store anything", False),
        ("may you remember?", None),
        ("I live in Paris", None),
        ("Can you remember?", None),
        (None, None),
    ],
)
def test_consent_is_read_from_plain_words(text: str | None, meaning: bool | None) -> None:
    """Agreement and refusal are told apart, and everything else is neither."""
    assert consent_in(text) is meaning


@given(st.from_regex(re.compile(f"{AGREES}|{DECLINES}", re.IGNORECASE)))
def test_all_that_agrees_or_declines_speaks_of_it(text: str) -> None:
    """No text that a pattern reads is passed over for want of a word."""
    assert any(word in text.casefold() for word in SPOKEN_OF)


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("don't remember that", True),
        ("Forget my address", True),
        ("please delete that", True),
        ("don't forget the milk", False),
        ("I forgot it", False),
        (None, False),
    ],
)
def test_a_wish_to_forget_is_read_from_plain_words(text: str | None, asks: bool) -> None:
    """Only words that ask for it count as a wish to forget."""
    assert asks_to_forget(text) is asks


def test_a_completion_may_be_text_or_data() -> None:
    """A plain function may answer with text or a mapping; a call without a name is refused."""
    assert as_completion("hi").text == "hi"
    assert as_completion({"content": "hi"}).text == "hi"
    with pytest.raises(LoopError, match="name"):
        as_completion({"tool_calls": [{"args": {}}]})


def test_a_conversation_keeps_to_a_budget_of_tokens() -> None:
    """The newest messages come first, then the newest lines of the summary; nothing passes the budget."""
    talk = ConversationMemory(summarize_at=4, keep=2, count=lambda text: len(text.split()))
    for number in range(9):
        talk.add_message("user", f"remark number {number}")

    assert [one["content"] for one in talk.get_messages_for_llm(3)] == ["remark number 8"]
    assert talk.get_messages_for_llm(2) == []
    for budget in range(0, 60, 7):
        seen = talk.get_messages_for_llm(budget)
        assert sum(len(one["content"].split()) for one in seen) <= budget
    assert talk.get_messages_for_llm()[0]["content"].startswith("Summary of the conversation")
    assert talk.get_context_string().splitlines()[-1] == "user: remark number 8"
    talk.clear()
    assert (talk.get_messages_for_llm(), talk.get_context_string(), talk.search("remark")) == ([], "", [])


def test_statements_are_learned_weighed_and_forgotten() -> None:
    """Each sentence is one; what nobody said cannot be weighed."""
    known = SemanticMemory()
    kept = known.learn("Ada likes tea. Bob lives in Oslo!\nThe door is red", importance=0.4)

    assert [one.text for one in kept] == ["Ada likes tea.", "Bob lives in Oslo!", "The door is red"]
    assert known.update_importance("Bob lives in Oslo", 0.9).importance == 0.9
    assert [one.text for one in known.search("where does Bob live in Oslo", threshold=0.3)] == ["Bob lives in Oslo!"]
    assert known.search("Oslo", threshold=1.0) == []
    assert [one.text for one in known.forget("the door is red")] == ["The door is red"]
    with pytest.raises(LoopError, match="There is no statement"):
        known.update_importance("The door is red", 0.1)
    with pytest.raises(LoopError, match="from 0 to 1"):
        known.update_importance("Ada likes tea", 2)


@pytest.mark.parametrize(
    ("told", "asked"),
    [("我喜欢喝茶", "喝茶"), ("京都に住んでいます", "京都"), ("The code is 42", "42"), ("Raum B2", "b2")],
)
def test_short_words_and_scripts_without_blanks_are_found(told: str, asked: str) -> None:
    """In what is known, in what was said, and by all tiers of a context."""
    known, talk, memory = SemanticMemory(), ConversationMemory(), VirtualContextMemory()
    known.add(told)
    talk.add("user", told)
    memory.add({"role": "user", "content": told})

    assert [one.text for one in known.search(asked)] == [told]
    assert [one.text for one in talk.search(asked)] == [told]
    assert [one.text for one in memory.search(asked)] == [told]


def test_what_was_returned_names_a_statement() -> None:
    """Who kept what ``add`` gave weighs and forgets by it; what is neither words nor a statement is said to be none."""
    known = SemanticMemory()
    kept = known.add("Ada likes tea")

    assert known.update_importance(kept, 0.9) == known.search("tea")[0] == replace(kept, importance=0.9)
    for other in (3, None, {"text": "Ada likes tea"}):
        with pytest.raises(LoopError, match="is not a statement"):
            known.update_importance(cast(Any, other), 0.1)
        with pytest.raises(LoopError, match="is not a statement"):
            known.forget(cast(Any, other))
    assert known.forget(kept) == [replace(kept, importance=0.9)] and known.statements == []


def test_an_embedding_function_finds_by_meaning() -> None:
    """Without a word in common, and above a threshold alone; a statement is embedded once."""
    asked: list[str] = []

    def embed(text: str) -> list[float]:
        asked.append(text)
        return [1.0, 0.1] if any(word in text for word in ("tea", "drink")) else [0.0, 1.0]

    known = SemanticMemory(embed)
    known.learn("Ada likes tea. The door is red.")

    assert [one.text for one in known.search("what to drink", threshold=0.5)] == ["Ada likes tea."]
    known.search("what to drink")
    assert asked.count("Ada likes tea.") == 1


@given(st.lists(st.tuples(texts, st.booleans()), max_size=300))
def test_an_episode_keeps_so_much_and_no_more(steps: list[tuple[str, bool]]) -> None:
    """However long a task runs and whatever its tools say, steps, errors and excerpts are bounded; the newest stay."""
    episode = Episode("task")
    for number, (said, succeeded) in enumerate(steps):
        episode.add_step(f"{number} {said * 50}", said * 50, succeeded=succeeded)

    assert len(episode.steps) <= MOST_STEPS and len(episode.errors) <= MOST_ERRORS
    assert all(len(str(value)) <= EXCERPT for step in (*episode.steps, *episode.errors) for value in step.values())
    if steps:
        assert str(episode.steps[-1]["action"]).startswith(f"{len(steps) - 1} ")


@given(st.lists(st.tuples(st.integers(), st.floats(0, 1)), max_size=60))
def test_what_is_known_in_general_is_bounded(told: list[tuple[int, float]]) -> None:
    """Of too many statements the least important go, and never the one that was just told."""
    known = SemanticMemory(max_items=10)
    for number, importance in told:
        kept = known.add(f"statement{number}", importance)
        assert kept in known.statements and len(known.statements) <= 10
