"""The write gate: the one judge of everything that wants to become a memory.

It asks in this order and stops at the first refusal; the answers are those of the built-in policy:

====  =====================  =========================================================  ===========
step  code                   question                                                   answer
====  =====================  =========================================================  ===========
1     empty, too_long,       is it a well-formed record of bearable size?               refused
      schema
2     long_term_off,         does the store keep anything, did the user agree to        refused
      off_record, consent    long-term memory, and is it on in this conversation?
3     confidence             is it at least as sure as the policy asks?                 refused
4     secret, personal_data  does any part of it hold a credential or personal number?  refused
5     transient, hedged      did an agent infer it from passing or unsure wording?      refused
6     directive,             does it give orders to a model or hide characters?         quarantined
      hidden_characters
7     tombstone              was this value rejected or erased for this user?           refused
8     duplicate              does it repeat a live record?                              merged
9     contradiction          can it not be true together with a live record?            says so
10    quota                  has this session written enough?                           refused
====  =====================  =========================================================  ===========

What it says never repeats a refused secret.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from ..interface import ArchiveView, Contradicts, Judgement, UnreadableAnswer
from ..record.errors import Reason
from ..record.fields import MAX_TEXT_BYTES
from ..record.lines import JSON
from ..record.record import (
    FIELDS,
    Draft,
    Origin,
    Record,
    audience_of,
    can_meet,
    field_problems,
    lowest_trust,
    offered_to,
)
from ..record.stamps import normal_time, parse_time
from ..settings import WriteSettings
from ..words.wording import hedged_wording, plain, transient_wording
from .hostile import Suspicion, suspicions
from .secrets import CONTACT, HIDDEN, PERSONAL, SECRET, kinds, mask

PASSING_TYPES = ("fact", "preference")
"""Types in which an agent's passing or unsure wording is refused; events may be of today."""
NEEDED = ("type", "scope", "confidence", "importance", "source")
"""What no draft may leave open, besides its text."""
UNCOUNTED = ("import", "program")
"""Actors whose writes do not count against a session's quota."""


MASKABLE = tuple(name for name in Draft._fields if FIELDS[name].masking == "mask")
"""Fields of an offer in which a secret can be masked."""
REFUSED = tuple(name for name, one in FIELDS.items() if one.masking == "refuse" and one.set_by == "payload")
"""Those that name something, so that a secret in them can only be refused."""
SENSITIVE = {
    SECRET: ("secret", "a credential"),
    PERSONAL: ("personal_data", "a personal number"),
    CONTACT: ("personal_data", "a way to reach somebody"),
}
"""Reason code and words for each group of findings."""


class GateDoubt(NamedTuple):
    """Something in an offer that the policy answers with a refusal or with quarantine."""

    answer: str
    reason: Reason


