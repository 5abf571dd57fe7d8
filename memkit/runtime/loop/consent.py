"""What users say about being remembered: that it is allowed, that it is not, or that something be taken back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from .books import Books
from .bound import BoundTool
from .interface import JSON, LoopError, ToolSpec
from .taint import visible

# Whether the user agreed to long-term memory, read from their words and kept in the archive.

KEEP = r"(?:remember|store|keep|save|memori[sz]e|record)"
AGREES = (
    rf"\byou\s+(?:may|can|could|are allowed to|are welcome to|have my permission to|should)\s+(?:now |please |"
    rf"go ahead and )?{KEEP}\b"
    rf"|^\s*(?:yes|yeah|yep|sure|ok(?:ay)?|of course|go ahead|please do|fine|absolutely)\b(?:[\s,.!]+(?:please|"
    rf"go ahead|do|and|you may|sure|of course|fine)\b){{0,3}}[\s,.!]*{KEEP}\b(?!\s+(?:that|to)\b)"
    r"|\bI(?:'m|\s+am)?\s+(?:agree|consent|ok(?:ay)?\s+with|fine\s+with|happy\s+for)\b.{0,40}\b(?:memory|"
    r"remember\w*|stor\w+|sav\w+|keep\w*)\b"
    r"|\b(?:I\s+(?:give|grant)\s+(?:you\s+)?(?:my\s+)?|you\s+have\s+my\s+)(?:consent|permission)\b"
    r"|^\s*I\s+(?:hereby\s+)?(?:consent|agree)\s*[.!]*\s*$"
    rf"|\b(?:feel\s+free|I\s+(?:allow|permit|want)\s+you)\s+to\s+{KEEP}\s+(?:me\b|things|everything|anything|"
    rf"what\b|stuff|facts)"
)
DECLINES = (
    rf"\byou\s+(?:may|can|must|are allowed to|should)\s*(?:not|n't)\s+{KEEP}\s+(?:anything|me|things|what)\b"
    rf"|\b(?:do not|don't|dont|stop|never|quit)\s+(?:remember|stor|keep|sav|record)\w*\s+(?:anything|things|me|"
    rf"what\s+I\s+(?:say|tell)|my\s+(?:data|messages)|any\s+of\s+(?:my|this))\b"
    r"|\b(?:stop|no\s+more)\s+(?:remembering|storing|recording|saving)\s*[.!]*\s*$"
    r"|\bI\s+(?:hereby\s+)?(?:withdraw|revoke|take\s+back)\s+my\s+(?:consent|permission)\b"
    r"|\bI\s+(?:do\s+not|don't|dont)\s+(?:consent|agree)\b(?!\s+(?:with|that|about)\b)"
    rf"|\bI(?:\s+do\s+not|\s+don't|\s+dont|'d\s+rather\s+not)\s+want\s+you\s+to\s+{KEEP}\s+(?:anything|things|"
    rf"me|what)\b"
    rf"|\bI(?:'d|\s+would)\s+(?:rather|prefer)\s+(?:you\s+(?:did\s+not|didn't|didnt)|not)\s+{KEEP}"
)
"""Every repetition in these patterns is bounded, so that matching stays linear in the length of a text."""
SPOKEN_OF = ("remember", "stor", "keep", "sav", "memor", "record", "consent", "permission", "agree")
"""Any statement of either kind contains one of these; without one, no pattern is compiled."""


class Consent(Protocol):
    """The user's answer on whether anything may be kept."""

    def granted(self) -> bool:
        """Return whether the user agreed."""

    def record(self, granted: bool) -> None:
        """Store the user's answer."""


class RecordedConsent:
    """The consent of one user, kept in an archive; ``origin`` says that the user's own words gave it.

    >>> from memkit.runtime.memory.main import ArchivalStore, Origin
    >>> archive = ArchivalStore()
    >>> consent = RecordedConsent(archive, "ada", Origin("user", "ada"))
    >>> consent.granted()
    False
    >>> consent.record(True)
    >>> consent.granted(), archive.consent("ada")
    (True, True)
    """

    def __init__(self, archive: Any, user_id: str, origin: Any) -> None:
        self._archive = archive
        self._user_id = user_id
        self._origin = origin
        self._held: bool | None = None
        """The archive's answer, cached for the running turn."""

    def granted(self) -> bool:
        """Return whether the user agreed; a user who was never asked did not."""
        return self._archive.consent(self._user_id) is True if self._held is None else self._held

    def record(self, granted: bool) -> None:
        """Write the user's answer to the archive."""
        self._archive.set_consent(self._user_id, granted, self._origin)
        self._held = None if self._held is None else granted

    @contextmanager
    def held(self) -> Iterator[None]:
        """Look the answer up once for the whole block, such as a turn; changes by other processes count after it."""
        self._held = self.granted()
        try:
            yield
        finally:
            self._held = None


