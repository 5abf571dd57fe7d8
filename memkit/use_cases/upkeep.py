"""Maintain a store: forget, consolidate, check, repair, index, migrate."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memkit.errors import EnvironmentFault, NotTrusted, UsageError
from memkit.llm.summaries import Concluding, Retelling
from memkit.runtime.host.terminal import counted, one_line
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.archive.reader import NOBODY
from memkit.runtime.memory.gate.secrets import mask
from memkit.runtime.memory.interface import Decision, ShardProblem
from memkit.runtime.memory.lifecycle.consolidation import Consolidated
from memkit.runtime.memory.lifecycle.forgetting import Due
from memkit.runtime.memory.lifecycle.reflection import Reflected
from memkit.runtime.memory.log.clone import CACHE, MACHINE, cache_folder
from memkit.runtime.memory.log.log import MemoryLog, shard_writer
from memkit.runtime.memory.log.shards import branch_mark
from memkit.runtime.memory.record.lines import ArchiveError, InvalidRecord, decode_line, parse_duration, seconds_before
from memkit.runtime.memory.record.record import CHANGEABLE, Draft
from memkit.runtime.memory.tiers.recall import RecallMemory
from memkit.runtime.memory.tiers.sessions import drop_old_sessions
from memkit.store.chain_history import (
    HEADS,
    TreeLog,
    damaged_heads,
    drop_tips,
    heads_in,
    heads_of_store,
    lines_of_others,
    mend_heads,
    unsigned_commits,
)
from memkit.store.config import DEFAULT, FORMAT
from memkit.store.files import write_whole
from memkit.store.git import Git
from memkit.store.git_objects import GitObjects
from memkit.store.layout import is_writable
from memkit.store.migrations import UNSTATED, steps_beside, steps_from, unlinked_shards
from memkit.store.repair import PutBack, find_problems, put_back, repair, set_damaged_aside
from memkit.store.sessions import damaged_sessions
from memkit.store.shard_merge import merge_shards
from memkit.store.yaml_edit import Clash, merge_yaml
from memkit.use_cases.in_parts import in_parts
from memkit.workspace import Workspace, open_workspace

if TYPE_CHECKING:
    from memkit.runtime.backends.postgres import PostgresLog


@dataclass(frozen=True)
class Sweep:
    """What a sweep retired, what stays, and what it deleted from this machine for good."""

    retired: tuple[Due, ...]
    kept: int
    turns: int = 0
    """Turns of episodic memory that were older than ``recall.ttl``."""
    sessions: int = 0
    """Sessions unused for as long."""
    audit_months: int = 0
    """Months of the audit log before ``audit.keep``."""
    counts: int = 0
    """Access counts of records that no longer exist."""


def sweep_memory(workspace: Workspace, *, user: str | None = None, dry_run: bool = False) -> Sweep:
    """Apply the rules of ``forget`` to one user or to all, and delete what is past its time on this machine."""
    swept = workspace.archive.sweep(user_id=user, dry_run=dry_run)
    if dry_run:
        return Sweep(swept.retired, swept.kept)
    if swept.retired:
        workspace.commit_memory(added=len(swept.retired))
    policy, now = workspace.memory_settings.recall, workspace.clock()
    workspace.turn_vectors.unlink(missing_ok=True)
    turns = RecallMemory(workspace.sessions, workspace.clock, policy.ttl, policy.max_items).drop_expired(user)
    if user is not None:
        return Sweep(swept.retired, swept.kept, turns, counts=workspace.archive.drop_stale_counts(user_id=user))
    kept_from = seconds_before(now, parse_duration(workspace.settings["audit.keep"]))
    expired = seconds_before(now, policy.ttl)
    sessions = drop_old_sessions(workspace.sessions, expired)
    drop_old_sessions(workspace.checkpoints, expired)  # of the same sessions
    return Sweep(
        swept.retired,
        swept.kept,
        turns,
        sessions=sessions,
        audit_months=workspace.audit.drop_before(kept_from),
        counts=workspace.archive.drop_stale_counts(),
    )


UNCOMMITTED = "Uncommitted memory was not included: run 'memkit commit' first."


@dataclass(frozen=True)
class Consolidation:
    """What a consolidation put on which branch."""

    done: Consolidated
    branch: str | None = None
    """None if there was nothing to do, or for a dry run."""
    commit: str | None = None
    summary: str = ""
    """For the reviewing person."""
    notes: tuple[str, ...] = ()
    """Remarks on what went less than perfectly."""


def consolidate_memory(
    workspace: Workspace,
    *,
    branch: str | None = None,
    user: str | None = None,
    dry_run: bool = False,
    executor: str | None = None,
) -> Consolidation:
    """Consolidate what the last commit holds, of one user or of all, and put the result on ``branch`` as one commit.

    Uncommitted memory is committed first. Memory on a server is on no branch: there it is carried out at once, and
    ``dry_run`` is what a person reviews. The result is prepared in memory, on the workers of ``executor`` if one is
    named, so the working tree, the index and the checked-out branch stay as they are, and a run that is
    killed leaves nothing.

    Raises:
        EnvironmentFault: The store is not in a repository, or the scheduler cannot be reached.
        UsageError: The branch exists already, the repository has no commit yet, or the executor is unknown.
    """
    name = branch or f"memkit/consolidate-{workspace.clock():%Y-%m-%d}"
    work = _OnBranch.begun(workspace, name, "consolidated", dry_run, reads=False)
    users = [user] if user is not None else _everybody(workspace.archive)
    prefix = (work.base, work.log.name(1).partition("/")[0], work.log.writer)
    draws = None if executor else not dry_run
    parts = list(in_parts(workspace, users, _consolidated, *prefix, draws, executor=executor))
    for part in parts:
        for shard, lines in part.added.items():
            work.log.added.setdefault(shard, bytearray()).extend(lines)
    done = Consolidated(
        *(tuple(chain.from_iterable(field)) for field in zip(*(part.done for part in parts), strict=True))
    )
    summary = "\n".join(part.summary for part in parts if part.summary)
    notes = (*(note for part in parts for note in part.notes), *done.refused)
    if dry_run and workspace.git.status("archive"):
        notes += (UNCOMMITTED,)
    if dry_run or not work.log.added:
        return Consolidation(done, summary=summary, notes=notes)
    commit = work.committed(_message(done))
    _account(workspace, done)
    return Consolidation(done, work.branch, commit, summary, notes)


class _ConsolidatedPart(NamedTuple):
    """The result of consolidating some users."""

    done: Consolidated
    added: Mapping[str, bytearray]
    """The new lines, by shard."""
    summary: str
    notes: tuple[str, ...]


def _consolidated(
    workspace: Workspace, users: Sequence[str], base: str, month: str, writer: str, draws: bool | None
) -> _ConsolidatedPart:
    """Consolidate what a commit, or the server, holds about each of some users, in memory.

    Args:
        workspace: The store.
        users: Whose memory.
        base: The commit; empty if a server holds the archive.
        month: The month of the shards to append to.
        writer: The writer of these shards.
        draws: Whether sessions that ended unread are marked as read once what lasts is drawn from them; None leaves
            them alone, as a worker must: its marks would be lost.
    """
    log = _log_of(workspace, users, base, month, writer)
    retelling = Retelling(workspace.language_model()) if workspace.may_ask_provider() else None
    dones, told, notes = [Consolidated()], list[str](), list[str]()
    with workspace.archive_on(log) as archive:
        for user in users:
            drawn, said = _drawn(workspace, archive, user, marks=draws) if draws is not None else ((), [])
            notes += said
            plan = archive.consolidation(user_id=user, tell=retelling)
            done = archive.consolidate(plan, note=base) if plan else Consolidated()
            dones.append(done._replace(drawn=drawn))
            told += _told(dones[-1], archive)
    done = Consolidated(*(tuple(chain.from_iterable(field)) for field in zip(*dones, strict=True)))
    notes += retelling.refused if retelling else ()
    return _ConsolidatedPart(done, log.added, "\n".join(told), tuple(notes))


def _everybody(archive: ArchivalStore) -> list[str]:
    """Return all users with records, including those with only shared ones."""
    return sorted({*archive.users(), *(record.user_id for record in archive.records(user_id=NOBODY))})


def _log_of(workspace: Workspace, users: Sequence[str] | None, base: str, month: str, writer: str) -> MemoryLog:
    """Return a log on top of a commit, or of what the server holds about ``users``."""
    if (server := workspace.server) is not None:
        held = {shard: server.read(shard) for shard in server.shards(users)}
        return MemoryLog(MemoryLog(held=held), month=month, writer=writer)
    return MemoryLog(TreeLog(workspace.git, base), month=month, writer=writer)


@dataclass(frozen=True)
class ReflectionBranch:
    """What a reflection put on which branch."""

    done: Reflected
    branch: str | None = None
    """None if there was nothing to conclude, or for a dry run."""
    commit: str | None = None
    texts: tuple[str, ...] = ()
    """The texts of the conclusions, in order."""
    notes: tuple[str, ...] = ()


def reflect_on_memory(
    workspace: Workspace, *, branch: str | None = None, user: str | None = None, dry_run: bool = False
) -> ReflectionBranch:
    """Draw conclusions from what the last commit holds, of one user or of all, and put them on ``branch``.

    Raises:
        EnvironmentFault: The store is not in a repository.
        UsageError: The branch exists already, or the repository has no commit yet.
    """
    work = _OnBranch.begun(workspace, branch or f"memkit/reflect-{workspace.clock():%Y-%m-%d}", "reflected", dry_run)
    concluding = Concluding(workspace.language_model()) if workspace.may_ask_provider() else None
    parts: list[Reflected] = []
    texts: list[str] = []
    with workspace.archive_on(work.log) as archive:
        for owner in [user] if user is not None else archive.users():
            plan = archive.reflection(owner, infer=concluding)
            done = archive.reflect(plan, note=work.base) if plan else Reflected()
            parts.append(done)
            texts += [stored.record.text for one in done.drawn if (stored := archive.get(one.id))]
    done = Reflected(
        tuple(one for part in parts for one in part.drawn),
        tuple(id for part in parts for id in part.stale),
        tuple(why for part in parts for why in part.refused),
    )
    notes = (*(concluding.refused if concluding else ()), *done.refused)
    if dry_run and workspace.git.status("archive"):
        notes += (UNCOMMITTED,)
    if dry_run or not work.log.added:
        return ReflectionBranch(done, texts=tuple(texts), notes=notes)
    lines = [
        f"{one.id} is a {one.conclusion.level} drawn from {', '.join(one.conclusion.parents)}" for one in done.drawn
    ]
    lines += [f"{id} is stale" for id in done.stale]
    subject = f"Reflect on memory: {counted(len(done.drawn), 'conclusion')}, {len(done.stale)} stale"
    commit = work.committed("\n".join([subject, "", *lines]) + "\n")
    event = {"event": "reflection", "actor": "program", "user_id": user, "ids": [one.id for one in done.drawn]}
    workspace.audit.append(event | {"reason": f"{len(done.drawn)} drawn, {len(done.stale)} stale"})
    return ReflectionBranch(done, work.branch, commit, tuple(texts), notes)


@dataclass(frozen=True)
class _OnBranch:
    """One commit on a new branch, prepared in memory."""

    objects: GitObjects
    name: str
    base: str
    log: MemoryLog
    server: PostgresLog | None = None
    """The server that the lines go to instead, for memory on no branch."""

    @classmethod
    def begun(cls, workspace: Workspace, name: str, writer: str, dry_run: bool, *, reads: bool = True) -> _OnBranch:
        """Return a log on top of the last commit, after committing pending memory; raise if the branch exists.

        With ``reads=False`` it is empty, for lines prepared elsewhere.
        """
        objects = GitObjects(workspace.git)
        base = objects.commit_id("HEAD")
        if objects.branch(name) is not None:
            raise UsageError(
                f"The branch {name!r} already exists. Merge or delete it ('git branch -D {name}'), or give --branch."
            )
        if not dry_run:
            base = workspace.commit_memory(force=True, added=0) or base
        month, writer = f"{workspace.clock():%Y-%m}", f"{writer}-{branch_mark(os.urandom(8).hex())}"
        log = _log_of(workspace, None, base, month, writer) if reads else MemoryLog(month=month, writer=writer)
        return cls(objects, name, base, log, workspace.server)

    @property
    def branch(self) -> str | None:
        """Return the branch; None if there is none to review."""
        return self.name if self.server is None else None

    def committed(self, message: str) -> str | None:
        """Commit what was written to the log and return the commit's id; on a server it is written at once."""
        if self.server is not None:
            from memkit.runtime.backends.moving import Passage, bring
            from memkit.runtime.backends.postgres_sink import PostgresSink

            fresh = MemoryLog(held=self.log.added)
            bring(Passage(fresh, parts=True, key=None), PostgresSink(self.server), lambda one: None, lambda lines: None)
            return None
        changes = {f"archive/{shard}": bytes(content) for shard, content in self.log.added.items()}
        return self.objects.commit(self.name, changes, message, parent=self.base)


