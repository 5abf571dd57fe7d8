"""Describe by meaning what changed in memory, user by user: additions, corrections, doubts, consent and retractions."""

from __future__ import annotations

import re
import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, Literal

from memkit.review.interface import ChangeFile, FiledChanges, ReviewSubject, SubjectChange, quoted, value
from memkit.review.sides import StoreSide
from memkit.runtime.host.terminal import counted
from memkit.runtime.memory.gate.hostile import suspicions
from memkit.runtime.memory.gate.secrets import mask
from memkit.runtime.memory.interface import ShardProblem
from memkit.runtime.memory.log.check import ShardPiece as Piece
from memkit.runtime.memory.log.check import pieces
from memkit.runtime.memory.log.shards import MONTH
from memkit.runtime.memory.record.events import Event, Located, fold, in_order
from memkit.runtime.memory.record.lines import JSON, InvalidRecord, Sealer, decode_line, is_sealed, shown
from memkit.runtime.memory.record.record import Record, replaced_by, unplaced
from memkit.store.chain_history import names_server
from memkit.store.layout import MANIFEST

SHARD = re.compile(rf"archive/{MONTH}/[^/]+\.jsonl")
AT_ONCE = 16
"""Shards that are in memory at the same time."""

_NAMED = re.compile(rb'"(?:id|target|supersedes)"\s*:\s*"((?:[^"\\]|\\.)*)"')

Line = Mapping[str, JSON]


class ShardLines:
    """The differences between two archives, by the id of each line, opened as far as keys are here.

    Lines are kept in an unnamed file, so that memory use does not grow with them; if an id occurs twice on a side,
    the later line counts.
    """

    def __init__(self, sealer: Sealer) -> None:
        self.flaws: list[ShardProblem] = []
        """Faults of the later side that the earlier one does not have."""
        self.unread: list[str] = []
        """Shards that are links, too large or cannot be opened."""
        self._sealer = sealer
        self._sql = sqlite3.connect("", isolation_level=None)
        for side in ("earlier", "later"):
            self._sql.execute(f"CREATE TABLE {side}(id BLOB PRIMARY KEY, path TEXT, content BLOB) WITHOUT ROWID")
        self._sql.execute("BEGIN")

    def take(self, side: Literal["earlier", "later"], pieces: Iterable[Piece], path: str) -> Iterator[Piece]:
        """Process the ``pieces`` of a shard of one side, and yield those that are not lines."""
        for piece in pieces:
            if piece.data is None:
                yield piece
            else:
                self._sql.execute(
                    f"INSERT OR REPLACE INTO {side} VALUES (?, ?, ?)", (_key(piece.id), path, piece.content)
                )

    def added(self) -> Iterator[tuple[str, Line]]:
        """Yield id and line of each added line."""
        found = self._sql.execute("SELECT id, content FROM later WHERE id NOT IN (SELECT id FROM earlier) ORDER BY id")
        yield from ((_id(key), _opened(content, self._sealer)) for key, content in found)

    def removed(self) -> Iterator[tuple[str, Line, str]]:
        """Yield id, line and shard of each removed line."""
        found = self._sql.execute("SELECT * FROM earlier WHERE id NOT IN (SELECT id FROM later) ORDER BY id")
        yield from ((_id(key), _opened(content, self._sealer), path) for key, path, content in found)

    def edited(self) -> Iterator[tuple[str, Line, Line, str]]:
        """Yield the id of each edited line, its former and its present content, and its former place."""
        found = self._sql.execute(
            "SELECT id, earlier.content, later.content, earlier.path FROM earlier JOIN later USING (id) "
            "WHERE earlier.content != later.content ORDER BY id"
        )
        for key, old, new, path in found:
            if (was := _opened(old, self._sealer)) != (now := _opened(new, self._sealer)):
                yield _id(key), was, now, path

    def added_line(self, id: str) -> Line | None:
        """Return the added line with an id."""
        found = self._sql.execute(
            "SELECT content FROM later WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM earlier WHERE id = ?1)", (_key(id),)
        ).fetchone()
        return _opened(found[0], self._sealer) if found else None

    def close(self) -> None:
        """Delete the unnamed file."""
        self._sql.close()


def _key(id: str) -> bytes:
    return id.encode("utf-8", "surrogatepass")  # JSON can contain what cannot be encoded


