"""The health of a memory: problems that arise over time, and what it finds when asked."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memkit.errors import UsageError
from memkit.runtime.host.terminal import shell_word
from memkit.runtime.memory.record.lines import parse_time, seconds_before, to_text
from memkit.runtime.memory.record.record import Record, has_expired, kind_of

if TYPE_CHECKING:
    from datetime import datetime

    from memkit.runtime.memory.archive.reader import ArchiveReader
    from memkit.workspace import Workspace

# Problems of a memory.

KINDS: Mapping[str, tuple[str, str]] = {
    "tampered": (
        "A line that was changed after it was written, so it is withheld, or one that is missing.",
        "memkit fsck",
    ),
    "over_remembered": (
        "An agent inferred so many records in one session that its quota (write.max_per_session) was used up.",
        "memkit memory revoke --session {one} --dry-run",
    ),
    "never_recalled": (
        "Live for thirty days or more, and no search on this machine ever returned it.",
        "memkit memory why {one}",
    ),
    "never_cited": (
        "Shown to a model three times or more, and no answer ever cited it.",
        "memkit memory why {one}",
    ),
    "contradictory": ("Part of an open question: records that cannot all be true.", "memkit memory list --open"),
    "stale": ("The next sweep would retire it: expired, faded, old or unimportant.", "memkit memory sweep --dry-run"),
    "repeated": (
        "Says the same as another live record of its user (write.duplicate_at).",
        "memkit memory consolidate --dry-run",
    ),
    "tainted": (
        "Live, but may have been influenced from outside: recall leaves it out until a person approves it.",
        "memkit memory approve {one}",
    ),
    "waiting": ("Held back until a person approves or rejects it.", "memkit memory list --open"),
    "over_full": ("A core section at 90 % of its limit or more.", "memkit core show"),
    "answered_later": (
        "A question that found nothing at first found this record when asked again.",
        "memkit memory why {one}",
    ),
}
"""Each kind of problem: its definition, and the command to inspect it; ``{one}`` is the first id listed."""
UNUSED_DAYS = 30
UNCITED = 3
FULL = 0.9
MOST_DAYS = 30
MOST_QUESTIONS = 10_000
"""The most different unanswered questions remembered while the audit log is read."""


@dataclass(frozen=True)
class HealthFinding:
    """One kind of problem, and what is affected."""

    kind: str
    ids: tuple[str, ...]
    """Ids of records, of what waits, or ``core/SECTION``; ``FILE:LINE`` for a line without an id."""
    command: str
    """The command to inspect it."""

    @property
    def meaning(self) -> str:
        """Return the definition of this kind."""
        return KINDS[self.kind][0]

    def to_data(self) -> dict[str, Any]:
        """Return the finding as ``--json`` prints it."""
        return {"kind": self.kind, "ids": list(self.ids), "command": self.command}


@dataclass
class _Recalls:
    """The audit log's events about recalls, read once."""

    shown: Counter[str] = field(default_factory=Counter)
    cited: set[str] = field(default_factory=set)
    returned: set[str] = field(default_factory=set)
    later: dict[str, None] = field(default_factory=dict)
    """Ids found by a question that had found nothing before."""


def examine_health(workspace: Workspace, *, user: str | None = None) -> list[HealthFinding]:
    """Return the problems with the memory of one user or of all, a finding for each kind that occurs.

    The archive is read once, a user at a time, and so is the audit log of this machine.
    """
    archive = workspace.archive
    recalls = _recalls(workspace, user)
    found: dict[str, dict[str, None]] = {kind: {} for kind in KINDS}
    sessions: list[str] = []
    for owner in archive.users() if user is None else [user]:
        for kind, id in _of_user(workspace, owner, recalls, sessions):
            found[kind][id] = None
    found["tampered"].update((id, None) for id in _tampered(archive, user))
    found["contradictory"].update((id, None) for one in archive.open_questions(user_id=user) for id in one.ids)
    found["waiting"].update((one.id, None) for one in archive.waiting(user_id=user))
    found["stale"].update((due.id, None) for due in archive.sweep(user_id=user, dry_run=True).retired)
    return [
        HealthFinding(kind, tuple(ids), _command(kind, sessions if kind == "over_remembered" else [*ids], user))
        for kind, ids in found.items()
        if ids
    ]


def note_health(workspace: Workspace, found: Sequence[HealthFinding], *, user: str | None = None) -> None:
    """Record the counts of findings, so that their history can be followed; only counts of records are kept."""
    counts = {one.kind: len(one.ids) for one in found}
    workspace.audit.append({"event": "examined", "actor": "person", "user_id": user, "counts": counts})


