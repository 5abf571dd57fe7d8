"""What a model makes up is brought into a form that a server takes back."""

from __future__ import annotations

from memkit.runtime.host.wires import CallNumbers, arguments_as_sent, sendable_arguments, sendable_name, sendable_text


def test_parts_of_several_calls_are_kept_apart() -> None:
    """By the index as the protocol says, and by the id where a server gives every call the same index, or none."""
    numbers = CallNumbers()
    assert [numbers.number_of(index, None) for index in (0, 1, 0)] == [0, 1, 0]
    numbers = CallNumbers()
    assert [numbers.number_of(0, call_id) for call_id in ("a", None, "b", "", "b")] == [0, 0, 1, 1, 1]
    numbers = CallNumbers()
    assert [numbers.number_of(None, call_id) for call_id in ("a", None, "b")] == [0, 0, 1]


def test_a_character_that_was_cut_in_two_is_put_together() -> None:
    """Half of a surrogate pair can be sent nowhere and printed nowhere."""
    assert sendable_text("fine \ud83d" + "\ude42") == "fine \U0001f642"
    sendable_text("\ude42 alone \ud83d").encode()


def test_names_and_arguments_that_no_server_takes_have_a_stand_in() -> None:
    """Arguments come back as the model sent them."""
    assert [sendable_name(name) for name in ("note", "rm -rf", "löschen", "x" * 65)] == ["note"] + ["unknown_tool"] * 3
    for text in ('{"a": 1}', '{"a": ', "half of it"):
        assert arguments_as_sent(sendable_arguments(text)) == text
