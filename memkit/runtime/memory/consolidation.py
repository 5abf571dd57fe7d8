"""Consolidation: what many sessions left behind, told once.

``planned`` looks at live records and core sections and changes nothing; ``carry_out`` offers the result to the write
gate, in the name of a program and with the trust of the least of what it was made of. A record is named once at most:

1. what is expired is retired;
2. near-duplicates of one user, type and scope are merged where they are trusted alike, and a less trusted one is
   superseded by the one it repeats, which loses nothing by it;
3. old, unimportant events and outcomes of one session or topic give way to a summary that names them;
4. aged entries of a core section near its limit move to the archive, and an excerpt stays.

Carried out, a plan leaves nothing to plan. What the gate does not admit at once is not done, and its parents stay.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from .core_entries import Compression, compressions
from .duplicate_groups import duplicate_groups
from .episodes import Barred, Episode, Tell, episodes
from .interface import Decision
from .merging import merged_draft
from .record import CONSOLIDATED, JSON, TRUSTS, Draft, Origin, Record, lowest_trust
from .settings import MemorySettings
from .times import parse_time

if TYPE_CHECKING:
    from .change import Change


Whose: TypeAlias = tuple[str, str | None]
"""A user, and which of the user's agents."""


class Core(NamedTuple):
    """The core sections of one agent of a user, and how they came about."""

    sections: Mapping[str, str]
    history: Sequence[Mapping[str, JSON]]


class Dropped(NamedTuple):
    """A record that leaves the live set without another one for it."""

    record: Record
    reason: str
    repeats: str = ""
    """The better trusted record that says the same, if that is why."""


class Plan(NamedTuple):
    """What a consolidation would do."""

    dropped: tuple[Dropped, ...] = ()
    merges: tuple[tuple[Record, ...], ...] = ()
    episodes: tuple[Episode, ...] = ()
    compressions: tuple[Compression, ...] = ()

    def __bool__(self) -> bool:
        """Return whether there is anything to do."""
        return any(self)


class Replacement(NamedTuple):
    """A new record and the ones whose place it takes."""

    id: str
    parents: tuple[str, ...]


class Consolidated(NamedTuple):
    """What a consolidation did."""

    merged: tuple[Replacement, ...] = ()
    summaries: tuple[Replacement, ...] = ()
    archived: tuple[str, ...] = ()
    """Records that hold what was an entry of a core section."""
    dropped: tuple[Dropped, ...] = ()
    compressed: tuple[Compression, ...] = ()
    refused: tuple[str, ...] = ()
    """What the gate did not admit, one sentence each, without repeating it."""

    @property
    def added(self) -> tuple[str, ...]:
        """Return the ids of the new records."""
        return (*(item.id for item in (*self.merged, *self.summaries)), *self.archived)

    @property
    def superseded(self) -> tuple[str, ...]:
        """Return the ids of the records whose place was taken."""
        return tuple(id for item in (*self.merged, *self.summaries) for id in item.parents)


def planned(
    records: Iterable[Record],
    cores: Mapping[Whose, Core],
    settings: MemorySettings,
    now: datetime,
    *,
    barred: Barred = lambda user_id, text: False,
    tell: Tell | None = None,
) -> Plan:
    """Return what to do about live ``records`` and the core sections of users."""
    live = list(records)
    expired = [record for record in live if record.valid_until and parse_time(record.valid_until) < now]
    done = {record.id for record in expired}
    dropped = [Dropped(record, f"expired on {record.valid_until}") for record in expired]
    merges = []
    for group in duplicate_groups((record for record in live if record.id not in done), settings.write.duplicate_at):
        trusted, others = _by_trust(group)
        dropped += [Dropped(record, f"repeats {trusted[0].id}", trusted[0].id) for record in others]
        if len(trusted) > 1 and _is_sure(trusted, settings):
            merges.append(trusted)
        done.update(record.id for record in group)
    rest = (record for record in live if record.id not in done)
    return Plan(
        tuple(dropped),
        tuple(merges),
        tuple(episodes(rest, settings, now, barred=barred, tell=tell)),
        tuple(
            compression
            for (user_id, agent_id), core in sorted(cores.items(), key=lambda item: (item[0][0], item[0][1] or ""))
            for compression in compressions(user_id, core.sections, core.history, settings, now, agent_id=agent_id)
        ),
    )


def _by_trust(group: Sequence[Record]) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
    best = max((record.trust for record in group), key=TRUSTS.index)
    trusted = tuple(record for record in group if record.trust == best)
    return trusted, tuple(record for record in group if record.trust != best)


def _is_sure(records: Sequence[Record], settings: MemorySettings) -> bool:
    """Return whether the gate would find what is merged sure enough."""
    return round(fmean(record.confidence for record in records), 6) >= settings.write.min_confidence


def carry_out(plan: Plan, change: "Change", origin_note: str = "") -> Consolidated:
    """Write down what a plan says and return what came of it.

    ``origin_note`` says in each new record what it was planned from, such as a commit.
    """
    refused: list[str] = []
    for drop in plan.dropped:
        owner = Origin("program", drop.record.user_id)
        if drop.repeats:
            change.repeats(drop.record.id, drop.repeats, owner, drop.reason)
        else:
            change.mark("retire", drop.record.id, owner, drop.reason, {})
    merged = _replaced(change, [(merged_draft(group), group) for group in plan.merges], "merged", origin_note, refused)
    told = _replaced(change, plan.episodes, "summarised", origin_note, refused)
    archived: list[str] = []
    compressed = []
    for compression in plan.compressions:
        ids = _moved(compression, change)
        if ids is None:
            refused.append(f"The core section {compression.section} of {compression.user_id} stays as it is.")
        else:
            archived += ids
            compressed.append(compression)
    return Consolidated(merged, told, tuple(archived), plan.dropped, tuple(compressed), tuple(refused))


def _replaced(
    change: "Change",
    replacements: Iterable[tuple[Draft, Sequence[Record]]],
    how: str,
    note: str,
    refused: list[str],
) -> tuple[Replacement, ...]:
    found = []
    for draft, parents in replacements:
        extra: Mapping[str, JSON] = {**draft.extra, CONSOLIDATED: note}
        decision: Decision = change.replace(draft._replace(extra=extra), parents, _composer(parents), how)
        ids = tuple(record.id for record in parents)
        if decision.id is None:
            codes = ", ".join(reason.code for reason in decision.reasons)
            refused.append(f"{', '.join(ids)} stay: the gate does not admit what they would be {how} into ({codes}).")
        else:
            found.append(Replacement(decision.id, ids))
    return tuple(found)


def _composer(parents: Sequence[Record]) -> Origin:
    """Return the origin of what a program composes of ``parents``: their session, and the least of their trust."""
    sessions, agents = {record.session_id for record in parents}, {record.agent_id for record in parents}
    return Origin(
        actor="program",
        user_id=parents[0].user_id,
        session_id=sessions.pop() if len(sessions) == 1 else None,
        agent_id=agents.pop() if len(agents) == 1 else None,
        trust_cap=lowest_trust(*(record.trust for record in parents)),
    )


def _moved(compression: Compression, change: "Change") -> list[str] | None:
    """Return the records that entries of a core section moved to; None where the gate would not have all of it."""
    program = Origin("program", compression.user_id, agent_id=compression.agent_id)
    if not all(change.admits(draft, program) for draft in compression.moved):
        return None
    offered = [change.offer(draft, program, consented=True) for draft in compression.moved]
    change.edit_core(compression.section, compression.text, program, "compressed", consented=True)
    return [decision.id for decision in offered if decision.decision == "admitted" and decision.id]
