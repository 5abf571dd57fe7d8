"""Core sections and consent: what a user's events say besides records, and which entries of a full section move out."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from ..index.corpus import CorpusIndex
from ..record.events import Event
from ..record.lines import JSON
from ..record.record import Draft
from ..record.stamps import parse_time, seconds_before
from ..settings import MemorySettings
from .budget import first_sentence

CORE = "core/"


def core_target(section: str) -> str:
    """Return what an edit of ``section`` has as its target."""
    return f"{CORE}{section}"


def core_sections(corpus: CorpusIndex, agent_id: str | None = None) -> dict[str, str]:
    """Return every section of one agent with its latest text that was admitted; an emptied section is left out.

    None is the agent of a user who names none; its sections are no other agent's.
    """
    sections: dict[str, str] = {}
    for event, trust in core_edits(corpus):
        if event.agent_id == agent_id and trust not in ("quarantined", "rejected"):
            sections[event.target.removeprefix(CORE)] = str(event.fields.get("text", ""))
    return {section: text for section, text in sections.items() if text}


def core_history(corpus: CorpusIndex) -> list[dict[str, JSON]]:
    """Return every edit of every section of every agent, oldest first."""
    return [
        {
            "id": event.id, "section": event.target.removeprefix(CORE), "text": event.fields.get("text", ""),
            "at": event.at, "actor": event.actor, "reason": event.reason, "trust": trust, "user_id": event.user_id,
            "agent_id": event.agent_id,
        }
        for event, trust in core_edits(corpus)
    ]  # fmt: skip


def core_edit(corpus: CorpusIndex, id: str) -> dict[str, JSON] | None:
    """Return one edit of a section; None where ``id`` is nothing of the kind."""
    return next((edit for edit in core_history(corpus) if edit["id"] == id), None)


def core_edits(corpus: CorpusIndex) -> list[tuple[Event, str]]:
    """Return the edits in order, each with its present trust."""
    return [(event, _trust(corpus, event)) for event in corpus.events(op="core")]


def edits_of_session(corpus: CorpusIndex, session_id: str) -> int:
    """Return how many edits a session made, but for those of programs: they lay together what was written before."""
    edits = corpus.events(op="core")
    return sum(event.session_id == session_id and event.actor not in ("import", "program") for event in edits)


def consent(corpus: CorpusIndex) -> bool | None:
    """Return what the user said last about being remembered; None when they never did."""
    events = corpus.events(op="consent")
    return bool(events[-1].fields.get("granted")) if events else None


def _trust(corpus: CorpusIndex, event: Event) -> str:
    trust = str(event.fields.get("trust", "verified"))
    verdicts: Mapping[str, str] = {"approve": "verified", "reject": "rejected", "revoke": "rejected"}
    for later in corpus.events(target=event.id):
        trust = verdicts.get(later.op, trust)
    return trust


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
