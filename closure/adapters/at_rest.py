"""Edits behind a store's back, by ``agent-memory-integrity``: T1 to T9 through its interface, with its own code."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from agmi.adapters.base import MemoryAdapter, Record
from agmi.adapters.semantic_base import SemanticMemoryAdapter
from agmi.attacks.at_rest import AT_REST_ATTACKS_WITH_SNAPSHOT
from agmi.attacks.memory_specific import ALL_MEMORY_ATTACKS
from agmi.check import LABELS, load_adapter, verdict

from closure.interface import CannotError


def edit_verdict(spec: str, number: int) -> str:
    """Return the suite's verdict on its edit ``T<number>`` for the adapter ``module:Class``, with its detail."""
    adapter = load_adapter(spec)
    attack = next(one for one in AT_REST_ATTACKS_WITH_SNAPSHOT if LABELS[one.name].startswith(f"T{number} "))
    result = attack().run(adapter)
    word = verdict(result, adapter)
    if word == "NOT EVALUABLE":
        raise CannotError(f"the suite's adapter cannot evaluate it: {result.error}")
    return f"{word}: {result.guard or result.error or result.detail or ''}".strip()


def front_door_outcomes(adapter: SemanticMemoryAdapter, name: str) -> dict[str, list[bool | None]]:
    """Return by channel, for each fixture of an attack, whether the attacker's text surfaced; None for no verdict."""
    attack = next(one for one in ALL_MEMORY_ATTACKS if one.name == name)
    result = attack().run(adapter)
    if result.error and not result.channels:
        raise CannotError(f"the suite gives no verdict: {result.error}")
    return dict(result.channels)


class JsonLines(MemoryAdapter):
    """A store of one JSON object per line, as in its files; the subclasses open and check it."""

    supports_replay = supports_metadata = supports_snapshot = True
    text, owner = "text", "user_id"
    """The keys of the content and of its owner."""

    def setup(self) -> None:
        """Begin with an empty folder."""
        self.folder = Path(tempfile.mkdtemp(prefix="at-rest-"))
        self.store = self.folder / "store"
        self.begin()

    def begin(self) -> None:
        """Create the store in ``self.store``."""
        self.store.mkdir()

    def teardown(self) -> None:
        """Leave the folder to the runner, which deletes it."""

    def remember(self, user: str, texts: list[str]) -> None:
        """Store texts in the tool's own way."""
        with self._file().open("a") as file:
            for text in texts:
                file.write(json.dumps({"id": f"{user}-{text}", self.owner: user, self.text: text}) + "\n")

    def seed(self, n: int) -> None:
        """Let the first user state something."""
        self.remember("ada", [f"Ada keeps crate {number} on shelf {number}" for number in range(n)])

    def seed_other(self, n: int) -> None:
        """Let the second user state something."""
        self.remember("bob", [f"Bob owns boat {number} at pier {number}" for number in range(n)])

    def append_genuine(self) -> None:
        """Let the first user state one thing more."""
        self.remember("ada", ["Ada keeps a kite in the cellar"])

    def _file(self) -> Path:
        return self.store / "lines.jsonl"

    def _lines(self) -> list[str]:
        return self._file().read_text(encoding="utf-8").splitlines()

    def _put(self, lines: list[str]) -> None:
        self._file().write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def _rows(self, user: str) -> list[tuple[int, dict[str, object]]]:
        found = [(place, json.loads(line)) for place, line in enumerate(self._lines())]
        return [(place, fields) for place, fields in found if fields.get(self.owner) == user and self.text in fields]

    def read_all_raw(self) -> list[Record]:
        """Return the first user's lines."""
        return [Record(seq, fields) for seq, (_, fields) in enumerate(self._rows("ada"))]

    def read_other_raw(self) -> list[Record]:
        """Return the second user's lines."""
        return [Record(seq, fields) for seq, (_, fields) in enumerate(self._rows("bob"))]

    def write_raw(self, record: Record) -> None:
        """Replace a line, or append one."""
        lines, rows = self._lines(), self._rows("ada")
        text = json.dumps(record.fields, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        if record.seq < len(rows):
            lines[rows[record.seq][0]] = text
        else:
            lines.append(text)
        self._put(lines)

    def delete_raw(self, seq: int) -> None:
        """Remove a line."""
        lines = self._lines()
        del lines[self._rows("ada")[seq][0]]
        self._put(lines)

    def mutate_payload(self, record: Record) -> Record:
        """Change the content of the same line."""
        record.fields[self.text] = f"{record.fields[self.text]} of Mallory"
        return record

    def forge_record(self, template: Record) -> Record:
        """Make a line that could come next."""
        fields = dict(template.fields)
        fields |= {"id": f"{fields['id']}"[:-1] + "Z", self.text: "Ada keeps a forged crate"}
        return Record(template.seq + 1, fields)

    def identity_of(self, record: Record) -> str:
        """Return the id."""
        return str(record.fields["id"])

    def payload_of(self, record: Record) -> str:
        """Return the text."""
        return str(record.fields[self.text])

    def owner_of(self, record: Record) -> str:
        """Return the owner."""
        return str(record.fields[self.owner])

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        """Copy another line's content to one, which keeps its id and its owner."""
        fields = dict(self._rows("ada")[victim_seq][1])
        fields[self.text] = donor.fields[self.text]
        self.write_raw(Record(victim_seq, fields))

    def read_meta(self, seq: int) -> dict[str, object]:
        """Return everything in a line except its text and its id."""
        fields = self._rows("ada")[seq][1]
        return {key: value for key, value in fields.items() if key not in (self.text, "id")}

    def write_meta(self, seq: int, meta: dict[str, object]) -> None:
        """Write that back beside the same text and id."""
        fields = self._rows("ada")[seq][1]
        kept = {key: fields[key] for key in (self.text, "id")}
        self.write_raw(Record(seq, {**meta, **kept}))

    def snapshot_store(self) -> object:
        """Copy the whole store."""
        return self._copy_store(self.store)

    def restore_store(self, token: object) -> None:
        """Restore that copy."""
        self._restore_store(str(token), self.store)

    def reload(self) -> None:
        """Keep nothing in memory between calls."""

    def verify(self) -> bool:
        """Return whether it opens; nothing else is checked."""
        self._rows("ada")
        return True


class PlainLines(JsonLines):
    """Lines without any digest, as in the control that forgets nothing."""

    name = "plain-lines"