def _drawn(
    workspace: Workspace, archive: ArchivalStore, user: str, *, marks: bool
) -> tuple[tuple[str, ...], list[str]]:
    """Draw what lasts from sessions that ended without it; return the ids of what was kept, and remarks."""
    notes: list[str] = []
    if workspace.memory_settings.write.extract == "off" or workspace.settings["privacy.long_term"] == "off":
        return (), notes
    from memkit.runtime.host.drawing import draw_unread
    from memkit.runtime.host.side_model import SideModel

    by_model = workspace.memory_settings.write.extract == "auto" and workspace.may_ask_provider()
    which = workspace.side_model() if by_model else None
    side = SideModel(lambda: which(workspace.language_model()), {}, notes.append) if which else None
    found = [
        str(one["id"])
        for owner in ([user] if user is not None else archive.users())
        for one in draw_unread(
            archive,
            workspace.recall,
            workspace.sessions,
            workspace.checkpoints,
            owner,
            side.extract if side else None,
            sealer=workspace.sealer,
            marks=marks,
        )
    ]
    return tuple(found), notes


def _message(done: Consolidated) -> str:
    """Return the commit message: counts and ids, and no word of any memory."""
    counts = {
        "drawn": len(done.drawn),
        "merged": len(done.merged),
        "summarised": len(done.summaries),
        "archived": len(done.archived),
        "dropped": len(done.dropped),
    }
    subject = ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "core sections"
    lines = [f"{id} was drawn from a conversation" for id in done.drawn]
    lines += [f"{item.id} merges {', '.join(item.parents)}" for item in done.merged]
    lines += [f"{item.id} summarises {', '.join(item.parents)}" for item in done.summaries]
    lines += [f"{id} was an entry of a core section" for id in done.archived]
    lines += [f"{drop.record.id} {drop.reason}" for drop in done.dropped]
    return "\n".join([f"Consolidate memory: {subject}", "", *lines]) + "\n"


