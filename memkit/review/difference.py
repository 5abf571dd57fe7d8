"""All changes between two sides of a store, each kind of file compared in its own terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from memkit.domains.files import domain_findings
from memkit.domains.learned import FOLDER as LEARNED_FOLDER
from memkit.domains.learned import learned_findings
from memkit.policies.files import policy_findings
from memkit.review.interface import Difference, ReviewSubject, SubjectChange, in_order, quoted
from memkit.review.memory_changes import SHARD, memory_subjects
from memkit.review.policy_changes import domain_changes, policy_changes, setting_changes
from memkit.review.sides import EXECUTABLE, LARGEST, LINK, FileState, Pair, StoreSide, StoreSides, paired
from memkit.review.skill_changes import skill_changes
from memkit.runtime.memory.record.lines import Sealer
from memkit.skills.skill import read_skill, skill_findings
from memkit.store.chain_history import HEADS
from memkit.store.layout import MANIFEST
from memkit.store.schema import SchemaFinding, check, load_schema
from memkit.store.yaml import Document, YamlError, load_yaml

Describe = Callable[[Any, Any], list[SubjectChange]]


@dataclass(frozen=True)
class FileKind:
    """A kind of file that is compared by meaning."""

    area: str
    findings: Callable[[Document, str], list[SchemaFinding]]
    """Returns the faults that keep a document from being what its folder says."""
    describe: Describe
    """Returns the changes between the data of two files, None for a missing file."""


@dataclass(frozen=True)
class _Read:
    """A file as far as it could be read."""

    data: Any = None
    fault: str = ""


def _skill_changes(before: Any, after: Any) -> list[SubjectChange]:
    one, other = (None if data is None else read_skill(data) for data in (before, after))
    return skill_changes(one, other)


KINDS: Mapping[str, FileKind] = {
    "policies": FileKind("policy", policy_findings, policy_changes),
    "skills": FileKind("skill", skill_findings, _skill_changes),
    "domains": FileKind("domain", domain_findings, domain_changes),
}
"""By the folder of the files."""
LEARNED = FileKind("domain", learned_findings, lambda before, after: domain_changes(before or {}, after or {}))
"""Methods that a model proposed: each is examined, even in a new file."""
SETTINGS = FileKind("settings", lambda document, stem: check(document.data, load_schema("memkit")), setting_changes)
WATCHED = (".github/", ".pre-commit-config.yaml", "action.yml", "policies/tests/")
WATCHED_ANYWHERE = (".gitattributes", ".gitignore", ".gitmodules")
"""Files that decide how a change is checked, and so are shown with the change."""


def kind_of(path: str) -> FileKind | None:
    """Return the kind of a file by its place, None for one that is only listed."""
    if path == MANIFEST:
        return SETTINGS
    place = PurePosixPath(path)
    if place.parent.as_posix() == LEARNED_FOLDER and place.suffix == ".yaml":
        return LEARNED
    return KINDS.get(place.parent.as_posix()) if place.suffix == ".yaml" and not place.name.startswith(".") else None


def file_subjects(before: StoreSide, after: StoreSide, changed: Iterable[str]) -> Iterator[ReviewSubject]:
    """Yield every file among the ``changed`` paths that differs in meaning or in content."""
    by_kind: dict[FileKind, list[str]] = {}
    for path in changed:
        kind = kind_of(path)
        if kind is None:
            yield _other_file(path, before.files.get(path), after.files.get(path))
        else:
            by_kind.setdefault(kind, []).append(path)
    for kind, paths in by_kind.items():
        yield from _of_kind(kind, before, after, paths)


def _moves_on(path: str, before: StoreSide, after: StoreSide) -> bool:
    """Return whether a file only records how far the archive is, which the archive's own change says better."""
    there, was = after.files.get(path), before.files.get(path)
    if there is None or not PurePosixPath(path).match(f"{HEADS}/*.json"):
        return False
    return there.mode == (was or there).mode and there.mode not in (LINK, EXECUTABLE)


def _of_kind(kind: FileKind, before: StoreSide, after: StoreSide, paths: list[str]) -> Iterator[ReviewSubject]:
    old, new = before.read(paths), after.read(paths)
    both = [path for path in paths if path in before.files and path in after.files]
    gone = {path: old.get(path, b"") for path in paths if path not in after.files}
    come = {path: new.get(path, b"") for path in paths if path not in before.files}
    for pair in paired(gone, come, both):
        one = _read(kind, pair.before, before, old)
        other = _read(kind, pair.after, after, new)
        yield _subject(kind, pair, one, other)


