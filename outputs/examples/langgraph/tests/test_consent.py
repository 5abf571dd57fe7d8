"""Consent: nothing is stored long-term until the user agrees."""

from __future__ import annotations

import pytest

from tests.conftest import Talk

FACT = "I live in the old harbour"
LATER = "I own a boat with a red sail"
STORE = [{"tool": "archival_memory_insert", "args": {"text": FACT}}, "All right."]


def kept(talk: Talk) -> str:
    """Return everything that lies in the store as text."""
    files = (path for path in talk.store.rglob("*") if path.is_file())
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in files)


def test_without_consent_nothing_is_stored_and_the_reply_says_so(talk: Talk) -> None:
    """A write is refused with the code consent, the envelope says so, and no file holds the user's words."""
    reply = talk(FACT, STORE)

    assert reply.codes == ["consent"]
    assert "consent" in reply.message
    assert "harbour" not in kept(talk)


def test_without_a_user_nothing_is_stored(talk: Talk) -> None:
    """Whoever is not named has no long-term memory, whatever they agree to."""
    reply = talk(FACT + ". You may remember that.", STORE, "--consent", user=None)

    assert reply.codes == ["consent"]
    assert "harbour" not in kept(talk)


@pytest.mark.process
def test_agreeing_in_words_is_enough_and_lasts_until_it_is_withdrawn(talk: Talk) -> None:
    """The same write is admitted then; consent holds in the next process; after a withdrawal a write is refused."""
    assert talk(FACT + ". You may remember that.", STORE).codes == []
    assert FACT in kept(talk)
    assert talk.elsewhere("Hello!", ["Hello."]).codes == []

    assert talk("I withdraw my consent.", ["All right."]).codes == ["consent"]
    talk(LATER, [{"tool": "archival_memory_insert", "args": {"text": LATER}}, "All right."])

    assert LATER not in kept(talk)
