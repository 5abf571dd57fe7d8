"""The write gate: the only judge of what becomes a memory.

It asks these questions in order and stops at the first refusal; the answers are those of the default policy:

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
8     tainted                would it replace something, or core memory, under taint?    quarantined
9     persons_section        does an agent put its own words where people write?        quarantined
10    duplicate              does it repeat a live record?                              merged
11    contradiction          can it not be true together with a live record?            says so
12    quota                  has the agent inferred enough in this session?             refused
====  =====================  =========================================================  ===========

Its messages never repeat a refused secret. A tainted offer is not evidence, settles nothing and opens no question.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from ..interface import ArchiveView, Contradicts, Judgement, UnreadableAnswer, WriteSettings
from ..record.lines import JSON, Reason, normal_time, parse_time
from ..record.record import (
    ADDED_TO,
    FIELDS,
    MAX_PARENTS,
    MAX_TEXT_BYTES,
    PERSONS,
    Draft,
    Origin,
    Record,
    audience_of,
    can_meet,
    field_problems,
    item_of,
    kind_of,
    lowest_trust,
    offered_to,
    replaced_by,
    union,
)
from ..words.text import plain
from .hostile import Suspicion, suspicions
from .secrets import CONTACT, HIDDEN, PERSONAL, SECRET, kinds, mask

AGENTS = ("agent", "mcp")
"""Actors that speak for a model."""
PASSING_TYPES = ("fact", "preference")
"""Types for which an agent's passing or unsure wording is refused; events may be about today."""
NEEDED = ("type", "scope", "confidence", "source")
"""Fields that a draft must set, besides its text."""
MASKABLE = tuple(name for name in Draft._fields if FIELDS[name].masking == "mask")
"""Fields of an offer in which a secret can be masked."""
REFUSED = tuple(name for name, one in FIELDS.items() if one.masking == "refuse" and one.set_by == "payload")
"""Fields that are names, so that a secret in them can only be refused."""
SENSITIVE = {
    SECRET: ("secret", "a credential"),
    PERSONAL: ("personal_data", "a personal number"),
    CONTACT: ("personal_data", "a way to reach somebody"),
}
"""Reason code and words for each group of findings."""


class GateDoubt(NamedTuple):
    """Something in an offer that the policy answers with refusal or quarantine."""

    answer: str
    reason: Reason