def health_course(workspace: Workspace, user: str, *, everybody: bool = False) -> list[tuple[str, Mapping[str, int]]]:
    """Return the latest days on which a user's memory was examined, and how much of each kind was found.

    With ``everybody`` this includes the days on which the whole store was examined.
    """
    days: dict[str, Mapping[str, int]] = {}
    for event in workspace.audit.events(event="examined"):
        if event.get("user_id") == user or (everybody and event.get("user_id") is None):
            counts = event.get("counts")
            days[str(event.get("at", ""))[:10]] = counts if isinstance(counts, dict) else {}
    return list(days.items())[-MOST_DAYS:]


def _command(kind: str, ids: Sequence[str], user: str | None) -> str:
    command = KINDS[kind][1].format(one=shell_word(ids[0]))
    return command if user is None or kind == "tampered" else f"{command} --user {shell_word(user)}"


def _tampered(archive: ArchiveReader, user: str | None) -> Iterator[str]:
    """Yield what is withheld or missing, of a user or of all: its id, or its present or former place."""
    if user is not None:
        yield from (one.id or one.code for one in archive.withheld(user))
        return
    ids = {(f"archive/{one.shard}", one.number): one.id for one in archive.tampered()}
    for one in archive.chain_problems():
        yield ids.get((one.path, one.line)) or f"{one.path}:{one.line}"


def _recalls(workspace: Workspace, user: str | None) -> _Recalls:
    recalls, unanswered = _Recalls(), dict[tuple[object, str], None]()
    for event in workspace.audit.events(user=user):
        kind, ids = event.get("event"), [id for id in event.get("ids") or () if isinstance(id, str)]
        if kind == "injected":
            recalls.shown.update(ids)
        elif kind == "cited":
            recalls.cited.update(ids)
        elif kind == "retrieved":
            recalls.returned.update(ids)
            asked = (event.get("user_id"), " ".join(str(event.get("query") or "").lower().split()))
            if not ids and asked[1] and len(unanswered) < MOST_QUESTIONS:
                unanswered[asked] = None
            elif ids and asked in unanswered:
                recalls.later[ids[0]] = None
    return recalls


