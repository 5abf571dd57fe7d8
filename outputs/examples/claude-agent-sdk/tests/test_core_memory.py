"""Core memory within a turn, whose system prompt the SDK makes only once."""

from __future__ import annotations

from memkit_runtime.testing.trial.talking import Talk

NOTE = {"tool": "note", "args": {"text": "milk"}}


def test_core_memory_is_shown_anew_inside_the_turn_once(talk: Talk) -> None:
    """After a change the next request contains the current sections, and the request after it does not repeat them."""
    script = [{"tool": "core_memory_append", "args": {"section": "human", "text": "I work at sea"}}, NOTE, "Good."]

    talk("I work at sea", script, "--consent")

    shown = [prompt.count("Core memory has changed") for prompt in talk.system_prompts()]
    assert shown == [0, 1, 1]