class WriteGate:
    """Judges offers by the policy of ``settings``; decides and changes nothing.

    >>> archive = ArchivalStore(gate=WriteGate(long_term=False))
    >>> archive.offer(Draft("Ada lives in Bergen"), Origin("user", "ada")).reasons[0].code
    'long_term_off'
    """

    def __init__(
        self,
        settings: WriteSettings | None = None,
        contradicts: Contradicts | None = None,
        long_term: bool = True,
        sections: Collection[str] = ("human",),
    ) -> None:
        """Apply the policy of ``settings``, or the default one.

        Args:
            settings: What is refused, quarantined, masked or left open.
            contradicts: Asked about near records whose wording shows no contradiction; its answer only opens
                questions.
            long_term: Whether the store keeps anything beyond a session at all.
            sections: The core sections that an agent may write in its own words.
        """
        self.settings = settings or WriteSettings()
        self.contradicts = contradicts
        self.long_term = long_term
        self.sections = sections

    def judge(self, draft: Draft, origin: Origin, view: ArchiveView, *, consented: bool = True) -> Judgement:
        """Return the verdict on ``draft``, with the reasons."""
        if malformed := next(form_problems(draft), None):
            # Checked before anything reads the text: one of many megabytes costs no more than its length.
            return Judgement("refused", (malformed,))
        fields = self._standing(draft, origin)
        if "taint" not in fields and _is_led_astray(draft, origin, view):
            fields = self._inferred(draft, origin)
        offered, draft = draft, masked_draft(draft, self.settings.answered("mask"))
        masked = differences(offered, draft)
        fields |= masked
        doubts = list(self._passing(draft, fields, origin)) + self._hostile(texts_of(draft, origin))
        asked = self._refusals(draft, origin, view, doubts, consented=consented)
        refusal = next(chain(form_problems(draft) if masked else (), asked), None)
        if refusal:
            return Judgement("refused", (refusal,))
        if doubts:
            reasons = tuple(doubt.reason for doubt in doubts)
            judgement = Judgement("quarantined", reasons, {**fields, "trust": "quarantined"})
        elif "taint" in fields and _takes_a_clean_place(draft, origin, view):
            judgement = Judgement("quarantined", (TAINTED,), {**fields, "trust": "quarantined"})
        else:
            judgement = self._against_archive(draft, origin, view, fields)
        if offered != draft:
            judgement = judgement._replace(reasons=(*judgement.reasons, MASKED))
        return judgement if judgement.merge_into else self._within_quota(judgement, origin, view)

    def judge_document(
        self, value: JSON, origin: Origin, names: Sequence[str] = (), *, consented: bool = True
    ) -> tuple[tuple[Reason, ...], Callable[[JSON], JSON]]:
        """Return why a document may not be kept, and a function that masks what the policy does not admit.

        It is not a statement: the only questions are whether anything may be kept, and what it and its ``names``,
        which cannot be masked, give away.
        """
        told = list(_strings(value))
        names = [name for name in (*names, origin.user_id, origin.session_id, origin.agent_id) if name]
        masked = self.settings.answered("mask")
        reasons = (
            *self._not_kept(consented), *_sensitive(told, self.settings.answered("refuse")), *_sensitive(names, HIDDEN)
        )  # fmt: skip
        return reasons, lambda whole: masked_value(whole, masked) if masked else whole

    def _not_kept(self, consented: bool) -> Iterator[Reason]:
        if not self.long_term:
            yield Reason("long_term_off", "This store keeps nothing beyond a session: privacy.long_term is off.")
        if not consented:
            yield Reason("consent", "The user has not agreed to long-term memory. Ask first.")

    def judge_core(
        self, section: str, text: str, origin: Origin, view: ArchiveView, *, consented: bool = True
    ) -> Judgement:
        """Return the verdict on ``text`` as the entire new content of a core section."""
        offered = Draft(text=text or section, type="summary", tags=(section,))
        draft = masked_draft(offered, self.settings.answered("mask"))
        doubts = self._hostile((draft.text, section))
        asked = chain(form_problems(draft), self._refusals(draft, origin, view, doubts, consented=consented))
        refusal = next(chain(_sensitive([section], HIDDEN), asked), None)
        fresh, gone = _line_changes(section, draft.text if text else "", origin, view)
        if not refusal and any(view.is_tombstoned(origin.user_id, line) for line in fresh):
            refusal = TOMBSTONE
        if refusal:
            return Judgement("refused", (refusal,))
        fields = self._standing(offered, origin)
        if kind_of(origin.actor) in AGENTS:
            from .extraction import says_own_words

            is_said = bool(fresh) and all(says_own_words(line, origin) for line in fresh) and _replaces(fresh, gone)
            is_chosen = not origin.taint or section in self.sections
            fields = self._said() if is_said and is_chosen else {**self._inferred(draft, origin), "trust": "candidate"}
        notes: tuple[Reason, ...] = ()
        if offered.text != draft.text:
            notes, fields = (MASKED,), {**fields, "text": draft.text}
        if why := (*(doubt.reason for doubt in doubts), *self._kept_from_core(section, fields)):
            judgement = Judgement("quarantined", (*why, *notes), {**fields, "trust": "quarantined"})
        else:
            judgement = Judgement("admitted", notes, fields)
        return self._within_quota(judgement, origin, view)

    def _kept_from_core(self, section: str, fields: Mapping[str, JSON]) -> Iterator[Reason]:
        """Yield the reasons why a new text of a core section waits for a person."""
        if "taint" in fields:
            yield TAINTED
        elif kind_of(str(fields["actor"])) in AGENTS and section not in self.sections:
            yield Reason("persons_section", f"{section} belongs to people: an agent's own words wait for a person.")

    def _refusals(
        self, draft: Draft, origin: Origin, view: ArchiveView, doubts: list[GateDoubt], *, consented: bool
    ) -> Iterator[Reason]:
        yield from self._not_kept(consented)
        least = self.settings.min_confidence
        if draft.confidence < least:
            yield Reason("confidence", f"A confidence of {draft.confidence:.2f} is below the policy's {least:.2f}.")
        yield from _sensitive(contents_of(draft), self.settings.answered("refuse"))
        # A name cannot be masked: it identifies whose memory it is and where it came from.
        yield from _sensitive(names_of(draft, origin), HIDDEN)
        yield from (doubt.reason for doubt in doubts if doubt.answer == "refuse")
        if view.is_tombstoned(origin.user_id, draft.text):
            yield TOMBSTONE

    def _passing(self, draft: Draft, fields: Mapping[str, JSON], origin: Origin) -> Iterator[GateDoubt]:
        """Yield the doubts raised by the wording of an inferred fact, or of an agent's that states none."""
        answer = self.settings.transient
        is_agents = kind_of(origin.actor) in AGENTS and draft.type != "event"
        is_inferred = fields["source"] == "inferred" and draft.type in PASSING_TYPES
        if answer == "allow" or not (is_agents or is_inferred):
            return
        from ..words.wording import hedged_wording, is_taken_back, transient_wording

        if is_agents and is_taken_back(draft.text):
            yield GateDoubt(answer, NO_FACT)
        if not is_inferred:
            return
        if words := transient_wording(draft.text):
            yield GateDoubt(answer, Reason("transient", f"“{words}” will not be true for long."))
        if words := hedged_wording(draft.text):
            yield GateDoubt(answer, Reason("hedged", f"“{words}” leaves open whether it is true."))

    def _hostile(self, texts: Iterable[str]) -> list[GateDoubt]:
        """Return the suspected attacks in ``texts``, each with the matched words."""
        found = (item for text in texts for item in suspicions(text))
        answer = self.settings.hostile
        advice = "A person can approve it." if answer == "quarantine" else "Say it in other words."
        return [GateDoubt(answer, Reason(item.code, f"{_matched(item)} {advice}")) for item in found]

    def _standing(self, draft: Draft, origin: Origin) -> dict[str, JSON]:
        """Return actor, source, trust, taint and parents according to the origin of the offer."""
        kind = kind_of(origin.actor)
        if kind in PERSONS:
            return {"actor": origin.actor, "source": draft.source, "trust": "verified"}
        if kind in AGENTS:
            return self._said() if _is_said(draft, origin) else self._inferred(draft, origin)
        carried = _carried(draft, origin)
        trust = lowest_trust(origin.trust_cap, "candidate" if kind != "program" or "taint" in carried else "verified")
        return {"actor": origin.actor, "source": draft.source, "trust": trust, **carried}

    def _said(self) -> dict[str, JSON]:
        """Return the standing of the user's words in the running turn, whoever writes them down."""
        return {"actor": "user", "source": "explicit", "trust": "verified"}

    def _inferred(self, draft: Draft, origin: Origin) -> dict[str, JSON]:
        """Return the standing of an agent's own words."""
        source = draft.source if draft.source in ("learned", "merged") else "inferred"
        carried = _carried(draft, origin)
        sure = not self.settings.require_verification and "taint" not in carried
        return {"actor": origin.actor, "source": source, "trust": "verified" if sure else "candidate", **carried}

    def _against_archive(self, draft: Draft, origin: Origin, view: ArchiveView, fields: dict[str, JSON]) -> Judgement:
        if item_of(draft):
            return Judgement("admitted", (), fields)
        tainted, at = "taint" in fields, self.settings.duplicate_at  # a tainted offer contradicts nothing
        found = view.alike(draft.text, origin.user_id, at) if tainted else view.similar(draft.text, origin.user_id)
        near = [record for record in found if _meets(draft, origin, record, view)]
        if not near:
            return Judgement("admitted", (), fields)
        timely = [record for record in near if _is_undated(draft) or _dates(draft) == _dates(record)]
        clean = [record for record in near if not record.taint]
        same = self._same(draft, origin, [record for record in timely if not record.taint])
        doubtful = self._same(draft, origin, [record for record in timely if record.taint])
        if tainted:
            known = same or doubtful
            if known is None:
                return Judgement("admitted", (), fields)
            return Judgement(
                "merged", (Reason("duplicate", f"It repeats {known.id}."), NO_EVIDENCE), fields, merge_into=known.id
            )
        if same:
            told = Reason("duplicate", f"It repeats {same.id}, which now counts one more piece of evidence.")
            return Judgement("merged", (told,), fields, merge_into=same.id)
        from .contradictions import contradicted

        clashes = [
            record
            for record in contradicted(draft.text, clean, user_id=origin.user_id)
            if record.id != draft.supersedes
        ]
        judgement = self._with_clashes(draft, fields, clashes) if clashes else Judgement("admitted", (), fields)
        rest = [record for record in clean if record not in clashes and record.id != draft.supersedes]
        judgement = self._asked(draft.text, rest, judgement) if rest else judgement
        return judgement._replace(outweighs=(*judgement.outweighs, doubtful.id)) if doubtful else judgement

    def _same(self, draft: Draft, origin: Origin, records: Sequence[Record]) -> Record | None:
        """Return the one of ``records`` that an offer repeats, unless the offer is meant to replace it."""
        from .duplicates import near_duplicate

        at = self.settings.duplicate_at
        same = near_duplicate(draft.text, records, type=draft.type, user_id=origin.user_id, at=at)
        return same if same and same.id != draft.supersedes else None

    def _asked(self, text: str, rest: list[Record], judgement: Judgement) -> Judgement:
        """Return ``judgement`` with further open questions for the records that the model considers contradicted."""
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
        if origin.session_id is None or kind_of(str(judgement.record_fields.get("actor"))) != "agent":
            return judgement
        if view.session_writes(origin.user_id, origin.session_id) < most:
            return judgement
        return Judgement("refused", (Reason("quota", _quota_told(most)),))


