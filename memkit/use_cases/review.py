"""Say by meaning what changed in a store between two commits, or since one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from memkit.errors import MemkitError
from memkit.privacy.keys import KeyRing
from memkit.privacy.sealer import KeySealer
from memkit.review.assessment import assess, changed_verdicts
from memkit.review.difference import changed_paths, difference
from memkit.review.interface import Difference, Note, Review
from memkit.review.lint_delta import lint_delta
from memkit.review.memory_changes import SHARD
from memkit.review.sides import StoreSide, sides_of
from memkit.review.wording import quoted
from memkit.runtime.memory.archive.reader import ArchiveReader
from memkit.runtime.memory.lifecycle.questions import OpenQuestion
from memkit.runtime.memory.log.log import shard_writer
from memkit.runtime.memory.record.errors import ArchiveError
from memkit.runtime.memory.record.lines import NoSealer, Sealer
from memkit.store.config import read_manifest


def compare_commits(root: Path, span: str | None = None) -> Difference:
    """Return what changed over ``span`` in the store at ``root``; broken files are described and not fatal.

    Raises:
        EnvironmentFault: The store lies in no repository, or a file of a commit was not fetched.
        UsageError: The span cannot be read, or names no commit.
    """
    return difference(sides_of(root, span), opener(root))


def opener(root: Path) -> Sealer:
    """Return what opens sealed text with the keys of this machine; with a broken ``memkit.yaml`` it opens nothing."""
    try:
        has_keys = read_manifest(root).get("privacy", {}).get("key_id") is not None
    except MemkitError:
        return NoSealer()
    return KeySealer(lambda: KeyRing(root), seals=False) if has_keys else NoSealer()


# Review what changed in a store between two commits: meaning, verdicts, lint, and what to look at first.


def review_commits(root: Path, span: str | None = None) -> Review:
    """Return the review of what changed over ``span`` in the store at ``root``; the work tree stays as it is.

    Raises:
        EnvironmentFault: The store lies in no repository, or a file of a commit was not fetched.
        UsageError: The span cannot be read, or names no commit.
    """
    sides = sides_of(root, span)
    before, after = sides.before, sides.after
    found = difference(sides, opener(root))
    found = replace(found, notes=(*found.notes, *_chain_notes(root, before, after)))
    changed = changed_paths(before, after)
    verdicts = changed_verdicts(before, after, changed)
    renamed = {each.old_path: each.path for each in found.subjects if each.old_path and each.path}
    lint = lint_delta(before, after, changed, renamed)
    return Review(found, verdicts, lint, assess(found, verdicts, lint, _open_questions(root, after.end.commit)))


def _open_questions(root: Path, commit: str | None) -> list[str]:
    """Return what stands open between records of the later side, in this change or before: each in one sentence."""
    from memkit.workspace import Workspace

    # What keeps a store from being opened is told by what else is compared.
    with suppress(MemkitError, ArchiveError), Workspace(root) as workspace:
        archive = workspace.archive_at(commit)
        return [_sentence(archive, question) for question in archive.open_questions()]
    return []


def _sentence(archive: ArchiveReader, question: OpenQuestion) -> str:
    texts = [quoted(stored.record.text) for id in question.ids if (stored := archive.get(id))]
    return f"{question.why} {' and '.join(texts)}"


def _chain_notes(root: Path, before: StoreSide, after: StoreSide) -> Iterator[Note]:
    """Yield what is worth a look in the chains: new writers, lines without links or in another order, moved back."""
    from memkit.workspace import Workspace

    earlier, later = _writers(before), _writers(after)
    for writer in sorted(later - earlier):
        yield Note("new_writer", f"The writer {writer} was not there before: whoever commits may add one.")
    # What keeps a store from being opened is told by what else is compared.
    with suppress(MemkitError, ArchiveError), Workspace(root) as workspace:
        yield from (Note(one.code, one.message) for one in workspace.archive.chain_notes() if one.code != "new_writer")


def _writers(side: StoreSide) -> set[str]:
    return {shard_writer(path)[0] for path in side.files if SHARD.fullmatch(path)}