def _id(key: bytes) -> str:
    return key.decode("utf-8", "surrogatepass")


def compared_shards(before: StoreSide, after: StoreSide, changed: Iterable[str], sealer: Sealer) -> ShardLines:
    """Return the differences between the ``changed`` shards of two sides; merely moved lines are not included."""
    found = ShardLines(sealer)
    flaws: set[bytes] = set()
    for path in changed:
        old, new = (side.read([path]).get(path) if path in side.files else b"" for side in (before, after))
        if old is None or new is None:
            found.unread.append(path)
            continue
        shared = _shared(old, new)
        flaws.update(piece.content for piece in found.take("earlier", pieces(old[shared:]), path))
        lines_before = old.count(b"\n", 0, shared)
        for piece in found.take("later", pieces(new[shared:]), path):
            if piece.content not in flaws:
                found.flaws.append(ShardProblem(piece.flaw, path, piece.number + lines_before, piece.message))
    return found


def _shared(old: bytes, new: bytes) -> int:
    """Return the length of the common beginning, up to the end of a line: a shard that only grew is read from there."""
    return len(old) if new.startswith(old) and old.endswith(b"\n") else 0


def _opened(content: bytes, sealer: Sealer) -> Line:
    return unplaced(shown(decode_line(content), sealer))  # a relinked line has the same meaning


def lines_about(side: StoreSide, ids: Collection[str], sealer: Sealer) -> Iterator[tuple[str, int, Line]]:
    """Yield the lines of a side that are a record of ``ids``, an event about one, or a replacement of one.

    Each comes with its shard and number. Only those lines are parsed.
    """
    wanted = {id.encode() for id in ids}
    paths = sorted(path for path in side.files if SHARD.fullmatch(path)) if wanted else []
    for start in range(0, len(paths), AT_ONCE):
        for path, content in side.read(paths[start : start + AT_ONCE]).items():
            if wanted.isdisjoint(_NAMED.findall(content)):
                continue
            for number, line in enumerate(content.split(b"\n"), start=1):
                if not wanted.isdisjoint(_NAMED.findall(line)):
                    try:
                        yield path, number, _opened(line, sealer)
                    except InvalidRecord:
                        continue  # invalid lines are reported for a changed shard, and by fsck


SHARED = "shared"
"""The name of the memory that every user sees."""
MOST_EVENTS = 200
"""The most events of one record whose effect is described; with more, each would need comparing with all others."""
ARCHIVE = "archive"
"""The name of the subject about shards rather than anybody's memory."""


def memory_subjects(
    before: StoreSide, after: StoreSide, changed: Iterable[str], sealer: Sealer, held: Mapping[str, bool]
) -> list[ReviewSubject]:
    """Return the memory of each user with added, removed or changed lines; text stays sealed if no key is here.

    ``held`` is as in ``difference``.
    """
    shards = [path for path in changed if SHARD.fullmatch(path)]
    with closing(compared_shards(before, after, shards, sealer)) as lines:
        return [*_of_shards(lines), *_of_users(lines, after, sealer, held)]


def _of_shards(lines: ShardLines) -> Iterator[ReviewSubject]:
    changes = [*_flaws(lines.flaws), *(_unread(path) for path in lines.unread)]
    if changes:
        yield ReviewSubject("memory", ARCHIVE, "broken" if lines.flaws else "changed", tuple(changes), path="archive")


def _flaws(flaws: Iterable[ShardProblem]) -> Iterator[SubjectChange]:
    for flaw in flaws:
        said = f"{quoted(flaw.path)} line {flaw.line}: {flaw.message}"
        yield SubjectChange("archive", "broken", said, None, flaw.code, attention=True)


def _unread(path: str) -> SubjectChange:
    said = f"{quoted(path)} is a link, too large or cannot be opened, so it was not compared"
    return SubjectChange("archive", "unread", said, attention=True)