NO_FACT = Reason("transient", "It takes something back, and states nothing to remember.")
TOMBSTONE = Reason("tombstone", "This value was rejected or erased for this user. A person can allow it again.")
UNREADABLE = Reason("unreadable_answer", "The language model named no contradicted records; the wording decided.")
MASKED = Reason("masked", "What the policy does not admit was replaced before anything was written.")
TAINTED = Reason("tainted", "Text from outside may have steered it, so it waits for a person: approve it or reject it.")
NO_EVIDENCE = Reason("tainted", "Text from outside may have steered it, so it is not evidence and changes nothing.")


def _quota_told(most: int) -> str:
    times = "once" if most == 1 else f"{most} times"
    return (
        f"This session has written {times}, the limit (write.max_per_session). Say it again in a new session, or let "
        "a person add it outside one."
    )


def _line_changes(section: str, text: str, origin: Origin, view: ArchiveView) -> tuple[list[str], list[str]]:
    """Return the lines that a new core section adds, and those that it no longer contains."""
    before = view.core_sections(origin.user_id, origin.agent_id).get(section, "").splitlines()
    old, new = ({plain(line): line for line in lines if line.strip()} for lines in (before, text.splitlines()))
    return [new[line] for line in new if line not in old], [old[line] for line in old if line not in new]


