"""A field of a record has one home: the line that declares it says what becomes of it, and all follows from that."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import memkit.runtime.memory
from memkit.runtime.memory.record.record import CHECKS, CHOICES, CLEAR, FIELDS, IMPORTED_FIELDS, Field, Record, declared

ANCHOR = "    extra: Annotated[Mapping[str, JSON], "

PROGRAM = """
import json
from memory.archive.archive import ArchivalStore
from memory.gate.gate import WriteGate
from memory.record.record import CLEAR, Draft, Origin
from memory.interface import WriteSettings

person = Origin("person", "ada")

def kept(archive, id):
    return archive.get(id, user_id="ada").record.to_data().get("about")

archive = ArchivalStore()
one = archive.offer(Draft("Ada owns a red bicycle", extra={"about": ["Ada", "bicycle"]}), person).id
two = archive.offer(Draft("Ada rides it to the harbour", extra={"about": ["Ada", "harbour"]}), person).id
found = {"offered": kept(archive, one), "in clear": "about" in CLEAR}
found["merged"] = kept(archive, archive.merge([one, two], person).id)
new = archive.offer(Draft("Ada likes tea", extra={"about": ["Ada"]}), person).id
found["superseded"] = kept(archive, archive.supersede(new, "Ada likes coffee", person).id)
brought = archive.import_many([(Draft("Ada sails", extra={"about": ["Ada"]}), Origin("import", "ada"))])
found["imported"] = kept(archive, next(brought).id)

masking = ArchivalStore(gate=WriteGate(WriteSettings(secrets="mask")))
hidden = masking.offer(Draft("Ada has a key", extra={"about": ["password: hunter2x"]}), person).id
found["masked"] = kept(masking, hidden)

lines = [json.loads(line) for line in archive.export("ada")]
other = ArchivalStore()
list(other.restore("ada", lines, person))
found["restored"] = sorted(other.export("ada")) == sorted(archive.export("ada"))
found["broken"] = archive.offer(Draft("Ada is", extra={"about": "Ada"}), person).decision
print(json.dumps(found))
"""


def with_field(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the program on a copy of the room whose records have one more field."""
    room = Path(memkit.runtime.memory.__file__).parent
    shutil.copytree(room, folder / "memory", ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "memory/record/record.py"
    text = path.read_text("utf-8")
    assert text.count(ANCHOR) == 1
    path.write_text(text.replace(ANCHOR, f"    {line}\n{ANCHOR}"), "utf-8")
    return subprocess.run([sys.executable, "-c", PROGRAM], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("superseding", "merging", "sealing", "superseded", "merged"),
    [
        ("copy", "all", "hide", ["Ada"], ["Ada", "bicycle", "harbour"]),
        ("drop", "best", "clear", None, ["Ada", "harbour"]),
        ("drop", "drop", "hide", None, None),
    ],
)
def test_a_new_field_is_one_line(
    tmp_path: Path, superseding: str, merging: str, sealing: str, superseded: object, merged: object
) -> None:
    """Offered, imported, superseded, merged, masked, sealed, exported and checked as its own line says."""
    decided = f'Field("labels", "payload", "{superseding}", "{merging}", "mask", "{sealing}")'

    done = with_field(f"about: Annotated[tuple[str, ...], {decided}] = ()", tmp_path)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "offered": ["Ada", "bicycle"],
        "in clear": sealing == "clear",
        "merged": merged,
        "superseded": superseded,
        "imported": ["Ada"],
        "masked": ["password: [masked:password]"],
        "restored": True,
        "broken": "refused",
    }


def test_a_new_field_of_which_nothing_was_decided_is_found_at_once(tmp_path: Path) -> None:
    """Nothing of the room can be imported until somebody decided, and the error names the field."""
    done = with_field("about: tuple[str, ...] = ()", tmp_path)

    assert done.returncode != 0
    assert "about of Record" in done.stderr


def test_every_field_is_decided_in_known_words() -> None:
    """A word that no code follows would decide nothing."""
    assert tuple(FIELDS) == Record._fields == tuple(declared(Record))
    for name, field in FIELDS.items():
        assert isinstance(field.form, tuple) or field.form in {*CHECKS, "rest"}, name
        for question, words in CHOICES.items():
            assert getattr(field, question) in words, (name, question)
    assert set(CHOICES) == set(Field._fields) - {"form"}


def test_what_a_sealed_line_says_in_clear_is_pinned() -> None:
    """Stored lines depend on it: a field that changes sides makes former lines unreadable or says what was hidden."""
    hidden = {name for name in FIELDS if name not in CLEAR}

    assert hidden == {"text", "tags", "source_url", "key", "taint", "about", "relation", "extra"}
    assert IMPORTED_FIELDS == ("id", "created_at", "session_id", "turn_id", "agent_id", "key", "about", "relation")