def chain_changes(flaws: Iterable[ShardProblem], fault: str) -> Iterator[SubjectChange]:
    """Yield what is withheld or missing according to the lines' links, or that they could not be checked."""
    for flaw in flaws:
        place = f"{quoted(flaw.path)} line {flaw.line}" if flaw.line else quoted(flaw.path)
        said = f"{place}: {flaw.code}: {quoted(flaw.message.removesuffix('.'), 200)}"
        yield SubjectChange("archive", flaw.code, said, None, flaw.code, attention=True)
    if fault:
        said = f"the links of the lines could not be checked: {quoted(fault.removesuffix('.'), 200)}"
        yield SubjectChange("archive", "unread", said, attention=True)


def with_archive_changes(
    subjects: Iterable[ReviewSubject], changes: Iterable[SubjectChange]
) -> Iterator[ReviewSubject]:
    """Yield the subjects, with additional changes about the shards themselves."""
    more = tuple(changes)
    for subject in subjects:
        if more and subject.area == "memory" and subject.path == ARCHIVE:
            subject, more = replace(subject, changes=(*subject.changes, *more)), ()
        yield subject
    if more:
        yield ReviewSubject("memory", ARCHIVE, "changed", more, path=ARCHIVE)


def _of_users(lines: ShardLines, after: StoreSide, sealer: Sealer, held: Mapping[str, bool]) -> Iterator[ReviewSubject]:
    past, file = _Past(lines, after, sealer, held), ChangeFile()
    places: dict[str, array[int]] = defaultdict(lambda: array("Q"))
    for id, line in lines.added():
        places[_owner(line)].append(file.add(past.told(id, line)))
    gone = _moved if _lies_on_server(after) else _gone
    for id, line, path in lines.removed():
        places[_owner(line)].append(file.add(gone(id, line, path)))
    for id, was, now, path in lines.edited():
        places[_owner(now)].append(file.add(_edited(id, was, now, path)))
    for owner, own in sorted(places.items()):
        yield ReviewSubject("memory", owner, "changed", FiledChanges(file, own))


def _owner(line: Line) -> str:
    return SHARED if line.get("scope") == "shared" and line.get("op") != "tombstone" else str(line["user_id"])


def _gone(id: str, line: Line, path: str) -> SubjectChange:
    said = f"line removed from {quoted(path)}, which only an erasure may do: {_named(line)}"
    return SubjectChange("archive", "removed", said, _text(line), None, attention=True, id=id)


def _lies_on_server(side: StoreSide) -> bool:
    """Return whether a store keeps all of its memory on a server: no shard of it counts, and none exists."""
    if any(SHARD.fullmatch(path) for path in side.files):
        return False
    return names_server((side.read([MANIFEST]).get(MANIFEST) or b"").decode("utf-8", "replace"))


def _moved(id: str, line: Line, path: str) -> SubjectChange:
    said = f"line no longer in {quoted(path)}: memory is now on a server: {_named(line)}"
    return SubjectChange("archive", "moved", said, _text(line), None, attention=True, id=id)


def _edited(id: str, was: Line, now: Line, path: str) -> SubjectChange:
    keys = [key for key in dict.fromkeys([*was, *now]) if was.get(key) != now.get(key)]
    shown = "; ".join(f"{key} {value(was.get(key), 60)} → {value(now.get(key), 60)}" for key in keys[:3])
    said = f"line edited in {quoted(path)}, where lines may only be added: {mask(shown)}"
    return SubjectChange("archive", "edited", said, _text(was), _text(now), attention=True, id=id)


def _named(line: Line) -> str:
    if "op" in line:
        return f"{line['op']} of {value(line['target'], 60)}"
    return f"{line.get('type', 'fact')} {_quote(line)}"


def _text(line: Line | None) -> str | None:
    """Return the text of a record as data for others: without secrets, and None if it cannot be read here."""
    return mask(str(line["text"])) if line is not None and isinstance(line.get("text"), str) else None


def _quote(line: Line | None) -> str:
    if line is None:
        return "a record that is not here"
    return "[sealed]" if is_sealed(line) else quoted(str(line.get("text", "")))