@dataclass(frozen=True)
class WriteGate:
    """Judges offers by the policy of ``settings``; decides and changes nothing."""

    settings: WriteSettings = field(default_factory=WriteSettings)
    contradicts: Contradicts | None = None
    """Asked about near records in which the wording shows no contradiction; what it says only opens questions."""
    long_term: bool = True
    """Whether the store keeps anything beyond a session at all."""

    def judge(self, draft: Draft, origin: Origin, view: ArchiveView, *, consented: bool = True) -> Judgement:
        """Return what should become of ``draft``, with the reasons."""
        if malformed := next(form_problems(draft), None):
            # Before anything reads the text: one of many megabytes costs no more than its length.
            return Judgement("refused", (malformed,))
        fields = self._standing(draft, origin, view.live(draft.supersedes) if draft.supersedes else None)
        offered, draft = draft, masked_draft(draft, self.settings.answered("mask"))
        fields |= differences(offered, draft)
        doubts = list(self._passing(draft, fields)) + self._hostile(texts_of(draft, origin))
        refusal = next(self._refusals(draft, origin, view, doubts, consented=consented), None)
        if refusal:
            return Judgement("refused", (refusal,))
        if doubts:
            reasons = tuple(doubt.reason for doubt in doubts)
            judgement = Judgement("quarantined", reasons, {**fields, "trust": "quarantined"})
        else:
            judgement = self._against_archive(draft, origin, view, fields)
        if offered != draft:
            judgement = judgement._replace(reasons=(*judgement.reasons, MASKED))
        return judgement if judgement.merge_into else self._within_quota(judgement, origin, view)

    def judge_core(
        self, section: str, text: str, origin: Origin, view: ArchiveView, *, consented: bool = True
    ) -> Judgement:
        """Return what should become of ``text`` as the whole new content of a core section."""
        offered = Draft(text=text or section, type="summary", tags=(section,))
        draft = masked_draft(offered, self.settings.answered("mask"))
        doubts = self._hostile((draft.text, section))
        asked = self._refusals(draft, origin, view, doubts, consented=consented)
        refusal = next(chain(_sensitive([section], HIDDEN), asked), None)
        fresh = _fresh_lines(draft.text, origin, view) if text else []
        if not refusal and any(view.is_tombstoned(origin.user_id, line) for line in fresh):
            refusal = TOMBSTONE
        if refusal:
            return Judgement("refused", (refusal,))
        notes, written = ((MASKED,), {"text": draft.text}) if offered.text != draft.text else ((), {})
        held = {**written, "trust": "quarantined"}
        if doubts:
            judgement = Judgement("quarantined", (*(doubt.reason for doubt in doubts), *notes), held)
        elif self._is_grounded(text, origin, view):
            judgement = Judgement("admitted", notes, {**self._standing(offered, origin), **written})
        else:
            judgement = Judgement("quarantined", (UNGROUNDED, *notes), held)
        return self._within_quota(judgement, origin, view)

    def _refusals(
        self, draft: Draft, origin: Origin, view: ArchiveView, doubts: list[GateDoubt], *, consented: bool
    ) -> Iterator[Reason]:
        yield from form_problems(draft)
        if not self.long_term:
            yield Reason("long_term_off", "This store keeps nothing beyond a session: privacy.long_term is off.")
        if not consented:
            yield Reason("consent", "The user has not agreed to long-term memory. Ask first.")
        least = self.settings.min_confidence
        if draft.confidence < least:
            yield Reason("confidence", f"A confidence of {draft.confidence:.2f} is below the policy's {least:.2f}.")
        yield from _sensitive(contents_of(draft), self.settings.answered("refuse"))
        # A name cannot be masked: it says whose memory it is and where it came from.
        yield from _sensitive(names_of(draft, origin), HIDDEN)
        yield from (doubt.reason for doubt in doubts if doubt.answer == "refuse")
        if view.is_tombstoned(origin.user_id, draft.text):
            yield TOMBSTONE

    def _passing(self, draft: Draft, fields: Mapping[str, JSON]) -> Iterator[GateDoubt]:
        """Yield what makes an inferred fact doubtful in its wording."""
        answer = self.settings.transient
        if answer == "allow" or fields["source"] != "inferred" or draft.type not in PASSING_TYPES:
            return
        if words := transient_wording(draft.text):
            yield GateDoubt(answer, Reason("transient", f"“{words}” will not be true for long."))
        if words := hedged_wording(draft.text):
            yield GateDoubt(answer, Reason("hedged", f"“{words}” leaves open whether it is true."))

    def _hostile(self, texts: Iterable[str]) -> list[GateDoubt]:
        """Return what in ``texts`` looks like an attack, with what matched."""
        found = (item for text in texts for item in suspicions(text))
        answer = self.settings.hostile
        advice = "A person can approve it." if answer == "quarantine" else "Say it in other words."
        return [GateDoubt(answer, Reason(item.code, f"{_matched(item)} {advice}")) for item in found]

    def _standing(self, draft: Draft, origin: Origin, corrected: Record | None = None) -> dict[str, JSON]:
        """Return actor, source and trust as they follow from where the offer comes from."""
        own = corrected if corrected is not None and corrected.user_id == origin.user_id else None
        if origin.actor == "agent":
            from .extraction import says_own_words

            if says_own_words(draft.text, origin, own):
                return {"actor": "user", "source": "explicit", "trust": "verified"}
            source = draft.source if draft.source in ("learned", "merged") else "inferred"
            return {"actor": "agent", "source": source, "trust": self._inferred_trust(origin)}
        trust = {"person": "verified", "user": "verified", "program": origin.trust_cap}.get(origin.actor, "candidate")
        return {"actor": origin.actor, "source": draft.source, "trust": trust}

    def _inferred_trust(self, origin: Origin) -> str:
        return lowest_trust("candidate", origin.trust_cap) if self.settings.require_verification else origin.trust_cap

    def _against_archive(self, draft: Draft, origin: Origin, view: ArchiveView, fields: dict[str, JSON]) -> Judgement:
        near = [record for record in view.similar(draft.text, origin.user_id) if _meets(draft, origin, record, view)]
        if not near:
            return Judgement("admitted", (), fields)
        from .contradictions import contradicted
        from .duplicates import near_duplicate

        timely = [record for record in near if _is_undated(draft) or _dates(draft) == _dates(record)]
        same = near_duplicate(
            draft.text, timely, type=draft.type, user_id=origin.user_id, at=self.settings.duplicate_at
        )
        if same and same.id != draft.supersedes:
            return Judgement("merged", (_repeats(same),), fields, merge_into=same.id)
        clashes = [
            record for record in contradicted(draft.text, near, user_id=origin.user_id) if record.id != draft.supersedes
        ]
        judgement = self._with_clashes(draft, fields, clashes) if clashes else Judgement("admitted", (), fields)
        rest = [record for record in near if record not in clashes and record.id != draft.supersedes]
        return self._asked(draft.text, rest, judgement) if rest else judgement

    def _asked(self, text: str, rest: list[Record], judgement: Judgement) -> Judgement:
        """Return ``judgement`` with the records that the model thinks contradicted as further open questions."""
        if self.contradicts is None:
            return judgement
        try:
            places = self.contradicts(text, [record.text for record in rest])
            found = [rest[place].id for place in dict.fromkeys(places) if place >= 0]
        except (UnreadableAnswer, IndexError, TypeError):
            return judgement._replace(reasons=(*judgement.reasons, UNREADABLE))
        if not found:
            return judgement
        known = judgement.record_fields.get("contradicts", ())
        open_ids = [*known, *found] if isinstance(known, list | tuple) else found
        reason = Reason("contradiction", f"A language model thinks it cannot be true together with {', '.join(found)}.")
        fields = {**judgement.record_fields, "contradicts": open_ids}
        return judgement._replace(reasons=(*judgement.reasons, reason), record_fields=fields)

    def _with_clashes(self, draft: Draft, fields: dict[str, JSON], clashes: list[Record]) -> Judgement:
        keeps_stronger = self.settings.contradictions == "keep_stronger"
        weaker = [record.id for record in clashes if keeps_stronger and _outweighs(draft, fields, record)]
        unsettled = [record.id for record in clashes if record.id not in weaker]
        reason = Reason("contradiction", f"It cannot be true together with {', '.join(one.id for one in clashes)}.")
        written = {**fields, "contradicts": unsettled} if unsettled else fields
        if draft.supersedes or not weaker:
            return Judgement("admitted", (reason,), written, outweighs=tuple(weaker))
        return Judgement("admitted", (reason,), written, supersedes=weaker[0], outweighs=tuple(weaker[1:]))

    def _within_quota(self, judgement: Judgement, origin: Origin, view: ArchiveView) -> Judgement:
        most = self.settings.max_per_session
        if origin.session_id is None or origin.actor in UNCOUNTED:
            return judgement
        if view.session_writes(origin.user_id, origin.session_id) < most:
            return judgement
        return Judgement("refused", (Reason("quota", _quota_told(most)),))

    def _is_grounded(self, text: str, origin: Origin, view: ArchiveView) -> bool:
        """Return whether every line of a core section was said by the user, is verified, or a person writes it."""
        if origin.actor in ("person", "user") or (origin.actor == "program" and origin.trust_cap == "verified"):
            return True
        return all(self._line_is_grounded(line, origin, view) for line in _fresh_lines(text, origin, view))

    def _line_is_grounded(self, line: str, origin: Origin, view: ArchiveView) -> bool:
        from .extraction import is_users_own

        if is_users_own(line, origin.user_text or "", (origin.user_id,)):
            return True
        known = (record for record in view.similar(line, origin.user_id) if view.holds(record))
        verified = (record for record in known if record.trust == "verified")
        return any(is_users_own(line, record.text, (origin.user_id,)) for record in verified)