def _told(done: Consolidated, archive: ArchivalStore) -> Iterator[str]:
    """Yield what was done, with the texts, for the reviewing person."""
    for id in done.drawn:
        yield from _indented(f"+ {id} (drawn from a conversation)", archive, id)
    for how, items in (("merged from", done.merged), ("summarises", done.summaries)):
        for item in items:
            yield from _indented(f"+ {item.id}", archive, item.id)
            yield f"    {how} {len(item.parents)}:"
            for parent in item.parents:
                yield from _indented(f"    - {parent}", archive, parent)
    for compression in done.compressed:
        moved = f"{len(compression.moved)} entries to the archive"
        yield f"~ core section {compression.section} of {compression.user_id}: {moved}"
    for drop in done.dropped:
        yield from _indented(f"- {drop.record.id} ({drop.reason})", archive, drop.record.id)


def _indented(head: str, archive: ArchivalStore, record_id: str) -> list[str]:
    stored = archive.get(record_id)
    lines: Sequence[str] = stored.record.text.splitlines() if stored else ()
    margin = " " * (len(head) - len(head.lstrip()) + 6)
    return [head, *(f"{margin}{line}" for line in lines)]


def _account(workspace: Workspace, done: Consolidated) -> None:
    """Write into the audit log what is on the branch; nothing has happened in this working tree yet."""
    event = {"event": "consolidation", "actor": "program", "user_id": None, "ids": [*done.added]}
    workspace.audit.append(event | {"reason": f"{len(done.superseded)} superseded, {len(done.dropped)} dropped"})


