"""Consent to long-term memory: given in the user's own words or by the host, kept as an event of the archive."""

from __future__ import annotations

from memory.archive.archive import ArchivalStore
from memory.record.record import Origin

MISSING = (
    "Nothing is stored long-term, because this user has not agreed to it. "
    "The user can say 'you may remember what I tell you', or the host can add --consent."
)
SWITCHED_OFF = "Nothing is stored long-term: privacy.long_term is off in this project's settings."
NOBODY = "Nothing is stored or recalled long-term, because no user was named. Add --user NAME."


class Consent:
    """Whether one user agreed to long-term memory."""

    def __init__(self, archive: ArchivalStore, user: str | None, session: str, *, switched_off: bool = False) -> None:
        self._archive = archive
        self._user = user
        self._session = session
        self._switched_off = switched_off
        self._answer = archive.consent(user) if user is not None else None

    def granted(self) -> bool:
        """Return whether something may be stored long-term now."""
        return self._answer is True and not self._switched_off

    def unasked(self) -> bool:
        """Return whether the user could decide and never did."""
        return self._user is not None and self._answer is None and not self._switched_off

    def record(self, granted: bool, actor: str = "user") -> None:
        """Keep what the user, or the person who starts the agent, decided."""
        if self._user is None or granted is self._answer:
            return
        self._archive.set_consent(
            self._user, granted, Origin(actor=actor, user_id=self._user, session_id=self._session)
        )
        self._answer = granted

    def missing(self) -> str | None:
        """Return why nothing is stored, or None when something may be."""
        if self._user is None:
            return NOBODY
        if self._switched_off:
            return SWITCHED_OFF
        return None if self._answer else MISSING
