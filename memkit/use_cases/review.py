"""Describe by meaning what changed in a store between two commits, or since one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from memkit.errors import EnvironmentFault, MemkitError, NegativeAnswer
from memkit.privacy.keys import KeyRing
from memkit.privacy.sealer import KeySealer
from memkit.review.assessment import assess, changed_verdicts
from memkit.review.difference import changed_paths, difference
from memkit.review.interface import Difference, LintFinding, Note, Review, ReviewSubject, in_order, quoted
from memkit.review.lint_delta import lint_delta
from memkit.review.memory_changes import SHARD, chain_changes, with_archive_changes
from memkit.review.sides import StoreSide, sides_of
from memkit.runtime.memory.archive.reader import ArchiveReader
from memkit.runtime.memory.index.chains import MISSING, MOVED_BACK, TAMPERED
from memkit.runtime.memory.interface import ShardProblem
from memkit.runtime.memory.lifecycle.questions import OpenQuestion
from memkit.runtime.memory.log.log import shard_writer
from memkit.runtime.memory.record.lines import ArchiveError, InvalidRecord, NoSealer, Sealer, decode_line
from memkit.store.config import read_manifest

if TYPE_CHECKING:
    from memkit.workspace import Workspace


def compare_commits(root: Path, span: str | None = None) -> Difference:
    """Return what changed over ``span`` in the store at ``root``; broken files are described and not fatal.

    Raises:
        EnvironmentFault: The store is not in a repository, or a file of a commit was not fetched.
        UsageError: The span cannot be parsed, or names no commit.
    """
    from memkit.workspace import Workspace

    sides = sides_of(root, span)
    held: dict[str, bool] = {}
    notes: list[Note] = []
    if any(SHARD.fullmatch(path) for path in changed_paths(sides.before, sides.after)):
        try:
            with Workspace(root) as workspace:
                held, notes = _held(workspace.archive_at(sides.after.end.commit))
        except (MemkitError, ArchiveError) as error:
            notes = [Note("unread", f"What has no effect here could not be told: {error}")]
    found = difference(sides, opener(root), held)
    return replace(found, notes=(*found.notes, *notes))


def opener(root: Path) -> Sealer:
    """Return what opens sealed text with this machine's keys; with a broken ``memkit.yaml`` it opens nothing."""
    try:
        has_keys = read_manifest(root).get("privacy", {}).get("key_id") is not None
    except MemkitError:
        return NoSealer()
    return KeySealer(lambda: KeyRing(root), seals=False) if has_keys else NoSealer()


def review_commits(root: Path, span: str | None = None) -> Review:
    """Return the review of what changed over ``span`` in the store at ``root``; the work tree stays as it is.

    Raises:
        EnvironmentFault: The store is not in a repository, or a file of a commit was not fetched.
        UsageError: The span cannot be parsed, or names no commit.
    """
    sides = sides_of(root, span)
    before, after = sides.before, sides.after
    changed = changed_paths(before, after)
    looked = _looked_at(root, before, after, [path for path in changed if SHARD.fullmatch(path)])
    found = difference(sides, opener(root), looked.held)
    subjects = with_archive_changes(found.subjects, chain_changes(looked.flaws, looked.fault))
    found = replace(found, subjects=in_order(subjects), notes=(*found.notes, *looked.notes))
    verdicts = changed_verdicts(before, after, changed)
    renamed = {each.old_path: each.path for each in found.subjects if each.old_path and each.path}
    lint = lint_delta(before, after, changed, renamed)
    return Review(found, verdicts, lint, assess(found, verdicts, lint, looked.questions))


def review_part(review: Review, user: str) -> Review:
    """Return the part of a review for one user: their memory, and the policies, skills and domains, which all see."""
    shown = [
        one for one in review.difference.subjects if one.area in ("policy", "skill", "domain") or _is_of(one, user)
    ]
    paths = {one.path for one in shown if one.path}
    found = replace(review.difference, subjects=tuple(shown), notes=())
    lint = replace(review.lint, new=_at(review.lint.new, paths), fixed=_at(review.lint.fixed, paths))
    return Review(found, review.verdicts, lint, assess(found, review.verdicts, lint))


