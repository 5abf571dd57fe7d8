"""The archive line by line, with the parser that memory itself uses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from memkit.lint.files import opened_shard, shards_of
from memkit.lint.interface import Finding, Rule, SourceFile
from memkit.runtime.memory.index.chains import MISSING, TAMPERED
from memkit.runtime.memory.interface import ShardProblem
from memkit.runtime.memory.lifecycle.questions import OpenQuestion
from memkit.runtime.memory.log.clone import MACHINE
from memkit.runtime.memory.log.log import Log, is_whole
from memkit.runtime.memory.record.events import Event
from memkit.runtime.memory.record.lines import JSON, InvalidRecord, decode_line
from memkit.runtime.memory.record.record import Record
from memkit.store.git import HOW_TO_CLEAN, Git, is_tracked
from memkit.store.layout import MANIFEST

_PLACE = "archive/2026-11/writer.jsonl"
_RECORD = (
    '{"created_at":"2026-11-21T09:00:00.000000Z","id":"01KAJ3Q0000000000000000001","text":"Ada prefers espresso",'
    '"type":"preference","user_id":"ada"}\n'
)


_HOME = _RECORD.replace("prefers espresso", "lives in Berlin").replace("preference", "fact")
OPEN, WITHHELD = "MKA009", "MKA010"
_LINKED = (
    '{"created_at":"2026-11-21T09:00:00.000000Z","id":"01KAJ3Q0000000000000000001",'
    '"link":"0.bf9e9a59134cd0cdbf56e2b5733b47f6","salt":"4db16edbc23e6960b5d99698","text":"Ada prefers espresso",'
    '"type":"preference","user_id":"ada"}\n'
)
_HEAD = re.compile(r"heads/[^/]+\.json")
_SHARD = re.compile(r"\d{4}-\d{2}/[^/]+\.jsonl")
_MARKERS = (b"<<<<<<< ", b"||||||| ", b"=======\n", b"=======\r\n", b">>>>>>> ")


@dataclass(frozen=True)
class ShardLine:
    """A line of a shard."""

    path: Path
    number: int
    content: bytes
    last: bool


def check_archive(sources: Sequence[SourceFile]) -> Iterator[Finding]:
    """Yield the faults in the shards of one store.

    An id may conflict with a line of any other shard, so all of the store's shards are read and only the findings of
    the given ones are yielded.
    """
    given = {source.path for source in sources}
    seen: dict[str, tuple[int, Path, int]] = {}
    for path in sorted(given | shards_of(sources[0].root)):
        if _HEAD.fullmatch(path.relative_to(sources[0].root / "archive").as_posix()):
            continue  # the heads of writers, which fsck compares
        if path in given and not _is_shard(path, sources[0].root):
            message = "This file is not a shard and is not read. Shards are archive/<YYYY-MM>/<writer>.jsonl."
            yield Finding("MKA007", message, path, 1)
            continue
        for line in _lines_of_shard(path):
            yield from (finding for finding in _check_line(line, seen) if path in given)


def _is_shard(path: Path, root: Path) -> bool:
    return _SHARD.fullmatch(path.relative_to(root / "archive").as_posix()) is not None and not path.is_symlink()


def _lines_of_shard(path: Path) -> Iterator[ShardLine]:
    with opened_shard(path) as file:
        for number, content in enumerate(file, start=1):
            yield ShardLine(path, number, content, not content.endswith(b"\n"))


def _check_line(line: ShardLine, seen: dict[str, tuple[int, Path, int]]) -> Iterator[Finding]:
    if not line.content.strip():
        return
    if line.content.startswith(_MARKERS):
        yield _found("MKA006", "This line is a conflict marker of a merge. Keep all records and delete it.", line)
        return
    if line.last and not is_whole(line.content):
        yield _found("MKA002", "The line is incomplete: a process was killed while writing.", line)
        return
    try:
        data = decode_line(line.content)
    except InvalidRecord as error:
        yield _found("MKA001", str(error), line)
        return
    yield from _check_object(data, line)
    yield from _check_identity(data, line, seen)


def _check_object(data: dict[str, JSON], line: ShardLine) -> Iterator[Finding]:
    is_event = "op" in data
    try:
        if is_event:
            Event.from_data(data)
        else:
            Record.from_data(data)
    except InvalidRecord as error:
        yield _found("MKA004" if is_event else "MKA003", str(error), line)


def _check_identity(
    data: dict[str, JSON], line: ShardLine, seen: dict[str, tuple[int, Path, int]]
) -> Iterator[Finding]:
    identity = data.get("id")
    if not isinstance(identity, str):
        return
    content = hash(json.dumps(data, sort_keys=True))
    known, path, number = seen.setdefault(identity, (content, line.path, line.number))
    if known != content:
        where = f"line {number}" if path == line.path else f"{path.parent.name}/{path.name}, line {number}"
        yield _found("MKA005", f"The id {identity!r} has different content at {where}.", line)


def _found(code: str, message: str, line: ShardLine) -> Finding:
    return Finding(code, message, line.path, line.number)


def open_questions(root: Path, asked: Iterable[OpenQuestion], log: Log) -> Iterator[Finding]:
    """Yield the open questions in the archive of the store at ``root``, each at the place of its last record.

    The open questions are looked up in the archive's index, which records comparisons; lint caches none of them.
    """
    places = [(question, f'"id":{json.dumps(max(question.ids))}'.encode()) for question in asked]
    for shard in sorted(log.shards()) if places else ():
        data = log.read(shard)
        for question, mark in places:
            if (at := data.find(mark)) >= 0:
                message = f"{question.why} {' and '.join(question.ids)}: 'memkit memory list --open' shows them."
                yield Finding(OPEN, message, root / "archive" / shard, data.count(b"\n", 0, at) + 1)


def tampered_lines(root: Path, damage: Iterable[ShardProblem]) -> Iterator[Finding]:
    """Yield the lines that the archive of the store at ``root`` reports as withheld or missing."""
    for one in damage:
        if one.code in (TAMPERED, MISSING):
            place = root / one.path
            said = f"{one.code}: {one.message} 'memkit fsck' says what to do."
            # A missing shard has no place of its own.
            yield Finding(WITHHELD, said, place if place.is_file() else root / MANIFEST, max(1, one.line))


def tracked_machine_folder(root: Path) -> Iterator[Finding]:
    """Yield a finding if git tracks the machine's folder of the store at ``root``; git is asked each time."""
    if is_tracked(Git(root)):
        message = f"Git tracks {MACHINE}/, which holds sessions in clear text. {HOW_TO_CLEAN}"
        yield Finding("MKA008", message, root / MANIFEST, 1)