_TAKEN_AWAY = "No commit has a genuine line for it, so it was removed; its bytes are kept in this clone's state."


@dataclass(frozen=True)
class ArchiveReport:
    """What was found in an archive."""

    records: int
    """Live records of all users."""
    fixed: tuple[ShardProblem, ...]
    problems: tuple[ShardProblem, ...]
    """The remaining problems."""
    warnings: tuple[ShardProblem, ...]
    sealed: int = 0
    """Lines whose text is sealed."""
    unreadable: int = 0
    """Those of them whose key is not here, which is no damage."""


def check_archive(workspace: Workspace, *, fix: bool = False, heads: Path | None = None) -> ArchiveReport:
    """Return the archive's problems; with ``fix`` after repairing what needs no person's decision.

    Args:
        workspace: The store.
        fix: Whether to make these repairs.
        heads: Heads of writers that were kept elsewhere; by default those of the store itself.

    Raises:
        EnvironmentFault: With ``fix``, when a shard cannot be written.
        UsageError: ``heads`` holds none.
    """
    log = workspace.archive.log
    fixed: list[ShardProblem] = []
    if fix:
        fixed = _repaired(workspace) + set_damaged_aside(workspace.root)
        fixed += mend_heads(workspace.root, workspace.archive, workspace.git)
        for one in _put_back(workspace):
            told = "The version in git was restored." if one.original else _TAKEN_AWAY
            fixed.append(ShardProblem("tampered", f"archive/{one.line.shard}", one.line.number, told))
        if fixed:
            codes = ", ".join(sorted({problem.code for problem in fixed}))
            workspace.audit.append({"event": "repair", "actor": "person", "reason": f"{len(fixed)} fixed: {codes}"})
    findings = find_problems(workspace.root, log, workspace.git, workspace.archive.is_genuine)
    seals = workspace.archive.seals()
    records = sum(1 for _ in workspace.archive.told(user_id=None, status="held"))
    remaining = {(problem.code, problem.path, problem.message) for problem in findings.problems}
    done = [problem for problem in fixed if (problem.code, problem.path, problem.message) not in remaining]
    problems = (*_united(workspace, findings.problems, heads), *seals.problems, *damaged_sessions(workspace.root))
    others = lines_of_others(log, workspace.git)
    warnings = (*findings.warnings, *workspace.archive.chain_notes(seen=True), *others)
    return ArchiveReport(records, tuple(done), problems, warnings, seals.lines, seals.unreadable)


