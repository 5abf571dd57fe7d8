"""Whether a record says what the user said, and what else follows from its wording."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.runtime.memory.gate.extraction import draft_from_tool, infer_tags, infer_type, is_users_own
from memkit.runtime.memory.record.record import Origin

OWN = [
    ("Alice prefers espresso over latte", "I prefer espresso over latte."),
    ("I prefer espresso", "Hello there! I prefer espresso, you know. What about you?"),
    ("The user's sister is Mia", "my sister is Mia"),
    ("User lives in Paris", "No, I live in Paris."),
    ("Alice prefers espresso", "I don't like latte, I prefer espresso."),
    ("Alice does not like latte", "I don't like latte, I prefer espresso."),
    ("Alice might move to Berlin", "I might move to Berlin"),
    ("Name: Alice", "My name is Alice"),
    ("Alice is 34", "I am 34."),
    ("I prefer espresso", "Please remember that I prefer espresso in the morning"),
]

NOT_OWN = [
    ("Alice prefers latte over espresso", "I prefer espresso over latte."),
    ("Alice likes tea", "I don't like tea."),
    ("Alice does not like tea", "I like tea."),
    ("Alice likes tea", "Do I like tea?"),
    ("Alice likes tea", "If it rains, I like tea"),
    ("Alice moves to Berlin", "I might move to Berlin"),
    ("Alice is 35", "I am 34."),
    ("Alice owns a boat", "hello"),
    ("Alice likes tea and hates Bob", "I like tea."),
    ("Alice", "I like tea."),
    ("Alice likes tea", ""),
    ("Alice lives in Porto", "My sister lives in Porto."),
    ("Alice likes tea", "She likes tea."),
    ("Alice likes tea", "You like tea."),
    ("Alice lives in Porto", "I live in Porto Alegre."),
    ("Alice ate meat", "I ate meat until 2020."),
    ("Alice moved from Berlin", "I moved to Berlin."),
    ("Alice lives in Porto", "I live near Anna in Porto."),
    ("Alice likes tea", "Bob told me that I like tea"),
]


@pytest.mark.parametrize(("text", "said"), OWN)
def test_the_users_statements_are_their_own(text: str, said: str) -> None:
    """A record with the words of one statement, in their order and with its negations, is the user's own."""
    assert is_users_own(text, said, ("alice",))


@pytest.mark.parametrize(("text", "said"), NOT_OWN)
def test_anything_added_turned_round_or_asked_is_not(text: str, said: str) -> None:
    """A word more, another order, a dropped negation, a question, a condition or a guess makes it an inference."""
    assert not is_users_own(text, said, ("alice",))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["tea", "boat", "Berlin", "green", "harbour"]), min_size=1, max_size=5),
    st.text("xyz", min_size=3, max_size=6),
)
def test_a_foreign_word_is_never_the_users(said: list[str], foreign: str) -> None:
    """Whatever was said, a record with a content word that was not said is no statement of the user."""
    sentence = " ".join(said)

    assert is_users_own(sentence, sentence)
    assert not is_users_own(f"{sentence} {foreign}", sentence)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Alice prefers espresso", "preference"),
        ("Alice is allergic to nuts", "constraint"),
        ("Never book flights before nine", "constraint"),
        ("Alice wants to learn Greek", "goal"),
        ("Alice visited Porto last year", "event"),
        ("Alice's sister is Mia", "fact"),
    ],
)
def test_the_type_follows_the_wording(text: str, kind: str) -> None:
    """Wishes, rules, aims and happenings are told apart by their words."""
    assert infer_type(text) == kind


def test_tags_are_words_of_the_text() -> None:
    """Tags are a few long words of the text."""
    tags = infer_tags("Alice keeps the lighthouse keys in the harbour office")

    assert 0 < len(tags) <= 4
    assert "lighthouse" in tags


def test_whose_words_decides_source_and_confidence() -> None:
    """The user's own words are explicit and surer than what an agent infers; no turn means the host itself."""
    origin = Origin(actor="agent", user_id="alice", user_text="I like tea")

    own, inferred = draft_from_tool("Alice likes tea", origin), draft_from_tool("Alice likes rain", origin)
    host = draft_from_tool("Alice likes rain", Origin(actor="program", user_id="alice"))

    assert (own.source, inferred.source, host.source) == ("explicit", "inferred", "explicit")
    assert own.confidence > inferred.confidence >= 0.7