def _is_of(subject: ReviewSubject, user: str) -> bool:
    return subject.area == "memory" and subject.path is None and subject.name == user


def _at(findings: Sequence[LintFinding], paths: set[str]) -> tuple[LintFinding, ...]:
    return tuple(one for one in findings if one.path in paths)


@dataclass
class _Looked:
    """What the archive of the later side reports."""

    questions: list[str] = field(default_factory=list)
    """The open questions between records, from this change or before, in one sentence each."""
    flaws: list[ShardProblem] = field(default_factory=list)
    """What is withheld or missing, of writers whose shards changed, and was not on the earlier side."""
    notes: list[Note] = field(default_factory=list)
    """Remarks on their chains: new writers, lines without links or in another order, lines moved back."""
    held: Mapping[str, bool] = field(default_factory=dict)
    """The lines without effect, and whether each waits for a person."""
    fault: str = ""
    """Why changed shards were not judged."""


STRANGERS = (
    "Nobody here trusted the other clones that wrote here, so what they did to memory of this clone waits: 'memkit "
    "memory list --open' shows it, 'memkit memory approve ID' carries out one of it, and 'memkit trust' all."
)


def _looked_at(root: Path, before: StoreSide, after: StoreSide, shards: Sequence[str]) -> _Looked:
    """Judge the archive as on the later side, and report on the writers of ``shards``, which changed."""
    from memkit.workspace import Workspace

    looked, writers = _Looked(), {shard_writer(path)[0] for path in shards}
    for writer in sorted(_writers(after) - _writers(before)):
        looked.notes.append(Note("new_writer", f"The writer {writer} is new: whoever commits may add one."))
    try:
        with Workspace(root) as workspace:
            archive = workspace.archive_at(after.end.commit)
            if shards:
                looked.held, notes = _held(archive)
                looked.notes += notes
            looked.questions = [_sentence(archive, question) for question in archive.open_questions()]
            # Only a work tree is moved back, and always as a whole.
            told = [one for one in archive.chain_notes() if one.code == MOVED_BACK or _writer(one) in writers]
            looked.notes += [Note(one.code, one.message) for one in told if one.code != "new_writer"]
            flaws = _flaws(archive, writers)
            unlinked = {_writer(one) for one in told if one.code == "unlinked"}
            early = _linkless(before, after, [path for path in shards if shard_writer(path)[0] in unlinked])
            if flaws and before.end.commit is not None:
                earlier = workspace.archive_at(before.end.commit)
                earlier.chain_notes()  # reads it
                known = Counter((one.code, one.message) for one in _flaws(earlier, writers))
                flaws = [one for one in flaws if not _taken(known, (one.code, one.message))]
            places = {(one.path, one.line) for one in flaws}
            looked.flaws = [*flaws, *(one for one in early if (one.path, one.line) not in places)]
    except (MemkitError, ArchiveError) as error:
        # Other faults that keep a store from being opened are reported by the other comparisons.
        looked.fault = str(error) if shards else ""
    return looked


def _held(archive: ArchiveReader) -> tuple[dict[str, bool], list[Note]]:
    """Return the lines without effect, and whether each waits for a person, with a note if a stranger's does."""
    held = archive.held()
    waits = any(origin.startswith("writer:") for one in held.values() if one for origin in one.taint)
    notes = [Note("strangers", STRANGERS)] if waits else []
    return {id: waiting is not None for id, waiting in held.items()}, notes


def _flaws(archive: ArchiveReader, writers: set[str]) -> list[ShardProblem]:
    found = (one for one in archive.damage if one.code in (TAMPERED, MISSING))
    return [one for one in found if _writer(one) in writers]