def _put_back(workspace: Workspace) -> list[PutBack]:
    archive = workspace.archive
    if workspace.server is not None:
        return []  # git has no lines of a server, and nothing updates one there
    return put_back(workspace.root, workspace.git, archive.tampered(), workspace.clock(), archive.is_genuine)


def _repaired(workspace: Workspace) -> list[ShardProblem]:
    archive = workspace.archive
    if workspace.server is not None:
        return []
    return repair(workspace.root, archive.log, workspace.git, workspace.clock(), archive.is_genuine)


def _united(workspace: Workspace, found: Iterable[ShardProblem], heads: Path | None) -> Iterator[ShardProblem]:
    """Yield the problems found in the files, in the chains and by heads, each once."""
    chains = workspace.archive.chain_problems()
    known = {(one.code, one.path, one.line) for one in chains}
    moved = {note.path for note in workspace.archive.chain_notes() if note.code == "moved_back"}
    lost = {one.path for one in chains if one.code == "missing"} | moved
    for one in found:
        # What the chains know about a missing line is more than that git has it.
        if (one.code, one.path, one.line) not in known and not (one.code == "missing" and one.path in lost):
            yield one
    yield from chains
    yield from damaged_heads(workspace.root)
    yield from (problem for problem, _ in _lacking(workspace, heads))


def _lacking(workspace: Workspace, heads: Path | None = None) -> Iterator[tuple[ShardProblem, Sequence[str]]]:
    """Yield each head of which lines are missing, and their links; none of one that was changed itself."""
    for writer, head in heads_in(heads) if heads else heads_of_store(workspace.root):
        if lacking := workspace.archive.lacking(writer, head):
            yield ShardProblem(lacking.code, f"{HEADS}/{writer}.json", 0, lacking.message), lacking.tips


def check_signatures(workspace: Workspace, since: str, signers: Path) -> list[ShardProblem]:
    """Return the commits since ``since`` that changed memory, policies or skills without an allowed signature."""
    return unsigned_commits(workspace.git, since, signers)


@dataclass(frozen=True)
class Acceptance:
    """What a person adopted."""

    accepted: tuple[str, ...] = ()
    """Ids of the lines whose new text counts as that person's from now on."""
    left: tuple[str, ...] = ()
    """Why lines were not adopted, in one sentence each."""
    gone: int = 0
    """Lines accepted as gone."""


