"""A formatter's work is no edit, and everything else is."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from edits import reformatted, text_of
from hypothesis import given, settings
from hypothesis import strategies as st

import memkit.runtime
from memkit.generate.update.formatting import Wording, chunks_of, meaning_of
from memkit.generate.update.merging import Labels, merge_content, says_the_same
from memkit.store.git_process import Plumbing, scratch_repository

SOURCES = sorted(Path(str(memkit.runtime.__file__)).parent.rglob("*.py"))
STYLES = (
    "line-length=60\nformat.quote-style='single'",
    "line-length=200\nformat.skip-magic-trailing-comma=true",
)
LABELS = Labels("template 1", "template 2")


@pytest.fixture(scope="module")
def git() -> Iterator[Plumbing]:
    """Give a repository to merge in."""
    with scratch_repository() as made:
        yield made


def formatted(files: list[Path], style: str) -> list[str]:
    """Return the texts of ``files`` as a formatter writes them."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "ruff.toml")
        config.write_text(style)
        copies = [Path(folder, f"file{number}.py") for number in range(len(files))]
        for file, copy in zip(files, copies, strict=True):
            copy.write_bytes(file.read_bytes())
        command = [sys.executable, "-m", "ruff", "format", "-q", "--config", str(config), *map(str, copies)]
        subprocess.run(command, check=True)
        return [copy.read_text() for copy in copies]


@pytest.mark.parametrize("style", STYLES)
def test_what_a_formatter_does_is_no_edit(style: str) -> None:
    """Of every file that travels, in styles far from its own: each says the same, and gets its writing back."""
    different = 0
    files = SOURCES[::3]
    for file, text in zip(files, formatted(files, style), strict=True):
        own, base = text.encode(), file.read_bytes()
        assert says_the_same(own, base, python=True), file
        wording = Wording(own, base, python=True)
        assert wording.shown == base and wording.restored(base) == own, file
        different += own != base
    assert different > len(files) / 2


def test_chunks_cover_a_file() -> None:
    """Their lines follow one another from the first to the last, and equal keys mean equal statements."""
    for file in SOURCES[1::3]:
        text = file.read_text()
        chunks = chunks_of(text)
        assert chunks is not None
        ends = [0, *(chunk.end for chunk in chunks)]
        assert [chunk.start for chunk in chunks] == ends[:-1] and ends[-1] == len(text.splitlines())


SAME = [
    ("x = 'a'\n", 'x = "a"\n'),
    ("x = u'a' 'b'\n", 'x = "ab"\n'),
    ("x = (1)\n", "x = 1\n"),
    ("f(a, b)\n", "f(\n    a,\n    b,\n)\n"),
    ("if x:\n  y()\nelse:\n  z()\n", "if x:\n    y()\nelse:\n    z()\n"),
    ("if x:\n\ty()\n", "if x:\n    y()\n"),
    ("def f():\n    '''One.\n\n      Two.\n    '''\n", 'def f():\n    """One.\n\n      Two."""\n'),
    ("x = 1  #note\n", "x = 1 # note\n"),
    ("@a (1)\nclass B( C ):\n    pass\n", "@a(1)\n\nclass B(C):\n    pass\n".replace("\n\nclass", "\nclass")),
    ("match x:\n  case [1,2] if y:\n    pass\n", "match x:\n    case [1, 2] if y:\n        pass\n"),
    ("try:\n    a\nexcept (B,C) as e:\n    b\n", "try:\n    a\nexcept (B, C) as e:\n    b\n"),
    ("x = a and \\\n    b\n", "x = a and b\n"),
    ("async def f(): await g(1,2)\n", "async def f(): await g(1, 2)\n"),
    ("x = 1\r\ny = 2\r\n", "x = 1\ny = 2\n"),
    ("\ufeffx = 1\n", "x = 1\n"),
    ("x = 1", "x = 1\n"),
]
DIFFERENT = [
    ("x = 'a '\n", 'x = "a"\n'),
    ("x = 1  # note\n", "x = 1  # other note\n"),
    ("x = 1  # note\n", "x = 1\n"),
    ("def f():\n    '''One.'''\n", "def f():\n    '''Two.'''\n"),
    ("if x:\n    y()\nz()\n", "if x:\n    y()\n    z()\n"),
    ("x = 1\ny = 2\n", "y = 2\nx = 1\n"),
    ("x = b'a'\n", "x = 'a'\n"),
    ("x = 1,\n", "x = 1\n"),
    ("def f(a, /): pass\n", "def f(a): pass\n"),
    ("x = f'{a!r}'\n", "x = f'{a}'\n"),
]


