"""What templates and owners do to the files of a project, for the tests of updates.

The files are so unlike each other that none can be taken for another one renamed. A template works on the first half
of a file and an owner on the second, unless they are to meet.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PYTHON = ".py"
KINDS = (PYTHON, ".md", ".json", ".toml")
MINE, THEIRS = "mine", "theirs"


def text_of(number: int, kind: str) -> str:
    """Return a file whose lines no other file has."""
    if kind == PYTHON:
        return f'"""Module {number}."""\n\n' + "\n\n".join(_function(number, part) for part in range(8))
    if kind == ".json":
        return "{\n" + ",\n".join(f'  "key-{number}-{part}": "value {number} {part}"' for part in range(24)) + "\n}\n"
    return "".join(f"line{part}-{number} = 'words of {number} and {part}'\n" for part in range(24))


def _function(number: int, part: int) -> str:
    name = f"step_{number}_{part}"
    return (
        f"def {name}(first_{part}, second_{number}):  # about {number} {part}\n"
        f'    """Return {number} and {part}."""\n'
        f'    given = {name}_helper(first_{part}, "text {number} {part}", [{number}, {part}])\n'
        f"    return given + second_{number} * {number + part}\n"
    )


def edited(text: str, number: int, kind: str, word: str, place: int) -> str:
    """Return ``text`` with one line changed to hold ``word``, in the part ``place`` of 0 to 7."""
    if kind == PYTHON:
        old = f"return given + second_{number} * {number + place}\n"
        new = f"return given - {word}_{number}\n"
    elif kind == ".json":
        old, new = f'"value {number} {3 * place}"', f'"{word}_{number}"'
    else:
        old, new = f"'words of {number} and {3 * place}'", f"'{word}_{number}'"
    assert text.count(old) == 1
    return text.replace(old, new)


def reformatted(text: str) -> str:
    """Return Python as another formatter would write it: other quotes, broken lines, another space around comments."""
    text = re.sub(
        r"\((\w+), \"(.*?)\", \[(\d+), (\d+)\]\)", r"(\n        \1,\n        '\2',\n        [\3, \4],\n    )", text
    )
    text = re.sub(r"def (\w+)\((\w+), (\w+)\):  # ", r"def \1(\n    \2,\n    \3,\n):  #    ", text)
    return text.replace('"""\n\n\ndef', '"""\n\ndef').replace("\n\n\ndef", "\n\n\n\ndef")


@dataclass(frozen=True)
class Case:
    """One file, what the template does to it, and what its owner does."""

    number: int
    kind: str
    theirs: str
    mine: str

    @property
    def path(self) -> str:
        """Where the file is at first."""
        return f"{self.folder}/file{self.number}{self.kind}"

    @property
    def folder(self) -> str:
        """Each file has a folder of its own, so that one can be renamed."""
        return f"part{self.number}"

    @property
    def new_path(self) -> str | None:
        """Where the template has it afterwards."""
        if self.theirs == "delete":
            return None
        if self.theirs.startswith("rename folder"):
            return f"moved{self.number}/file{self.number}{self.kind}"
        return f"{self.folder}/renamed{self.number}{self.kind}" if self.theirs.startswith("rename") else self.path

    @property
    def own_path(self) -> str | None:
        """Where the owner has it before the update."""
        if self.mine in ("delete", "link"):
            return None
        return f"own/{self.number}{self.kind}" if self.mine.startswith("rename") else self.path

    @property
    def first(self) -> str:
        """The file as it was rendered."""
        return text_of(self.number, self.kind)

    @property
    def second(self) -> str | None:
        """The file as the template has it afterwards."""
        if self.theirs == "delete":
            return None
        changed = self.theirs.endswith("edit")
        return edited(self.first, self.number, self.kind, THEIRS, 1) if changed else self.first

    def edit(self, project: Path) -> None:
        """Do to the file what its owner does."""
        OWNER[self.mine](self, project / self.path)


def _line(place: int) -> Callable[[Case, Path], None]:
    def edit(case: Case, file: Path) -> None:
        file.write_text(edited(file.read_text(), case.number, case.kind, MINE, place))

    return edit


def _moved(case: Case, file: Path) -> None:
    target = file.parents[1] / str(case.own_path)
    target.parent.mkdir(exist_ok=True)
    file.rename(target)


def _moved_and_edited(case: Case, file: Path) -> None:
    _line(6)(case, file)
    _moved(case, file)


def _crlf(case: Case, file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))


def _crlf_and_edited(case: Case, file: Path) -> None:
    _line(6)(case, file)
    _crlf(case, file)


def _formatted(case: Case, file: Path) -> None:
    if case.kind == PYTHON:
        file.write_text(reformatted(file.read_text()))


def _formatted_and_edited(case: Case, file: Path) -> None:
    _line(6)(case, file)
    _formatted(case, file)


def _linked(case: Case, file: Path) -> None:
    file.unlink()
    file.symlink_to("/nowhere")


OWNER: dict[str, Callable[[Case, Path], None]] = {
    "nothing": lambda case, file: None,
    "edit": _line(6),
    "same line": _line(1),
    "delete": lambda case, file: file.unlink(),
    "rename": _moved,
    "rename and edit": _moved_and_edited,
    "mode": lambda case, file: file.chmod(0o750),
    "crlf": _crlf,
    "crlf and edit": _crlf_and_edited,
    "format": _formatted,
    "format and edit": _formatted_and_edited,
    "mark": lambda case, file: file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes()),
    "no last end": lambda case, file: file.write_bytes(file.read_bytes().rstrip(b"\n")),
    "binary": lambda case, file: file.write_bytes(b"\0\1\2" * 999),
    "link": _linked,
}
"""What an owner does."""
TEMPLATE = ("nothing", "edit", "rename", "rename and edit", "rename folder", "rename folder and edit", "delete")
"""What a template does."""