def accept_damage(workspace: Workspace, confirm: Callable[[Sequence[ShardProblem]], None]) -> Acceptance:
    """Restore the lines that git has, append the changed texts in a person's name, and stop missing the others.

    Args:
        workspace: The store.
        confirm: Receives what would be adopted, and raises if the person does not want that.

    Raises:
        EnvironmentFault: A shard cannot be written.
    """
    archive = workspace.archive
    problems = [*archive.chain_problems(), *(problem for problem, tips in _lacking(workspace) if tips)]
    if not problems:
        return Acceptance()
    said = dict(_withheld_words(archive))
    confirm([one._replace(message=one.message + said.get((one.path, one.line), "")) for one in problems])
    done = _put_back(workspace)
    _repaired(workspace)
    gone = sum(one.code == "missing" for one in archive.chain_problems())
    archive.take_for_gone()
    tips = {tip for _, tips in _lacking(workspace) for tip in tips}
    drop_tips(workspace.root, tips)
    accepted: list[str] = []
    left: list[str] = []
    if server := workspace.server:
        told = f"it stays withheld; whoever looks after {server.shown} puts it back or deletes it"
        left += [f"{line.id or line.shard}: {told}" for line in archive.tampered()]
    for one in sorted(done, key=lambda one: (one.line.shard, one.line.number)):
        try:
            why = _taken_over(workspace, one)
        except ArchiveError as error:
            why = str(error)
        (left if why else accepted).append(f"{one.line.id}: {why}" if why else one.line.id)
    ids = ", ".join(accepted) or "none"
    workspace.audit.append({"event": "accept", "actor": "person", "ids": accepted, "reason": f"{gone} taken for gone"})
    workspace.commit_memory(force=True, added=0, subject=f"Accept what was changed: {ids}")
    return Acceptance(tuple(accepted), tuple(left), gone or len(tips))


def _withheld_words(archive: ArchivalStore) -> Iterator[tuple[tuple[str, int], str]]:
    """Yield the place of each withheld line and what it says, so that nobody adopts it unseen."""
    for line in archive.tampered():
        with suppress(InvalidRecord, IndexError):
            data = decode_line(archive.log.read(line.shard).split(b"\n")[line.number - 1])
            what, fields = f"{data['op']} of " if "op" in data else "", data.get("fields")
            about = archive.get(str(data["target"])) if what else None
            edited = fields.get("text") if isinstance(fields, Mapping) else None
            words = about.text if about else edited or data.get("text") or data.get("target") or "[sealed]"
            yield (f"archive/{line.shard}", line.number), f" It says: {what}“{one_line(mask(str(words)), 100)}”."


def _taken_over(workspace: Workspace, one: PutBack) -> str:
    """Append a line's text as a person's word; return why it was not adopted, if it was not."""
    said, was = one.said, one.original or {}
    owner = str(was.get("user_id") or said.get("user_id") or "")
    if not owner:
        return "it names no user"
    session, agent = said.get("session_id"), said.get("agent_id")
    person = workspace.person(owner, session=session, agent=agent)
    archive, reason = workspace.archive, "accepted after a change of its line"
    if "op" in said:
        if was:
            return ""  # the former line about the record holds again
        fields = said.get("fields") or {}
        if said["op"] == "core":
            section = str(said.get("target", "")).removeprefix("core/")
            decision = archive.edit_core(owner, section, str(fields.get("text", "")), person, reason=reason)
            return _why_not(decision)
        archive.mark(said["op"], str(said.get("target")), person, reason=reason, **fields)
        return ""
    text = str(said.get("text") or "")
    stored = archive.get(one.line.id, user_id=owner) if was else None
    if stored is not None and stored.status == "live":
        if text != stored.record.text:
            return _why_not(archive.supersede(one.line.id, text, person, reason=reason))
        changed = {key: said[key] for key in CHANGEABLE if key in said and said[key] != was.get(key)}
        if changed:
            archive.mark("update", one.line.id, person, reason=reason, **changed)
        return ""
    kept = {key: said[key] for key in ("type", "scope", "valid_from", "valid_until") if said.get(key) is not None}
    return _why_not(archive.offer(Draft(text, tags=tuple(said.get("tags") or ()), **kept), person))


def _why_not(decision: Decision) -> str:
    return " ".join(reason.message for reason in decision.reasons) if decision.decision == "refused" else ""