def _replaces(fresh: Sequence[str], gone: Sequence[str]) -> bool:
    """Return whether every removed line was replaced by one on the same subject: same label, or same first words."""
    return {_about(line) for line in gone} <= {_about(line) for line in fresh}


def _about(line: str) -> str:
    from .extraction import label_of

    return plain(label_of(line) or " ".join(line.split()[:2]))


def _carried(draft: Draft, origin: Origin) -> dict[str, JSON]:
    """Return taint and parents from the channel, plus an import's own; empty if there are none."""
    told: dict[str, Sequence[str]] = {"taint": origin.tainted_by, "parents": origin.parents}
    if kind_of(origin.actor) == "import":
        told = {name: (*told[name], *_labels(draft.extra.get(name))) for name in ADDED_TO}
    kept = {"taint": union(told["taint"]), "parents": tuple(dict.fromkeys(told["parents"]))[:MAX_PARENTS]}
    return {name: [mask(one) for one in given] for name, given in kept.items() if given}


def _labels(given: JSON) -> list[str]:
    return [one for one in given if isinstance(one, str)] if isinstance(given, list | tuple) else []


def _takes_a_clean_place(draft: Draft, origin: Origin, view: ArchiveView) -> bool:
    """Return whether a tainted offer would replace something; an import may replace what imports brought, tainted too.

    Text that a program composes replaces what it is made of, which has the same taint.
    """
    if kind_of(origin.actor) == "program":
        return False
    replaced = [view.live(id) for id in replaced_by(draft)]
    if (item := item_of(draft)) and all(old is not None and item_of(old) == item for old in replaced):
        return False  # values that a program keeps under one name are the history of one value
    if kind_of(origin.actor) == "import":
        return any(old is None or not old.taint for old in replaced)
    return bool(replaced)


def _is_said(draft: Draft, origin: Origin) -> bool:
    """Return whether an agent wrote down the user's words; a key that text from outside may have chosen is a label."""
    from .extraction import says_own_words

    key = draft.extra.get("key") if origin.taint else None
    return says_own_words(f"{key}: {draft.text}" if key else draft.text, origin)


def _is_led_astray(draft: Draft, origin: Origin, view: ArchiveView) -> bool:
    """Return whether an agent in a tainted turn would replace a record that the user's words do not speak of."""
    if not origin.taint or kind_of(origin.actor) not in AGENTS or draft.extra.get("key"):
        return False
    from ..words.wording import content_words, is_negation
    from .contradictions import contradict

    def subjects(text: str) -> set[str]:
        return {word for word in content_words(text) if not is_negation(word)} - {*content_words(origin.user_id)}

    replaced = [old.text for id in replaced_by(draft) if (old := view.live(id))]
    return not all(subjects(draft.text) & subjects(old) or contradict(draft.text, old) for old in replaced)


def texts_of(draft: Draft, origin: Origin) -> list[str]:
    """Return every text of an offer that would be written."""
    return [*contents_of(draft), *names_of(draft, origin)]