def _linkless(before: StoreSide, after: StoreSide, shards: Sequence[str]) -> Iterator[ShardProblem]:
    """Yield new lines without links that come before the first link of a writer who had some before.

    An archive read for the first time takes them for older than all links; one that knew the writer does not.
    """
    for path in shards:
        writer = shard_writer(path)[0]
        theirs = [one for one in before.files if SHARD.fullmatch(one) and shard_writer(one)[0] == writer]
        if path not in after.files or not any(b'"link":"' in content for content in before.read(theirs).values()):
            continue
        known = set(before.read([path]).get(path, b"").split(b"\n"))
        for number, line in enumerate(after.read([path]).get(path, b"").split(b"\n"), start=1):
            with suppress(InvalidRecord):  # an invalid line is reported as such
                if line not in known and "link" not in (data := decode_line(line)):
                    message = f"Line {data.get('id')} has no link, but this writer's lines have links."
                    yield ShardProblem(TAMPERED, path, number, message)


def _writer(found: ShardProblem) -> str:
    return shard_writer(found.path)[0]


def _taken(known: Counter[tuple[str, str]], key: tuple[str, str]) -> bool:
    known[key] -= 1
    return known[key] >= 0


def _sentence(archive: ArchiveReader, question: OpenQuestion) -> str:
    texts = [quoted(stored.record.text) for id in question.ids if (stored := archive.get(id))]
    return f"{question.why} {' and '.join(texts)}"


def _writers(side: StoreSide) -> set[str]:
    return {shard_writer(path)[0] for path in side.files if SHARD.fullmatch(path)}


DRAFTS = ("skill-", "consolidate-", "reflect-")


@dataclass(frozen=True)
class BranchDraft:
    """A draft, and the branch that holds it."""

    branch: str
    commit: str
    day: str
    subject: str


def list_drafts(workspace: Workspace) -> list[BranchDraft]:
    """Return the unmerged drafts; none if the store is not in a repository."""
    form = "%(refname:lstrip=2)%09%(objectname)%09%(committerdate:short)%09%(subject)"
    said = workspace.git.run(
        "for-each-ref", f"--format={form}", "--no-merged=HEAD", *(f"refs/heads/memkit/{kind}*" for kind in DRAFTS)
    )
    return [BranchDraft(*line.split("\t", 3)) for line in said.splitlines() if line.count("\t") >= 3]


def merge_draft(workspace: Workspace, branch: str, commit: str, *, reason: str = "") -> str:
    """Merge a draft as it was seen at ``commit``, and return the new commit; a conflicting one changes nothing.

    Raises:
        NegativeAnswer: It waits no longer, has changed since, or conflicts with the present content.
        EnvironmentFault: Git is in the middle of an operation, or does not know who commits.
    """
    draft, git = _draft(workspace, branch, commit), workspace.git
    git.require_quiet()
    git.require_identity()
    message = f"Take over {draft.branch}: {draft.subject}" + (f"\n\n{reason}" if reason else "")
    try:
        git.run("merge", "--no-ff", "-m", message, draft.commit)
    except EnvironmentFault as error:
        git.run("merge", "--abort", check=False)
        raise NegativeAnswer(f"{branch} conflicts with what is there. Merge it by hand: git merge {branch}") from error
    git.run("branch", "-D", draft.branch)
    workspace.archive.refresh()
    return git.run("rev-parse", "HEAD").strip()


def drop_draft(workspace: Workspace, branch: str, commit: str) -> None:
    """Delete the branch of a draft as it was seen at ``commit``; raise ``NegativeAnswer`` as ``merge_draft`` does."""
    workspace.git.run("branch", "-D", _draft(workspace, branch, commit).branch)


def _draft(workspace: Workspace, branch: str, commit: str) -> BranchDraft:
    for draft in list_drafts(workspace):
        if (draft.branch, draft.commit) == (branch, commit):
            return draft
    raise NegativeAnswer(f"The draft {branch!r:.80} is gone or has changed. Look at it again; nothing was done.")