class _Past:
    """The known state of the records that the new lines are about."""

    def __init__(self, lines: ShardLines, after: StoreSide, sealer: Sealer, held: Mapping[str, bool]) -> None:
        self._held = held
        asked = _asked(line for _, line in lines.added())
        new = {id: line for id in asked if (line := lines.added_line(id))}
        self._records = {id: line for id, line in new.items() if "op" not in line}
        self._marks = {id: line for id, line in new.items() if "op" in line}
        self._events: dict[str, list[Located]] = {}
        for path, number, line in lines_about(after, asked, sealer):
            self._note(line, path, number)

    def _note(self, line: Line, path: str, number: int) -> None:
        try:
            if "op" in line:
                event = Event.from_data(line)
                if event.id not in self._held:
                    self._events.setdefault(event.target, []).append(Located(event, path, f"{number:012d}"))
                self._marks[event.id] = line
            else:
                self._records[str(line["id"])] = line
        except InvalidRecord:
            return  # an invalid line is reported where its shard changed

    def told(self, id: str, line: Line) -> SubjectChange:
        describe = _EVENTS.get(str(line["op"]), _Past._mark) if "op" in line else _Past._added
        change = describe(self, id, line)
        if id not in self._held:
            return change
        waits = self._held[id]
        until = " until a person approves it" if waits else " here"
        attention = waits or change.attention
        return replace(change, message=f"{change.message}; without effect{until}", attention=attention, held=True)

    def _added(self, id: str, line: Line) -> SubjectChange:
        kind, text = str(line.get("type", "fact")), _quote(line)
        suspected = _suspected(line)
        about = _provenance(line) + suspected
        old = [self._records.get(each) for each in _replaced(line)]
        waits = line.get("trust") == "quarantined"
        attention = waits or line.get("scope") == "shared" or kind == "constraint" or bool(suspected)
        if line.get("supersedes"):
            said = f"{kind} superseded: {_quote(old[0])} → {text}{about}"
            return SubjectChange("record", "superseded", said, _text(old[0]), _text(line), attention, id)
        if old:
            said = f"{counted(len(old), 'record')} merged into {kind}: {text}{about}"
            return SubjectChange("record", "merged", said, [_text(each) for each in old], _text(line), attention, id)
        if waits:
            return SubjectChange(
                "record", "quarantined", f"{kind} held back: {text}{about}", None, _text(line), True, id
            )
        return SubjectChange("record", "added", f"{kind} added: {text}{about}", None, _text(line), attention, id)

    def _mark(self, id: str, line: Line) -> SubjectChange:
        """Return an event about a record, with its effect on the record's trust and confidence."""
        op, target = str(line["op"]), str(line["target"])
        record, effect = self._records.get(target), self._effect(target, id)
        what = self._named(target)
        said = f"{_PAST.get(op, op)} by {line.get('actor', 'import')}: {what}{effect}{_reason(line)}"
        return SubjectChange(op, op, said, _text(record), None, op in _GRAVE, id)

    def _named(self, target: str) -> str:
        """Return the target of an event: a record, an edit of a core section, or another event."""
        mark = self._marks.get(target)
        if target in self._records:
            return _quote(self._records[target])
        if mark is None:
            return f"a record that is not here, {value(target, 60)}"
        return self._core(target, mark).message if mark["op"] == "core" else f"the event “{mark['op']}”"

    def _effect(self, target: str, id: str) -> str:
        """Return how an event changed the record's numbers, in brackets."""
        line = self._records.get(target)
        events = self._events.get(target, ())
        if line is None or len(events) > MOST_EVENTS:
            return ""
        try:
            record = Record.from_data(line)
        except InvalidRecord:
            return ""
        ordered = in_order(events)
        place = next((place for place, event in enumerate(ordered) if event.id == id), None)
        if place is None:
            return ""
        was, now = (fold(record, ordered[:end]).record for end in (place, place + 1))
        parts = []
        if was.confidence != now.confidence:
            parts.append(f"confidence {was.confidence:g} → {now.confidence:g}")
        if was.trust != now.trust:
            parts.append(f"{was.trust} → {now.trust}")
        return f" ({', '.join(parts)})" if parts else ""

    def _update(self, id: str, line: Line) -> SubjectChange:
        fields = _fields(line)
        named = ", ".join(f"{key} {value(fields[key], 60)}" for key in sorted(fields))
        what = _quote(self._records.get(str(line["target"])))
        said = f"changed by {line.get('actor', 'import')}: {what}, now {named or 'sealed'}{_reason(line)}"
        return SubjectChange("update", "changed", said, None, dict(fields), id=id)

    def _supersede(self, id: str, line: Line) -> SubjectChange:
        one = self._records.get(str(line["target"]))
        other = self._records.get(str(_fields(line).get("by") or ""))
        into = f" → {_quote(other)}" if other is not None else ""
        said = f"superseded: {_quote(one)}{into}{_reason(line)}"
        return SubjectChange("supersede", "superseded", said, _text(one), _text(other), id=id)

    def _core(self, id: str, line: Line) -> SubjectChange:
        fields, section = _fields(line), str(line["target"]).removeprefix("core/")
        text = "[sealed]" if is_sealed(line) else quoted(str(fields.get("text", "")))
        trust = fields.get("trust", "verified")
        held = "" if trust == "verified" else f", {trust}"
        agent = f" of the agent {quoted(str(line['agent_id']))}" if line.get("agent_id") else ""
        said = f"core section {quoted(section)}{agent} set by {line.get('actor', 'import')}{held}: {text}"
        return SubjectChange("core", "changed", said, None, mask(str(fields.get("text", ""))), attention=True, id=id)

    def _consent(self, id: str, line: Line) -> SubjectChange:
        granted = bool(_fields(line).get("granted"))
        word = "granted" if granted else "withdrawn"
        return SubjectChange(
            "consent", word, f"consent {word}{_reason(line)}", not granted, granted, attention=True, id=id
        )

    def _tombstone(self, id: str, line: Line) -> SubjectChange:
        said = "tombstone of an erased value, which may not come back; only a keyed digest stays"
        return SubjectChange("tombstone", "erased", said, attention=True, id=id)

    def _allow(self, id: str, line: Line) -> SubjectChange:
        record = self._records.get(str(line["target"]))
        what = _quote(record) if record is not None else "a value that was erased or rejected"
        said = f"allowed to come back by {line.get('actor', 'import')}: {what}{_reason(line)}"
        return SubjectChange("allow", "allowed", said, attention=True, id=id)