def contents_of(draft: Draft) -> list[str]:
    """Return the texts of an offer that carry content."""
    return [text for name in MASKABLE for text in _strings(getattr(draft, name))]


def event_problems(fields: Mapping[str, JSON], origin: Origin) -> tuple[Reason, ...]:
    """Return why an event with these fields may not be written; the rules are those for records."""
    told = list(_strings(fields))
    names = [name for name in (origin.user_id, origin.session_id, origin.agent_id) if name]
    orders = (Reason(item.code, _matched(item)) for text in told for item in suspicions(text))
    return (*_sensitive([*told, *names], HIDDEN), *orders)


def names_of(draft: Draft, origin: Origin) -> list[str]:
    """Return the texts of an offer that only name somebody or something."""
    own = [str(getattr(draft, name, None) or draft.extra.get(name, "")) for name in REFUSED]
    return [name for name in (*own, origin.user_id, origin.session_id, origin.agent_id) if name]


def _strings(value: JSON) -> Iterator[str]:
    """Yield every string of a value, keys included, in order and however deep."""
    rest = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            rest += [part for key, inner in reversed(one.items()) for part in (inner, str(key))]
        elif isinstance(one, list | tuple):
            rest += reversed(one)


def form_problems(draft: Draft) -> Iterator[Reason]:
    """Yield the faults in the form of ``draft``; the messages never repeat a secret."""
    if len(draft.text) > MAX_TEXT_BYTES or len(draft.text.encode(errors="replace")) > MAX_TEXT_BYTES:
        yield Reason(
            "too_long", f"A record may have at most {MAX_TEXT_BYTES:,} bytes. Split the text or store a summary."
        )
    elif not any(map(str.isprintable, plain(draft.text).replace(" ", ""))):
        yield Reason("empty", "An empty text cannot be recalled. Give it some words.")
    if absent := [key for key in NEEDED if getattr(draft, key) is None]:
        yield Reason("schema", f"A record needs {', '.join(absent)}.")
        return
    for problem in field_problems(draft.to_data()):
        yield Reason("schema", mask(problem))
        return
    if draft.valid_from and draft.valid_until and parse_time(draft.valid_until) < parse_time(draft.valid_from):
        message = f"valid_until {draft.valid_until} is before valid_from {draft.valid_from}: it would never be valid."
        yield Reason("schema", message)


def _sensitive(texts: list[str], groups: frozenset[str]) -> Iterator[Reason]:
    for finding in kinds(texts, groups):
        code, what = SENSITIVE[finding.group]
        yield Reason(code, f"It contains {what} ({finding.kind}). Leave that out.")


def _meets(draft: Draft, origin: Origin, record: Record, view: ArchiveView) -> bool:
    """Return whether a record has the same audience as an offer, and can be valid at the same time."""
    if item_of(record) or audience_of(record) != offered_to(draft, origin) or record.key != draft.extra.get("key"):
        return False
    return view.holds(record) if _is_undated(draft) else can_meet(draft, record)


def _is_undated(draft: Draft) -> bool:
    return draft.valid_from is None and draft.valid_until is None


def _dates(told: Draft | Record) -> tuple[str, ...]:
    return tuple(normal_time(date) if date else "" for date in (told.valid_from, told.valid_until))


def _matched(item: Suspicion) -> str:
    return f"Matched {item.kind}: “{mask(item.matched)}”."


def _outweighs(draft: Draft, fields: dict[str, JSON], other: Record) -> bool:
    """Return whether an offer is explicit or more confident than the record it contradicts, and no less trusted."""
    trusted = lowest_trust(str(fields["trust"]), other.trust) == other.trust
    return trusted and (fields["source"] == "explicit" or draft.confidence > other.confidence)


def masked_draft(draft: Draft, groups: frozenset[str]) -> Draft:
    """Return ``draft`` with findings of ``groups`` masked in the fields that can hold a secret."""
    if not groups:
        return draft
    named = {key: value for key, value in draft.extra.items() if key in REFUSED}
    masked = draft._replace(**{name: masked_value(getattr(draft, name), groups) for name in MASKABLE})
    return masked._replace(extra={**masked.extra, **named}) if named else masked


def masked_value(value: Any, groups: frozenset[str]) -> Any:
    """Return ``value`` with findings of ``groups`` masked in all of its texts."""
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
    """Return the record fields that masking changed, in their written form."""
    if before == after:
        return {}
    old, new = before.to_data(), after.to_data()
    return {key: value for key, value in new.items() if old.get(key) != value}
