"""The transcript: the users' messages, part by part, and the model's answers, from ``transcript.yaml``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memkit.equivalence.interface import Part, TranscriptTurn
from memkit.store.yaml import load_yaml

RAIN = "Tell me about the weather of last week, day by day, with all the numbers that you have. " * 60
STANDS_FOR = {
    "<found>": r"${tool_result:\[([0-9A-HJKMNP-TV-Z]{26})\]}",
    "<rain>": RAIN,
    "<rained>": "It rained. " * 40,
    "<key>": "sk-proj-" + "a1B2c3D4e5" * 4,
    "<too long>": "x" * 90,
}
"""Abbreviations in the file; ``<found>`` is the id of the first record in the newest tool result."""


def _turn(data: Mapping[str, Any]) -> TranscriptTurn:
    spelled = json.dumps(data)
    for short, whole in STANDS_FOR.items():
        spelled = spelled.replace(short, json.dumps(whole)[1:-1])
    turn = json.loads(spelled)
    return TranscriptTurn(**turn | {"probes": tuple(turn.get("probes", ()))})


PARTS = tuple(
    Part(part["name"], part["capability"], tuple(map(_turn, part["turns"])))
    for part in load_yaml(Path(__file__).with_name("transcript.yaml")).data
)
FORTY_TURNS = PARTS[-1]
"""A model that writes as real ones do: in its own words, several facts at once, under labels.

It believes what a page says, calls tools that fail, learns of mistakes late, and repeats itself. It names arguments as
other systems do, gives them the wrong form, misquotes, and cites what it made up. The user is
Vera, a nurse in Lisbon; ``docs/forty-turns.md``, which is written from a run, shows the final memory.
"""