@pytest.mark.parametrize(("own", "base"), SAME)
def test_these_say_the_same(own: str, base: str) -> None:
    """Quotes, lines, brackets, indentation, prefixes, line ends and the mark of the encoding mean nothing."""
    assert says_the_same(own.encode(), base.encode(), python=True)


@pytest.mark.parametrize(("own", "base"), DIFFERENT)
def test_these_do_not_say_the_same(own: str, base: str) -> None:
    """Text, comments, order, nesting and types mean something."""
    assert not says_the_same(own.encode(), base.encode(), python=True)


@pytest.mark.parametrize("text", ["x = (", "\tx\n  y", "def", "x = '\\", "\0", "(" * 5000, "match x:\n"])
def test_what_is_no_python_is_merged_as_text(text: str) -> None:
    """A file that cannot be read is not taken apart."""
    assert chunks_of(text) is None and meaning_of(text) is None
    assert Wording(text.encode(), b"x = 1\n", python=True).shown == text.removesuffix("\n").encode() + b"\n"


def test_a_format_and_changes_on_both_sides_merge(git: Plumbing) -> None:
    """What the owner formatted stays so, what the owner changed is there, and what the template changed as well."""
    base = text_of(7, ".py")
    own = reformatted(base.replace("return given + second_7 * 13", "return 'my own'  # mine"))
    theirs = base.replace("return given + second_7 * 8", 'return "theirs"')

    merged = merge_content(git, base.encode(), own.encode(), theirs.encode(), LABELS, python=True)

    assert not merged.marked and not merged.unmerged
    assert merged.content.decode() == own.replace("return given + second_7 * 8", 'return "theirs"')


@pytest.mark.parametrize("step", ["  ", "\t", "        "])
def test_another_indentation_stays(step: str, git: Plumbing) -> None:
    """What is new gets the owner's steps, and what both changed merges."""
    base = text_of(3, ".py")
    own = base.replace("    ", step).replace("return given + second_3 * 9", "return 'mine'")
    theirs = base.replace("    return given + second_3 * 4", '    if given:\n        return "theirs"')

    merged = merge_content(git, base.encode(), own.encode(), theirs.encode(), LABELS, python=True)

    assert not merged.marked and not merged.unmerged
    expected = f'{step}if given:\n{step}{step}return "theirs"'
    assert merged.content.decode() == own.replace(f"{step}return given + second_3 * 4", expected)


def test_where_the_owners_writing_does_not_fit_meaning_comes_first(git: Plumbing) -> None:
    """A text over lines would be another one with the owner's steps, so the file comes in the template's writing."""
    base = text_of(3, ".py")
    own = base.replace("    ", "  ")
    theirs = base.replace("return given + second_3 * 4", 'return """theirs\n        and more\n"""')

    merged = merge_content(git, base.encode(), own.encode(), theirs.encode(), LABELS, python=True)

    assert not merged.marked and not merged.unmerged
    assert meaning_of(merged.content.decode()) == meaning_of(theirs)


def test_a_merge_that_is_no_python_any_more_is_not_written(git: Plumbing) -> None:
    """Each side can be read and the lines do not collide, but the two together are broken: the owner's stays."""
    base = "".join(f"call_{number}()\n" for number in range(8)) + "x = [\n    1,\n    2,\n    3,\n    4,\n    5,\n]\n"
    own = base.replace("x = [\n", "x = (\n").replace("]\n", ")\n")
    theirs = base.replace("    3,\n", "    3,\n]\ny = [\n")

    merged = merge_content(git, base.encode(), own.encode(), theirs.encode(), LABELS, python=True)

    assert merged.unmerged and merged.content.decode() == own


