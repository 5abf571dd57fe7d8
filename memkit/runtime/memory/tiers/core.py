"""Core sections and consent: what a corpus says about its user besides records, read from its events."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..index.corpus import CorpusIndex
from ..record.lines import JSON
from ..record.record import kind_of

if TYPE_CHECKING:
    from ..record.events import Event

CORE = "core/"


def core_target(section: str) -> str:
    """Return what an edit of ``section`` has as its target."""
    return f"{CORE}{section}"


def core_sections(corpus: CorpusIndex, agent_id: str | None = None) -> dict[str, str]:
    """Return every section of one agent with its latest text that was admitted; an emptied section is left out.

    None is the agent of a user who names none; its sections are no other agent's.
    """
    told = {section: str(event.fields.get("text", "")) for section, event in standing_edits(corpus, agent_id).items()}
    return {section: text for section, text in told.items() if text}


def standing_edits(corpus: CorpusIndex, agent_id: str | None = None) -> "dict[str, Event]":
    """Return the latest edit of each section of one agent that was admitted."""
    edits = [event for event, trust in core_edits(corpus) if trust not in ("quarantined", "rejected")]
    return {event.target.removeprefix(CORE): event for event in edits if event.agent_id == agent_id}


def core_history(corpus: CorpusIndex) -> list[dict[str, JSON]]:
    """Return every edit of every section of every agent, oldest first."""
    return [
        {
            "id": event.id, "section": event.target.removeprefix(CORE), "text": event.fields.get("text", ""),
            "at": event.at, "actor": event.actor, "reason": event.reason, "trust": trust, "user_id": event.user_id,
            "agent_id": event.agent_id, "taint": _taint(event, trust), "session_id": event.session_id,
            "turn_id": event.fields.get("turn_id"),
        }
        for event, trust in core_edits(corpus)
    ]  # fmt: skip


def core_edit(corpus: CorpusIndex, id: str) -> dict[str, JSON] | None:
    """Return one edit of a section; None where ``id`` is nothing of the kind."""
    return next((edit for edit in core_history(corpus) if edit["id"] == id), None)


def core_edits(corpus: CorpusIndex) -> "list[tuple[Event, str]]":
    """Return the edits in order, each with its present trust."""
    return [(event, _trust(corpus, event)) for event in corpus.events(op="core")]


def edits_of_session(corpus: CorpusIndex, session_id: str) -> int:
    """Return how many edits an agent made in a session in its own words; what the user said is verified."""
    edits = corpus.events(op="core")
    own = (event for event in edits if event.session_id == session_id and event.fields.get("trust") != "verified")
    return sum(kind_of(event.actor) == "agent" for event in own)


def consent(corpus: CorpusIndex) -> bool | None:
    """Return what the user said last about being remembered; None when they never did."""
    events = corpus.events(op="consent")
    return bool(events[-1].fields.get("granted")) and not corpus.withholds_consent() if events else None


def _taint(event: "Event", trust: str) -> list[JSON]:
    """Return what may have steered an edit; a person who approved it lifted that."""
    told = event.fields.get("taint")
    return list(told) if isinstance(told, list) and trust != "verified" else []


def _trust(corpus: CorpusIndex, event: "Event") -> str:
    trust = str(event.fields.get("trust", "verified"))
    verdicts: Mapping[str, str] = {"approve": "verified", "reject": "rejected", "revoke": "rejected"}
    for later in corpus.events(target=event.id):
        trust = verdicts.get(later.op, trust)
    return trust