def _of_user(workspace: Workspace, owner: str, recalls: _Recalls, sessions: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each kind of problem with the record or core section that has it; ``sessions`` gains the overlong."""
    from memkit.runtime.memory.gate.duplicates import duplicate_groups

    archive, settings, now = workspace.archive, workspace.memory_settings, workspace.clock()
    records = [one for one in archive.records(user_id=owner) if one.user_id == owner and not has_expired(one, now)]
    used, quota = archive.access_counts(owner), settings.write.max_per_session
    inferred: defaultdict[str, list[str]] = defaultdict(list)
    for record in records:
        if record.session_id and record.source == "inferred" and kind_of(record.actor) == "agent":
            inferred[record.session_id].append(record.id)
        if record.taint:
            yield "tainted", record.id
        if record.id not in used and record.id not in recalls.returned and _is_settled(record, now):
            yield "never_recalled", record.id
        if recalls.shown[record.id] >= UNCITED and record.id not in recalls.cited:
            yield "never_cited", record.id
        if record.id in recalls.later:
            yield "answered_later", record.id
    for session, ids in inferred.items():
        if quota and len(ids) >= quota:
            sessions.append(session)
            yield from (("over_remembered", id) for id in ids)
    for group in duplicate_groups(records, settings.write.duplicate_at):
        yield from (("repeated", record.id) for record in group)
    for section, text in archive.core_sections(owner).items():
        if len(text) >= FULL * settings.section_limit(section):
            yield "over_full", f"core/{section}"


def _is_settled(record: Record, now: datetime) -> bool:
    """Return whether a record had time to be used; constraints and goals are shown without being searched for."""
    is_searched = record.type not in ("constraint", "goal")
    return is_searched and parse_time(record.created_at) <= seconds_before(now, UNUSED_DAYS * 86400)


# What a memory finds when asked.

MOST_CASES = 100_000


@dataclass(frozen=True)
class EvalQuestion:
    """A question, whose memory to ask, and what an answer must contain."""

    question: str
    user: str
    expect: tuple[str, ...]
    """Ids or words of records; empty if nothing relevant should be found."""


@dataclass(frozen=True)
class EvalCase:
    """The outcome of one question."""

    question: str
    found: bool
    """Whether every expected record was among the results."""
    rank: int | None
    """The rank of the first of them; None if none was found."""
    share: float
    """The share of the expected records that was found."""
    unexpected: tuple[tuple[str, str], ...] = ()
    """Id and text of results although none should be found."""

    def to_data(self) -> dict[str, Any]:
        """Return the case as ``--json`` prints it."""
        data: dict[str, Any] = {"question": self.question, "found": self.found, "rank": self.rank}
        return data | {"unexpected": [{"id": id, "text": text} for id, text in self.unexpected]}


def read_questions(path: Path, user: str | None = None) -> list[EvalQuestion]:
    """Return the questions of a file, one JSON object per line; ``user`` is the default for lines that name none.

    Raises:
        UsageError: The file cannot be read, a line is not a question, or there is none.
    """
    found: list[EvalQuestion] = []
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    found.append(_question(line, path, number, user))
                if len(found) > MOST_CASES:
                    raise UsageError(f"{path} has more than {MOST_CASES:,} questions. Split it.", path=str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.", path=str(path)) from error
    if not found:
        raise UsageError(f"{path} has no questions: write one JSON object per line.", path=str(path))
    return found


def _question(line: str, path: Path, number: int, user: str | None) -> EvalQuestion:
    def wrong(what: str) -> UsageError:
        example = '{"question": "What does Ada drink?", "user": "ada", "expect": ["espresso"]}'
        return UsageError(f"{path}:{number}: {what} A line looks like {example}", path=str(path), line=number)

    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        raise wrong("This is not JSON.") from None
    if not isinstance(data, dict):
        raise wrong("This is not an object.")
    if unknown := sorted(data.keys() - {"question", "user", "expect"}):
        raise wrong(f"A question has no {unknown[0]!r:.60}.")
    question, owner, expect = data.get("question"), data.get("user", user), data.get("expect")
    if not isinstance(question, str) or not question.strip():
        raise wrong("'question' must be non-empty text.")
    if not isinstance(owner, str) or not owner.strip():
        raise wrong("'user' must name whose memory is asked.")
    if not isinstance(expect, list) or not all(isinstance(one, str) and one.strip() for one in expect):
        raise wrong("'expect' must be a list of ids or words of records, empty if nothing should be found.")
    return EvalQuestion(question, owner, tuple(expect))


def evaluate_memory(workspace: Workspace, questions: Sequence[EvalQuestion], *, count: int = 5) -> list[EvalCase]:
    """Ask every question and return what was found among the first ``count`` results; it does not count as a recall."""
    workspace.leave_traces(False)
    try:
        return [_asked(workspace, one, count) for one in questions]
    finally:
        workspace.leave_traces(True)


def score_of(cases: Sequence[EvalCase]) -> float:
    """Return the share of expected records that were found, as the mean over all cases.

    >>> score_of([EvalCase("a", True, 1, 1.0), EvalCase("b", False, None, 0.0)])
    0.5
    """
    return round(sum(case.share for case in cases) / len(cases), 4) if cases else 0.0


@dataclass(frozen=True)
class EvalRun:
    """One run of somebody's questions, as recorded in the history file."""

    at: str
    found: int
    of: int
    score: float


def note_evaluation(path: Path, cases: Sequence[EvalCase], now: datetime) -> list[EvalRun]:
    """Append a run to the history file, and return all its runs, oldest first.

    Raises:
        UsageError: The file cannot be read or written, or a line of it is not a run.
    """
    run = EvalRun(to_text(now)[:19] + "Z", sum(case.found for case in cases), len(cases), score_of(cases))
    try:
        known = path.read_text("utf-8").splitlines() if path.exists() else []
        runs = [*(_run(line, path, number) for number, line in enumerate(known, 1) if line.strip()), run]
        with path.open("a", encoding="utf-8") as course:
            course.write(json.dumps(asdict(run)) + "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"The course cannot be written to {path}: {getattr(error, 'strerror', None) or error}."
        ) from None
    return runs


def _run(line: str, path: Path, number: int) -> EvalRun:
    try:
        data = json.loads(line)
        return EvalRun(str(data["at"]), int(data["found"]), int(data["of"]), float(data["score"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise UsageError(f"{path}:{number}: This is not a run written by 'memkit eval --course'.") from None


def _asked(workspace: Workspace, asked: EvalQuestion, count: int) -> EvalCase:
    hits = workspace.archive.search(asked.question, user_id=asked.user, k=count).hits
    if not asked.expect:
        told = tuple((hit.id, hit.record.text) for hit in hits)
        return EvalCase(asked.question, not hits, None, float(not hits), told)
    texts = [(hit.id, _plain(hit.record.text)) for hit in hits]
    ranks = [
        next((rank for rank, (id, text) in enumerate(texts, 1) if one == id or _plain(one) in text), None)
        for one in asked.expect
    ]
    there = [rank for rank in ranks if rank is not None]
    return EvalCase(asked.question, len(there) == len(ranks), min(there, default=None), len(there) / len(ranks))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