TOMBSTONE = Reason("tombstone", "This value was rejected or erased for this user. A person can allow it again.")
UNREADABLE = Reason("unreadable_answer", "The language model named no contradicted records; the wording decided.")
MASKED = Reason("masked", "What the policy does not let in was replaced before anything was written.")
UNGROUNDED = Reason("ungrounded", "Core memory takes what the user said in this turn or what is verified.")


def _quota_told(most: int) -> str:
    times = "once" if most == 1 else f"{most} times"
    return (
        f"This session has written {times}, the most allowed (write.max_per_session). Say it again in a new session, "
        "or let a person add it outside of one."
    )


def _fresh_lines(text: str, origin: Origin, view: ArchiveView) -> list[str]:
    """Return the lines of a new core section that no section of this agent of the user holds yet."""
    sections = view.core_sections(origin.user_id, origin.agent_id).values()
    known = {plain(line) for section in sections for line in section.splitlines()}
    return [line for line in text.splitlines() if line.strip() and plain(line) not in known]


def texts_of(draft: Draft, origin: Origin) -> list[str]:
    """Return every text of an offer that would be written."""
    return [*contents_of(draft), *names_of(draft, origin)]


def contents_of(draft: Draft) -> list[str]:
    """Return the texts of an offer that say something."""
    return [text for name in MASKABLE for text in _strings(getattr(draft, name))]


