"""At a terminal a person is asked: for consent once, and before a call that a policy holds back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.conftest import Talk
from tests.material import notes

LOUD = ("LOUD music", "LOUD bells", "LOUD rain")


def test_consent_is_asked_once(talk: Talk, type_in: Callable[..., None]) -> None:
    """The answer is kept, so the next conversation does not ask again."""
    type_in("yes")
    assert talk("Hello!", ["Hello."]).codes == []

    type_in()
    assert talk("Hello again!", ["Hello."]).codes == []


def test_a_no_is_kept_too(talk: Talk, type_in: Callable[..., None]) -> None:
    """Whoever declines is not asked again, and nothing is stored."""
    type_in("no")
    assert talk("Hello!", ["Hello."]).codes == ["consent"]

    type_in("yes")
    assert talk("Hello again!", ["Hello."]).codes == ["consent"]


def test_a_person_decides_about_a_call_that_needs_approval(
    talk: Talk, type_in: Callable[..., None], compiled: Path
) -> None:
    """Only a yes lets it run, each time anew."""
    type_in("n", "y", "")

    talk("Write it down", [*({"tool": "note", "args": {"text": text}} for text in LOUD), "Done."], "--consent")

    assert [text in notes(compiled) for text in LOUD] == [False, True, False]