def test_a_conflict_keeps_the_owners_writing_around_it(git: Plumbing) -> None:
    """Line ends and format stay, in the owner's part of the conflict too."""
    base = text_of(5, ".py")
    own = reformatted(base).replace("return given + second_5 * 6", "return 'mine'").replace("\n", "\r\n")
    theirs = base.replace("return given + second_5 * 6", "return 'theirs'")

    merged = merge_content(git, base.encode(), own.encode(), theirs.encode(), LABELS, python=True)

    text = merged.content.decode()
    assert merged.marked and text.count("\n") == text.count("\r\n")
    before, _, rest = text.partition("<<<<<<< yours\r\n")
    mine, _, rest = rest.partition("||||||| template 1\r\n")
    _, _, after = rest.partition(">>>>>>> template 2\r\n")
    assert before + mine + after == own


lines = st.lists(st.sampled_from(["a", "b", "c", "", "long line", "x = 1"]), max_size=12)
ends = st.sampled_from(["\n", "\r\n"])


@settings(max_examples=200, deadline=None)
@given(lines, lines, ends, st.booleans(), st.booleans(), st.booleans())
def test_writing_comes_back_to_the_byte(
    own: list[str], base: list[str], end: str, mark: bool, last: bool, python: bool
) -> None:
    """A merge that changes nothing gives the owner's file, whatever its ends, its mark and its last line."""
    text = end.join(own) + (end if last else "")
    data = (b"\xef\xbb\xbf" if mark else b"") + text.encode()
    wording = Wording(data, "".join(f"{line}\n" for line in base).encode(), python=python)

    assert wording.restored(wording.shown) == data


@settings(max_examples=200, deadline=None)
@given(lines, lines, lines, st.booleans())
def test_no_line_of_the_owner_is_lost(
    git: Plumbing, base: list[str], own: list[str], theirs: list[str], crlf: bool
) -> None:
    """A line that the owner has and the base has not stands in the merge, marked or not."""
    texts = ["".join(f"{line}\n" for line in side).encode() for side in (base, own, theirs)]
    mine = texts[1].replace(b"\n", b"\r\n") if crlf else texts[1]

    merged = merge_content(git, texts[0], mine, texts[2], LABELS, python=False)

    new = set(own) - set(base)
    assert new <= {line.rstrip(b"\r").decode() for line in merged.content.split(b"\n")}
    if set(own) == set(base) and own == base:
        assert merged.content.replace(b"\r\n", b"\n") == texts[2]


def test_json_on_other_lines_is_no_edit(git: Plumbing) -> None:
    """A compiled file that an earlier memkit spread over more lines is the template's still, one with an edit not."""
    base, theirs = b'{"audit": {"keep": "365d"}, "k": 1}\n', b'{"audit": {"keep": "365d"}, "b": 2, "k": 1}\n'
    spread, changed = (json.dumps({"audit": {"keep": keep}, "k": 1}, indent=2).encode() for keep in ("365d", "1d"))

    assert merge_content(git, base, spread, theirs, LABELS, python=False).content == theirs
    assert says_the_same(spread, base, python=False) and not says_the_same(changed, base, python=False)
    assert merge_content(git, base, changed, theirs, LABELS, python=False).marked


def test_one_for_true_is_an_edit(git: Plumbing) -> None:
    """They are equal in Python, and different conditions of a policy."""
    base, own, theirs = b'{"a": 1, "b": 2}\n', b'{"a": true,\n"b": 2}\n', b'{"a": 1, "b": 3}\n'

    assert not says_the_same(own, base, python=False)
    assert b'"a": true' in merge_content(git, base, own, theirs, LABELS, python=False).content
