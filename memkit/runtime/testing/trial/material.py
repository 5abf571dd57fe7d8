"""Policies, a domain and tools for a project's tests, which then hold whatever its store contains."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FAILED = {"status": 500, "message": "out of order", "headers": {"retry-after-ms": "1"}}
"""A server error; clients retry once, without a long wait."""
ID = r"\[([0-9A-Za-z]{26})\]"
"""A record's id as shown in recalled text."""

POLICIES = [
    {
        "name": "no_danger",
        "description": "Keep dangerous notes out.",
        "rule": "Never write a note that says danger.",
        "enforcement": "hard",
        "effect": "deny",
        "match": {"tool": "note", "args.text": "*danger*"},
    },
    {
        "name": "ask_for_loud_notes",
        "description": "Ask before a loud note.",
        "rule": "Ask a person before a note that says LOUD.",
        "enforcement": "hard",
        "effect": "ask",
        "match": {"tool": "note", "args.text": "*LOUD*"},
        "exceptions": [{"text": "In tests.", "match": {"context.env": "test"}}],
    },
]

DOMAIN = {
    "name": "errands",
    "types": {"place": "object", "parcel": "object"},
    "predicates": {"at": ["place"], "has": ["parcel"], "delivered": ["parcel"]},
    "operators": [
        {
            "name": "go",
            "parameters": "?from ?to - place",
            "preconditions": ["at ?from"],
            "add": ["at ?to"],
            "remove": ["at ?from"],
        },
        {
            "name": "hand_over",
            "parameters": "?p - parcel",
            "preconditions": ["has ?p"],
            "add": ["delivered ?p"],
            "remove": ["has ?p"],
        },
    ],
    "methods": [
        {
            "name": "walk_and_give",
            "task": "deliver ?p - parcel ?to - place",
            "preconditions": ["at ?here"],
            "subtasks": ["go ?here ?to", "hand_over ?p"],
        }
    ],
    "objects": {"home": "place", "shop": "place", "book": "parcel"},
    "state": ["at home", "has book"],
}


def files(folder: Path, offered: Mapping[str, Any]) -> dict[str, Any]:
    """Return the replacement of ``agent/compiled``; the tools that the project's skills chose are kept."""
    return {"policies.json": POLICIES, "domains.json": [DOMAIN], "settings.json": settings(folder, offered)}


def settings(folder: Path, offered: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with two extra tools: one that writes to ``folder``, and one that fails.

    A note that says "fatal" ends the agent's process.
    """
    write = f"import os, sys; said = sys.stdin.read(); open({str(folder / 'notes')!r}, 'a').write(said)"
    program = f"{write}; 'fatal' in said and os.kill(os.getppid(), 9); print('noted')"
    text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    nothing: dict[str, Any] = {"type": "object", "properties": {}}
    return {
        "name": "tester",
        "persona": "You are being tested.",
        "user": None,
        "write": {"extract": "rules"},  # the script answers the conversation only
        "retrieval": {},
        "context": {"max_tokens": 8000},
        "recall": {},
        "forget": {},
        "consolidate": {},
        "importance": 0.5,
        "checkpoint": {},
        "requests": {"retries": 2},
        "privacy": {"consent": "agent", "long_term": "on"},
        "agent": dict(offered),
        "tools": [
            {
                "name": "note",
                "description": "Write a note.",
                "parameters": text,
                "run": [sys.executable, "-c", program],
            },
            {
                "name": "fail",
                "description": "Fail.",
                "parameters": nothing,
                "run": [sys.executable, "-c", "raise SystemExit('broken')"],
            },
        ],
    }
