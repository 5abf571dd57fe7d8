"""Read what memory tools returned, as a careful model would: records and turns inside the fence, and nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass

HEADLINE = re.compile(r"^\[(?P<id>[^\]\s]+)\](?P<facts>(?: \w+=\S*)*)\s*$")
TURN = re.compile(r"^(?P<at>\d{4}-\d\d-\d\d)\S* session=.* turn=\S+ (?P<role>\w+)$")
OPENING = re.compile(r"^<memory-data (?P<mark>[0-9a-f]+)>$")
LINE = "| "
GOALS = re.compile(r'^<data (?P<mark>[0-9a-f]+) from="goals that are still open">$')
GOAL = re.compile(r"^- \[(?P<id>[^\]\s]+)\] (?P<text>.+?) \(goal, [^()]*?(?:due (?P<due>[\d-]{10}))?\)$")


@dataclass(frozen=True)
class Recalled:
    """One record as a search showed it."""

    id: str
    text: str
    facts: dict[str, str]

    @property
    def date(self) -> str:
        """Return the day it was told."""
        return self.facts.get("date", "")


@dataclass(frozen=True)
class Said:
    """One turn as a conversation search showed it."""

    at: str
    role: str
    text: str


def recalled_records(result: str) -> list[Recalled]:
    """Return the records that a search returned, best first."""
    found = []
    for headline, text in _entries(result):
        match = HEADLINE.match(headline)
        if match:
            facts = dict(fact.split("=", 1) for fact in match["facts"].split())
            found.append(Recalled(match["id"], text, facts))
    return found


def said_turns(result: str) -> list[Said]:
    """Return the turns that a conversation search returned, best first."""
    matches = [(TURN.match(headline), text) for headline, text in _entries(result)]
    return [Said(match["at"], match["role"], text) for match, text in matches if match]


def open_goals(offered: str) -> list[Recalled]:
    """Return the goals that a session's first turn is offered, between the two marks of their block."""
    found: list[Recalled] = []
    mark: str | None = None
    for line in offered.splitlines():
        opening = GOALS.match(line)
        if opening:
            mark = opening["mark"]
        elif mark is not None and line == f"</data {mark}>":
            return found
        elif mark is not None and (goal := GOAL.match(line)):
            found.append(Recalled(goal["id"], goal["text"], {"due": goal["due"]} if goal["due"] else {}))
    return []


def _entries(result: str) -> list[tuple[str, str]]:
    """Return headline and text of each entry between the two marks."""
    entries: list[tuple[str, list[str]]] = []
    mark: str | None = None
    for line in result.splitlines():
        opening = OPENING.match(line)
        if mark is None:
            mark = opening["mark"] if opening else None
        elif line == f"</memory-data {mark}>":
            break
        elif line.startswith(LINE):
            if entries:
                entries[-1][1].append(line.removeprefix(LINE))
        else:
            entries.append((line, []))
    return [(headline, "\n".join(lines)) for headline, lines in entries if lines]