def _read(kind: FileKind, path: str | None, side: StoreSide, contents: Mapping[str, bytes]) -> _Read:
    if path is None:
        return _Read()
    if path not in contents:
        return _Read(fault=_unread(side.files[path]))
    try:
        document = load_yaml(contents[path], name=path)
        for finding in kind.findings(document, PurePosixPath(path).stem):
            line, column = finding.position(document)
            return _Read(fault=_fault(line, column, finding.message))
    except YamlError as error:
        return _Read(fault=_fault(error.line or 1, error.column, error.problem))
    return _Read(document.data)


def _fault(line: int, column: int, problem: str) -> str:
    return f"line {line}, column {column}: {quoted(problem.removesuffix('.'), 200)}"


def _unread(file: FileState) -> str:
    if file.mode == LINK:
        return "it is a symbolic link; only files are read"
    if file.size > LARGEST:
        return f"it has {file.size:,} bytes; the limit is {LARGEST:,}"
    return "it cannot be opened"


def _subject(kind: FileKind, pair: Pair, one: _Read, other: _Read) -> ReviewSubject:
    path = pair.after or pair.before or ""
    stem = path if kind is SETTINGS else PurePosixPath(path).stem
    renamed = pair.before is not None and pair.after is not None and pair.before != pair.after
    was = PurePosixPath(pair.before).stem if renamed and pair.before else None
    changes = [SubjectChange("name", "renamed", f"renamed from {quoted(was)}", was, stem)] if was else []
    if one.fault or other.fault:
        changes += _broken(one, other, pair)
    else:
        changes += kind.describe(one.data, other.data) or [_spelling()] * (not renamed)
    status = "added" if pair.before is None else "removed" if pair.after is None else "renamed" if was else "changed"
    status = "broken" if other.fault else status
    return ReviewSubject(kind.area, stem, status, tuple(changes), path, was, pair.before if was else None)


def _spelling() -> SubjectChange:
    return SubjectChange("file", "respelled", "no change of meaning: only comments, order or spelling of the YAML")


def _broken(one: _Read, other: _Read, pair: Pair) -> Iterator[SubjectChange]:
    if other.fault:
        said = f"can no longer be used: {other.fault}" if pair.before and not one.fault else other.fault
        said = said if pair.before else f"added, but cannot be used: {other.fault}"
        said = f"still cannot be used: {other.fault}" if one.fault else said
        yield SubjectChange("file", "broken", said, one.fault or None, other.fault, attention=True)
    elif pair.after is None:
        yield SubjectChange("file", "removed", f"removed; it could not be used: {one.fault}", one.fault, None)
    else:
        said = f"can be used now; its changes cannot be compared, because it could not be used before: {one.fault}"
        yield SubjectChange("file", "mended", said, one.fault, None, attention=True)


def _other_file(path: str, one: FileState | None, other: FileState | None) -> ReviewSubject:
    status = "added" if one is None else "removed" if other is None else "changed"
    there = other or one
    assert there is not None
    said = f"file {status}, {there.size:,} bytes"
    if one and other and one.size != other.size:
        said = f"file {status}, {one.size:,} → {other.size:,} bytes"
    watched = path.startswith(WATCHED) or PurePosixPath(path).name in WATCHED_ANYWHERE
    changes = [SubjectChange("file", status, said, attention=watched)]
    modes = (one.mode if one else None, other.mode if other else None)
    if modes[0] != modes[1] and modes[1] == LINK:
        changes.append(SubjectChange("mode", "changed", "it is now a symbolic link", *modes, attention=True))
    if modes[0] != modes[1] and modes[1] == EXECUTABLE:
        changes.append(SubjectChange("mode", "changed", "it is now executable", *modes, attention=True))
    return ReviewSubject("file", path, status, tuple(changes), path)


def difference(sides: StoreSides, sealer: Sealer, held: Mapping[str, bool]) -> Difference:
    """Return the changes by meaning, where text that ``sealer`` cannot open stays sealed.

    Of the lines known to have no effect on the later side, ``held`` says whether each waits for a person.
    """
    before, after = sides.before, sides.after
    changed = changed_paths(before, after)
    shards = [path for path in changed if SHARD.fullmatch(path)]
    others = [path for path in changed if path not in shards and not (shards and _moves_on(path, before, after))]
    subjects = [*file_subjects(before, after, others), *memory_subjects(before, after, changed, sealer, held)]
    return Difference(before.end, after.end, in_order([each for each in subjects if each.changes]), sides.notes)


def changed_paths(before: StoreSide, after: StoreSide) -> list[str]:
    """Return the paths whose content or file type differs between the sides."""
    paths = sorted({*before.files, *after.files})
    return [path for path in paths if _state(before.files.get(path)) != _state(after.files.get(path))]


def _state(file: FileState | None) -> tuple[str, str] | None:
    return None if file is None else (file.id, file.mode)
