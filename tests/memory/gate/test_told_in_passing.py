"""Secrets told in passing in thirty languages are found, and sentences that only speak of them pass."""

from __future__ import annotations

import re
from pathlib import Path

from memkit.runtime.memory.gate.secrets import find_secrets, mask

HERE = Path(__file__).parent
TOLD = (HERE / "told_in_passing.txt").read_text(encoding="utf-8").splitlines()
"""Each has its secret in braces."""
SPOKEN_OF = (HERE / "spoken_of.txt").read_text(encoding="utf-8").splitlines()


def test_at_least_95_of_a_hundred_are_found() -> None:
    """Whatever the language, with what the secret is for between the word and the value."""
    missed = []
    for line in TOLD:
        secret = re.search(r"\{([^{}]+)\}", line)
        assert secret is not None, line
        if secret[1] in mask(line.replace(secret[0], secret[1])):
            missed.append(line)

    assert len(TOLD) > 130
    assert len(missed) <= len(TOLD) // 20, missed


def test_no_sentence_without_one_is_an_alarm() -> None:
    """Passwords that expired, are too short, lie in a safe or must have eight characters."""
    assert len(SPOKEN_OF) >= 130
    assert [line for line in SPOKEN_OF if find_secrets(line)] == []