def consent_in(text: str | None) -> bool | None:
    """Return whether ``text`` agrees to long-term memory, declines it, or says nothing about it.

    >>> consent_in("Yes, you may remember."), consent_in("Don't store anything."), consent_in("I live in Paris.")
    (True, False, None)
    """
    if not text or text.rstrip().endswith("?"):
        return None
    folded = text.casefold()
    if not any(word in folded for word in SPOKEN_OF):
        return None
    if re.search(DECLINES, text, re.IGNORECASE):
        return False
    return True if re.search(AGREES, text, re.IGNORECASE) else None


# Take back a memory that the user asks to have forgotten; only the user's words can start this.

Retire = Callable[[str, str, Sequence[str]], tuple[str, str | None]]
"""Retires one record for a reason and returns its text; a tombstone keeps the value from coming back.

If the choice of record may have been steered, the retirement waits for a person, and its proposal's id is returned too.
"""

ASKS = (
    r"\b(?:do not|don't|dont|no need to|please don't|never|don't need to|don't have to)\s+(?:remember|store|"
    r"keep|save|note)\b"
    r"|(?<!don't )(?<!dont )(?<!not )(?<!never )\b(?:forget|unlearn|unremember|erase|delete|remove|wipe|drop)\s+"
    r"(?!to\b)\w"
    r"|\b(?:scratch|strike) that\b|\btake (?:that|it) back\b|\bundo (?:that|it)\b|^\W*never ?mind\b|"
    r"(?:\bwas|\bi'm|^\W*just) (?:just |only )?(?:joking|kidding|lying)\b|\bi (?:lied\b|made (?:that|it) up\b)"
    r"|\b(?:should not|shouldn't) have (?:stored|saved|remembered|kept)\b|\b(?:that|it)(?:'s| is| was) (?:just |"
    r"only )?(?:private|"
    r"a joke|a lie|none of your business)\b"
)
NAME = "memory_retract"


class RetractionRefused(LoopError):
    """Report that a memory may not be taken back now."""

    exit_code = 1
    code = "retraction_refused"


def asks_to_forget(text: str | None) -> bool:
    """Return whether the user's words ask for something to be forgotten.

    >>> asks_to_forget("Please don't remember that."), asks_to_forget("Don't forget the milk.")
    (True, False)
    """
    return bool(text) and re.search(ASKS, text or "", re.IGNORECASE) is not None


def retraction_tool(retire: Retire, books: Books) -> BoundTool:
    """Return the tool that retires a record; it works only in a turn in which the user asks for it."""

    def retract(args: Mapping[str, JSON]) -> str:
        record_id = str(args["id"])
        if not asks_to_forget(books.user_text):
            raise RetractionRefused("Only the user can have a memory taken back, in words of this turn.")
        if record_id not in books.known_ids:
            raise RetractionRefused(f"{record_id} was neither found nor written in this session. Search for it first.")
        text, waiting = retire(record_id, "the user asked to forget it", books.ledger.taint)
        if waiting is not None:
            why = {"code": "tainted", "message": "Text from outside was in the prompt."}
            books.note({"op": "retract", "id": waiting, "decision": "quarantined", "reasons": [why]})
            return f"Not retired yet: text from outside is in the prompt, so that waits for a person as [{waiting}]."
        books.note({"op": "retract", "id": record_id, "decision": "retired"})
        return f"Retired [{record_id}], which said: {visible(text)}"

    properties = {"id": {"type": "string"}}
    text = "Take a record back when the user says to forget it."
    return BoundTool(ToolSpec(NAME, text, {"type": "object", "properties": properties, "required": ["id"]}), retract)