_rule = partial(Rule, example=_PLACE)
RULES = (
    _rule(
        "MKA001",
        "not-json",
        "A line of the archive is not a JSON object.",
        "The record on it is lost to search until the line is repaired. `memkit fsck --fix` sets it aside.",
        "Ada prefers espresso\n" + _RECORD,
        _RECORD,
    ),
    _rule(
        "MKA002",
        "torn-line",
        "The last line of a shard is incomplete.",
        "A process was killed while writing. The line was never acknowledged; it is set aside when the next record "
        "is written, or by `memkit fsck --fix`.",
        _RECORD + '{"created_at":"2026-11-21T09:00',
        _RECORD,
        severity="warning",
    ),
    _rule(
        "MKA003",
        "invalid-record",
        "A record lacks a field, or has an invalid one.",
        "It is not recalled. Lines are never edited: supersede the record, or let `memkit fsck --fix` set it aside.",
        _RECORD.replace('"type":"preference"', '"type":"liking"'),
        _RECORD,
    ),
    _rule(
        "MKA004",
        "invalid-event",
        "An event has an unknown op, or lacks a field.",
        "What it records, such as a rejection or an approval, has no effect. A newer memkit may have written it.",
        _RECORD
        + '{"actor":"person","at":"2026-11-21T09:01:00.000000Z","id":"01KAJ3Q0000000000000000002","op":"frobnicate",'
        '"target":"01KAJ3Q0000000000000000001","user_id":"ada"}\n',
        _RECORD
        + '{"actor":"person","at":"2026-11-21T09:01:00.000000Z","id":"01KAJ3Q0000000000000000002","op":"confirm",'
        '"target":"01KAJ3Q0000000000000000001","user_id":"ada"}\n',
    ),
    _rule(
        "MKA005",
        "id-conflict",
        "The same id is on two lines with different content.",
        "Archive lines are never edited, so one of them was. A merge that joins lines by text can do that; only one "
        "of the two is recalled.",
        _RECORD + _RECORD.replace("espresso", "latte"),
        _RECORD,
    ),
    _rule(
        "MKA006",
        "conflict-marker",
        "A merge conflict was left in the archive.",
        "Both sides are needed: no two writers share a shard, so keep every record and delete the marker lines.",
        "<<<<<<< HEAD\n" + _RECORD + "=======\n>>>>>>> other\n",
        _RECORD,
    ),
    Rule(
        "MKA007",
        "misplaced-shard",
        "A file in archive/ is not a shard, so nothing in it is remembered.",
        "Shards are `archive/<YYYY-MM>/<writer>.jsonl`.",
        _RECORD,
        _RECORD,
        "archive/notes.jsonl",
        severity="warning",
    ),
    Rule(
        "MKA008",
        "tracked-machine-folder",
        "Git tracks .memkit/, which belongs to this machine alone.",
        "It holds sessions, the audit log and the index in clear text, and no erasure reaches what others cloned. "
        f"{HOW_TO_CLEAN}",
        "git add -f .memkit\n",
        "git rm -r -q --cached .memkit\n",
        "memkit.yaml",
    ),
    Rule(
        OPEN,
        "open-question",
        "Records of the archive contradict each other, and nobody has said which is true.",
        "Both are recalled. Two statements were recorded, or two branches were merged, that disagree: statements that "
        "contradict each other, two successors of one record, or a successor or a repetition of what was rejected "
        "elsewhere. `memkit memory list --open` shows both sides, and `memkit memory resolve ID --holds` says which "
        "holds, and since when.",
        _HOME + _HOME.replace('001"', '002"').replace("Berlin", "Munich"),
        _HOME,
        _PLACE,
        severity="warning",
    ),
    _rule(
        WITHHELD,
        "tampered-line",
        "A line of the archive differs from what was written, or is missing.",
        "Every line names the previous one, and a digest of both. A line that does not fit was edited or forged behind "
        "memkit's back: it is withheld, and nothing else is. `memkit fsck` lists each, and a person adopts it with "
        "`memkit fsck --accept` or restores git's line with `--fix`.",
        _LINKED.replace("espresso", "latte"),
        _LINKED,
    ),
)