def rebuild_index(workspace: Workspace, *, vectors: bool = False, executor: str | None = None) -> None:
    """Delete the index and rebuild it, on the workers of ``executor`` if one is named.

    With ``vectors`` the store adopts the model of ``retrieval.vectors`` first, and everything is embedded by it.

    Raises:
        UsageError: The store does not search by meaning, or the executor is unknown.
        EnvironmentFault: The model cannot be read, the store not be written, or the scheduler not be reached.
    """
    if vectors and workspace.settings["retrieval.vectors"] == "off":
        raise UsageError(
            "This store does not search by meaning. Name a model first: memkit config set retrieval.vectors FOLDER."
        )
    place = workspace.root / MACHINE / CACHE
    if not (is_writable(place) and is_writable(cache_folder(workspace.root))):  # the second may be outside the store
        raise EnvironmentFault(
            f"{place} cannot be written, so no index can be kept there. Questions are answered from one that is made "
            "for each command."
        )
    opened: AbstractContextManager[Workspace] = nullcontext(workspace)
    if vectors:
        workspace.agree_on_model()
        opened = open_workspace(workspace.root, clock=workspace.clock, notice=workspace.notice)
    with opened as agreed:
        agreed.archive.drop_index()
        for _ in in_parts(agreed, agreed.archive.corpora(), _filled, vectors, executor=executor):
            pass


def _filled(workspace: Workspace, names: Sequence[str], vectors: bool) -> None:
    workspace.archive.fill(names, workspace.vectors if vectors else None)


# Merge two versions of a shard, or of a file that people write, as git hands them to a merge driver.


def merge_shard_files(ours: Path, theirs: Path) -> tuple[str, ...]:
    """Put every line of both files into ``ours``, completely or not at all, and return the conflicting ids."""
    merged = merge_shards(ours.read_bytes(), theirs.read_bytes())
    write_whole(ours, merged.content)
    return merged.conflicts


def merge_written_files(base: Path, ours: Path, theirs: Path) -> list[Clash]:
    """Merge the changes of both files into ``ours`` by meaning; mark conflicts, and return the conflicting clauses.

    Raises:
        YamlError: One of them does not load.
    """
    words = ["merge-file", "-p", "-L", "ours", "-L", "base", "-L", "theirs", *map(str, (ours, base, theirs))]
    git = Git(Path.cwd())
    one, mine, other = (path.read_bytes().decode("utf-8", "surrogateescape") for path in (base, ours, theirs))
    merged, clashes = merge_yaml(one, mine, other, by_line=git.run(*words, check=False) or None)
    if merged is not None:
        write_whole(ours, merged.encode())
    else:
        git.run(*(word for word in words if word != "-p"), check=False)
    return clashes


@dataclass(frozen=True)
class Migration:
    """A store's format before and after, and the steps between."""

    before: int | None
    """The format that it stated, if any."""
    after: int
    steps: tuple[str, ...]
    commits: tuple[str, ...] = ()


def migrate_store(workspace: Workspace, *, dry_run: bool = False) -> Migration:
    """Take every step from the store's format to this version's, each as one commit; ``dry_run`` only names them.

    Raises:
        NotTrusted: It would make lines ours that have our name but may be anybody's.
        StoreFault: The store was written by a newer memkit.
        EnvironmentFault: A file cannot be written or committed; the steps before that one stand.
    """
    setting = workspace.settings.values["format"]
    before = None if setting.origin == DEFAULT else setting.value
    steps = [*steps_from(UNSTATED if before is None else before), *steps_beside(workspace.root)]
    if not dry_run:
        _require_known_lines(workspace)
    commits = () if dry_run else tuple(filter(None, [step.apply(workspace.root) for step in steps]))
    return Migration(before, FORMAT, tuple(step.words for step in steps), commits)


def _require_known_lines(workspace: Workspace) -> None:
    """Raise ``NotTrusted`` if lines would be linked as this clone's that anybody can have written under its name."""
    strange, witness = workspace.archive.strangers(), workspace.archive.log.witness
    for shard in unlinked_shards(workspace.root):
        if (writer := shard_writer(shard)[0]) in strange and witness and witness.is_own(writer):
            raise NotTrusted(
                f"archive/{shard} has this clone's name, but no links that show who wrote it. 'memkit trust' lets it "
                "be linked as this clone's; else remove the file.",
                workspace.trust,
                workspace.trust.demands(),
            )
