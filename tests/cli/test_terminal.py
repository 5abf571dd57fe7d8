"""What is printed can be read and can do no harm."""

from __future__ import annotations

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from memkit.cli.output import envelope
from memkit.runtime.host.terminal import harmless, one_line

UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
anything = st.text()


@given(anything)
def test_harmless_text_holds_no_character_that_a_terminal_obeys(text: str) -> None:
    """Only newline and tab of the control characters stay, and printable text is not changed."""
    shown = harmless(text)

    assert not [char for char in shown if unicodedata.category(char) in UNSAFE and char not in "\n\t"]
    assert harmless(shown) == shown


@given(anything)
def test_an_envelope_is_harmless_and_loses_nothing(text: str) -> None:
    """The escapes of ``--json`` are JSON's own, so the reader gets the text as it was stored."""
    printed = envelope("memory.get", {"text": text}, ok=True)

    assert json.loads(printed)["data"]["text"] == text
    assert not [char for char in printed if unicodedata.category(char) in UNSAFE]
    printed.encode("utf-8")


@given(anything)
def test_one_line_is_one_line(text: str) -> None:
    """No text can forge a second line."""
    assert len(one_line(text, 40).splitlines()) <= 1
    assert len(one_line(text, 40)) <= 40