def event_problems(fields: Mapping[str, JSON], origin: Origin) -> tuple[Reason, ...]:
    """Return why an event with these fields may not be written: what no record may hold, no event brings in either."""
    told = list(_strings(fields))
    names = [name for name in (origin.user_id, origin.session_id, origin.agent_id) if name]
    orders = (Reason(item.code, _matched(item)) for text in told for item in suspicions(text))
    return (*_sensitive([*told, *names], HIDDEN), *orders)


def names_of(draft: Draft, origin: Origin) -> list[str]:
    """Return the texts of an offer that only name somebody or something."""
    own = [str(getattr(draft, name, None) or draft.extra.get(name, "")) for name in REFUSED]
    return [name for name in (*own, origin.user_id, origin.session_id, origin.agent_id) if name]


def _strings(value: JSON) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)


def form_problems(draft: Draft) -> Iterator[Reason]:
    """Yield what is wrong with the form of ``draft``; nothing said here repeats a secret."""
    if not plain(draft.text):
        yield Reason("empty", "An empty text cannot be recalled. Give it some words.")
    elif len(draft.text) > MAX_TEXT_BYTES or len(draft.text.encode(errors="replace")) > MAX_TEXT_BYTES:
        yield Reason("too_long", f"A record may have {MAX_TEXT_BYTES:,} bytes. Split the text or store a summary.")
    if absent := [key for key in NEEDED if getattr(draft, key) is None]:
        yield Reason("schema", f"A record needs {', '.join(absent)}.")
        return
    for problem in field_problems(draft.to_data()):
        yield Reason("schema", mask(problem))
        return
    if draft.valid_from and draft.valid_until and parse_time(draft.valid_until) < parse_time(draft.valid_from):
        message = f"valid_until {draft.valid_until} lies before valid_from {draft.valid_from}: it would never hold."
        yield Reason("schema", message)


def _sensitive(texts: list[str], groups: frozenset[str]) -> Iterator[Reason]:
    for finding in kinds(texts, groups):
        code, what = SENSITIVE[finding.group]
        yield Reason(code, f"It holds {what} ({finding.kind}). Leave that out.")


def _meets(draft: Draft, origin: Origin, record: Record, view: ArchiveView) -> bool:
    """Return whether a record is for the same eyes as an offer, and may hold when that does."""
    if audience_of(record) != offered_to(draft, origin):
        return False
    return view.holds(record) if _is_undated(draft) else can_meet(draft, record)


def _is_undated(draft: Draft) -> bool:
    return draft.valid_from is None and draft.valid_until is None


def _dates(told: Draft | Record) -> tuple[str, ...]:
    return tuple(normal_time(date) if date else "" for date in (told.valid_from, told.valid_until))


def _matched(item: Suspicion) -> str:
    return f"Matched {item.kind}: “{mask(item.matched)}”."


def _repeats(record: Record) -> Reason:
    return Reason("duplicate", f"It repeats {record.id}, which now counts one more piece of evidence.")


def _outweighs(draft: Draft, fields: dict[str, JSON], other: Record) -> bool:
    """Return whether an offer is explicit or surer than the record it contradicts, and no less trusted."""
    trusted = lowest_trust(str(fields["trust"]), other.trust) == other.trust
    return trusted and (fields["source"] == "explicit" or draft.confidence > other.confidence)


def masked_draft(draft: Draft, groups: frozenset[str]) -> Draft:
    """Return ``draft`` with everything of ``groups`` masked in the fields that can hold a secret."""
    if not groups:
        return draft
    named = {key: value for key, value in draft.extra.items() if key in REFUSED}
    masked = draft._replace(**{name: masked_value(getattr(draft, name), groups) for name in MASKABLE})
    return masked._replace(extra={**masked.extra, **named}) if named else masked


def masked_value(value: Any, groups: frozenset[str]) -> Any:
    """Return ``value`` with everything of ``groups`` masked in the texts in it."""
    if isinstance(value, str):
        return mask(value, groups)
    if isinstance(value, Mapping):
        return {mask(key, groups): masked_value(inner, groups) for key, inner in value.items()}
    if isinstance(value, tuple):
        return tuple(masked_value(inner, groups) for inner in value)
    if isinstance(value, Sequence):
        return [masked_value(inner, groups) for inner in value]
    return value


def differences(before: Draft, after: Draft) -> dict[str, JSON]:
    """Return the fields of a record that masking changed, as they are to be written."""
    if before == after:
        return {}
    old, new = before.to_data(), after.to_data()
    return {key: value for key, value in new.items() if old.get(key) != value}
