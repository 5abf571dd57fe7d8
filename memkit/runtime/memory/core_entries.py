"""Core sections near their limit: which entries have aged, and what stays of them in the prompt."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from .record import JSON, Draft
from .settings import MemorySettings
from .summary import first_sentence
from .times import parse_time, seconds_before

EARLIER = "Earlier (whole in the archive): "
EXCERPT = 60
"""Characters that stay of an entry."""
ROOM = 0.5
"""Share of a section's limit that is aimed at, so that the next entries fit."""
EARLIER_ROOM = 0.2
"""Share of the limit that the line of excerpts may take; its oldest ones make room."""


class Entry(NamedTuple):
    """A line of a core section, and who wrote it when."""

    text: str
    at: str
    actor: str


class Compression(NamedTuple):
    """What a section says from now on, and the entries that the archive keeps instead."""

    user_id: str
    section: str
    text: str
    moved: tuple[Draft, ...]
    agent_id: str | None = None
    """Which of the user's agents has the section; what moves out of it stays that agent's own."""


def compressions(
    user_id: str,
    sections: Mapping[str, str],
    history: Sequence[Mapping[str, JSON]],
    settings: MemorySettings,
    now: datetime,
    *,
    agent_id: str | None = None,
) -> list[Compression]:
    """Return how the sections of a user's agent that are near their limit get room again."""
    limit = settings.context.core_section_limit
    full = [name for name, text in sections.items() if len(text) > settings.context.compress_at * limit]
    found = (_compressed(user_id, name, _entries(sections[name], name, history), settings, now) for name in full)
    return [_owned(compression, agent_id) for compression in found if compression]


def _owned(compression: Compression, agent_id: str | None) -> Compression:
    if agent_id is None:
        return compression
    moved = tuple(draft._replace(scope="agent") for draft in compression.moved)
    return compression._replace(moved=moved, agent_id=agent_id)


def _entries(text: str, section: str, history: Iterable[Mapping[str, JSON]]) -> list[Entry]:
    """Return the lines of a section, each with the edit that it has been there since."""
    since: dict[str, Entry] = {}
    for edit in history:
        if edit["section"] != section or edit["trust"] in ("quarantined", "rejected"):
            continue
        lines = dict.fromkeys(str(edit["text"]).splitlines())
        since = {line: since.get(line) or Entry(line, str(edit["at"]), str(edit["actor"])) for line in lines}
    return [since[line] for line in text.splitlines() if line in since]


def _compressed(
    user_id: str, section: str, entries: Sequence[Entry], settings: MemorySettings, now: datetime
) -> Compression | None:
    limit, border = settings.context.core_section_limit, seconds_before(now, settings.consolidate.after)
    kept, moved = list(entries), list[Entry]()
    for entry in entries:
        aged = entry.text.strip() and not entry.text.startswith(EARLIER) and parse_time(entry.at) < border
        if aged and len(_joined(kept, moved, limit)) > ROOM * limit:
            kept.remove(entry)
            moved.append(entry)
    text = _joined(kept, moved, limit)
    if not moved or len(text) >= len("\n".join(entry.text for entry in entries)):
        return None
    return Compression(user_id, section, text, tuple(_draft(section, entry) for entry in moved))


def _joined(kept: Sequence[Entry], moved: Sequence[Entry], limit: int) -> str:
    """Return the section's text: one line of excerpts, the oldest first, then what stays whole."""
    if not moved:
        return "\n".join(entry.text for entry in kept)
    before = [entry.text.removeprefix(EARLIER) for entry in kept if entry.text.startswith(EARLIER)]
    excerpts = [part for text in before for part in text.split("; ")] + [_excerpt(entry.text) for entry in moved]
    while len(excerpts) > 1 and len(EARLIER + "; ".join(excerpts)) > EARLIER_ROOM * limit:
        excerpts.pop(0)
    rest = [entry.text for entry in kept if not entry.text.startswith(EARLIER)]
    return "\n".join([EARLIER + "; ".join(excerpts), *rest])


def _excerpt(text: str) -> str:
    said = first_sentence(text.strip()).rstrip(".").replace(";", ",")
    return said if len(said) <= EXCERPT else f"{said[: EXCERPT - 1].rstrip()}…"


def _draft(section: str, entry: Entry) -> Draft:
    # Who wrote an entry of the core is known; what it was made of is not, so nobody is made its witness anew.
    source = "explicit" if entry.actor in ("person", "user") else "learned"
    extra: dict[str, JSON] = {"core_section": section, "since": entry.at}
    return Draft(text=entry.text.strip(), tags=("core", section), confidence=0.95, source=source, extra=extra)
