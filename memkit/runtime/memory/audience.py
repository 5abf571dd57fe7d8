"""For whom a record is: for its user, for one agent of that user or one session with it, or for everybody."""

from .record import JSON, Draft, Origin, Record

Audience = tuple[str, JSON]
"""The scope, and the agent, or its session, that it is limited to."""


def audience(scope: str, session_id: JSON, agent_id: JSON) -> Audience:
    """Return who may see what has this scope and came from this session and agent."""
    limits: dict[str, JSON] = {"session": (agent_id, session_id), "agent": agent_id}
    return scope, limits.get(scope)


def audience_of(record: Record) -> Audience:
    """Return who may see ``record``."""
    return audience(record.scope, record.session_id, record.agent_id)


def offered_to(draft: Draft, origin: Origin) -> Audience:
    """Return who could see ``draft`` once it is a record; an import brings its session and agent along."""
    brought = draft.extra if origin.actor == "import" else {}
    session, agent = brought.get("session_id", origin.session_id), brought.get("agent_id", origin.agent_id)
    return audience(
        draft.scope, session if isinstance(session, str) else None, agent if isinstance(agent, str) else None
    )


def is_for(record: Record, session_id: str | None, agent_id: str | None) -> bool:
    """Return whether a record that its user may see concerns this session and this agent."""
    return audience_of(record) == audience(record.scope, session_id, agent_id)


def in_place_of(record: Record, origin: Origin) -> Origin:
    """Return ``origin`` so that what it offers in the place of ``record`` is for the same session or agent."""
    if record.scope == "session":
        return origin._replace(session_id=record.session_id, agent_id=record.agent_id)
    return origin._replace(agent_id=record.agent_id) if record.scope == "agent" else origin
