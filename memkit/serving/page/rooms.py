"""The rooms of the page: what each shows, from the same use cases as the command line, as plain values."""

from __future__ import annotations

from collections.abc import Mapping

from memkit.serving.page.memory_rooms import health, memory, people, relations, talks, time, today, waiting
from memkit.serving.page.room import Room
from memkit.serving.page.store_rooms import changes, evolution, plans, policies, settings, skills

ROOMS: Mapping[str, Room] = {
    room.name: room
    for room in (
        Room("today", "Today", today),
        Room("memory", "Memory", memory),
        Room("relations", "Relations", relations),
        Room("waiting", "Waiting", waiting),
        Room("time", "Time", time, at_desk=False),
        Room("changes", "Changes", changes, at_desk=False),
        Room("policies", "Policies", policies, at_desk=False),
        Room("skills", "Skills", skills, at_desk=False),
        Room("talks", "Talks", talks),
        Room("plans", "Plans", plans, at_desk=False),
        Room("evolution", "Evolution", evolution, at_desk=False, operators=True),
        Room("health", "Health", health, at_desk=False),
        Room("people", "People", people),
        Room("settings", "Settings", settings, at_desk=False, operators=True),
    )
}
"""By name, in the order of the menu."""