_PAST: Mapping[str, str] = {
    "confirm": "confirmed", "contradict": "contradicted", "reject": "rejected", "approve": "approved",
    "forget": "forgotten", "evidence": "told again", "retire": "retired", "restore": "restored",
    "revoke": "taken back",
}  # fmt: skip
_GRAVE = ("approve", "reject", "revoke", "restore")
"""Decisions of a person about a record that a reviewer wants to see."""
_EVENTS: Mapping[str, Callable[[_Past, str, Line], SubjectChange]] = {
    "update": _Past._update, "supersede": _Past._supersede, "core": _Past._core, "consent": _Past._consent,
    "tombstone": _Past._tombstone, "allow": _Past._allow,
}  # fmt: skip


def _asked(new: Iterable[Line]) -> set[str]:
    """Return the ids of the records that new lines point at."""
    found: set[str] = set()
    for line in new:
        if "op" in line:
            by = _fields(line).get("by")
            found |= {str(line["target"])} | ({by} if isinstance(by, str) else set())
        else:
            found |= set(_replaced(line))
    return {id for id in found if not id.startswith("core/")}


def _replaced(line: Line) -> tuple[str, ...]:
    try:
        return replaced_by(Record.from_data(line))
    except InvalidRecord:
        return ()


def _fields(line: Line) -> Mapping[str, JSON]:
    fields: Any = line.get("fields", {})
    return fields if isinstance(fields, Mapping) else {}


def _provenance(line: Line) -> str:
    """Return a new record's trust and origin, as far as they deserve a mention."""
    trust, actor = line.get("trust", "candidate"), line.get("actor", "import")
    parts = [f"{trust}, by {actor}"]
    confidence = line.get("confidence", 1.0)
    if confidence != 1.0:
        parts.append(f"confidence {confidence:g}" if isinstance(confidence, int | float) else "")
    if line.get("source_url"):
        parts.append(f"from {value(line['source_url'], 60)}")
    return f" ({', '.join(filter(None, parts))})"


def _suspected(line: Line) -> str:
    """Return what the gate would say of the text of a record that it did not hold back, or that a person approved."""
    found = suspicions(str(line.get("text", ""))) if line.get("trust") != "quarantined" else []
    if not found:
        return ""
    return ", with hidden characters" if found[0].code == "hidden_characters" else ", which reads like an order"


def _reason(line: Line) -> str:
    return f", because {quoted(str(line['reason']))}" if line.get("reason") else ""
