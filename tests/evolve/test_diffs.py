"""Answers of models: what applies, and the exact reason why another does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.runtime.evolve.interface import DoesNotApply
from memkit.runtime.evolve.source.answers import changed_program
from memkit.runtime.evolve.source.parsed import read_blocks

PROGRAM = """\
import math
# EVOLVE-BLOCK-START
def f(x):
    y = x * 2
    return y

def g(x):
    y = x * 2
    return y + 1
# EVOLVE-BLOCK-END
print(f(1))
"""


def diff(search: str, replace: str) -> str:
    """Return one SEARCH/REPLACE part."""
    return f"<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n"


def test_parts_replace_lines_that_stand_once() -> None:
    """Several parts, prose around them, a code fence around them: only the lines change."""
    answer = (
        "First:\n```\n"
        + diff("    return y + 1", "    return y - 1")
        + "```\nThen\n"
        + diff("    return y", "    return 3")
    )

    changed = changed_program(PROGRAM, answer)

    assert changed == PROGRAM.replace("return y + 1", "return y - 1").replace("return y\n", "return 3\n")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (diff("    y = x * 2", "    y = x"), "occurs 2 times in the program, at lines 4, 8"),
        (diff("    return z", "    return 0"), "nothing is '    return z'; the nearest is line 5, '    return y'"),
        (diff("return y + 1", "return 0"), "does not occur in the program.*the nearest is line 9"),
        (diff("import math", "import os"), "would change line 1, which is outside the EVOLVE-BLOCKs"),
        (diff("# EVOLVE-BLOCK-END", ""), "is outside"),
        (diff("", "x = 1"), "is empty"),
        (diff("    return y + 1", "    return ("), "does not parse: line 9"),
        (diff("    return y + 1", "    break"), "'break' outside loop"),
        (diff("    return y + 1", "    return y + 1"), "changes nothing"),
        (
            diff("    y = x * 2\n    return y", "    return x") + diff("    return y", "    return 0"),
            "both contain line 5",
        ),
        ("<<<<<<< SEARCH\nx\n>>>>>>> REPLACE", "'>>>>>>> REPLACE' where '=======' is expected"),
        ("<<<<<<< SEARCH\nx\n=======\ny\n", "ends where '>>>>>>> REPLACE' is expected: it is truncated"),
        (">>>>>>> REPLACE", "where '<<<<<<< SEARCH' is expected"),
        (diff("    return y + 1", "=======\n    return 1"), "'=======' where '>>>>>>> REPLACE'"),
        ("I would make it faster.", "neither SEARCH/REPLACE parts nor a program in a code fence"),
        ("```python\nx = 1\n", "ends within its code fence"),
        ("```python\nx = 1\n```", "has 1 EVOLVE-BLOCKs, but the answer has 0"),
        ("```json\n{}\n```", "neither"),
        ("```python\n" + PROGRAM.replace("math", "os") + "```", "'import math' became 'import os'"),
        ("```python\n" + PROGRAM + "```", "changes nothing"),
        ("\ud800", "cannot be written"),
        (diff("    return y + 1", "    return '\ud800'"), "cannot be written"),
        (diff("    return y + 1", "    return " + "(" * 5000), "does not parse"),
        (diff("    return y + 1", "    return '\x00'"), "does not parse"),
        (diff("    return y + 1", "    return '" + "a" * 300_000 + "'"), "300[0-9]{3} characters; 200000 are allowed"),
    ],
)
def test_what_does_not_apply_is_refused_with_the_reason(answer: str, message: str) -> None:
    """Never a silent copy."""
    with pytest.raises(DoesNotApply, match=message):
        changed_program(PROGRAM, answer)


def test_a_rewrite_stands_in_a_code_fence() -> None:
    """Whatever else the answer says; the last line ends as it did."""
    new = PROGRAM.replace("return y + 1", "return 7")

    assert changed_program(PROGRAM, f"Here:\n```python\n{new}```\nDone.") == new
    assert changed_program(PROGRAM.rstrip(), f"~~~\n{new}~~~") == new.rstrip()


def test_of_several_fences_the_one_that_keeps_the_outside_is_meant() -> None:
    """Two whole programs say nothing clear, and neither do two without blocks."""
    new = PROGRAM.replace("return y + 1", "return 7")

    assert changed_program(PROGRAM, f"```python\nreturn 7\n```\nso\n```python\n{new}```") == new
    with pytest.raises(DoesNotApply, match="has 2 code fences"):
        changed_program("x = 1\n", "```python\nx = 2\n```\n```python\nx = 3\n```")


def test_white_space_at_line_ends_and_blank_lines_around_do_not_count() -> None:
    """Models add and lose them."""
    assert changed_program(PROGRAM, diff("    return y + 1  \n", "    return 5\n")) == PROGRAM.replace("y + 1", "5")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_and_the_missing_last_one_are_kept(end: str) -> None:
    """The answer's own do not matter."""
    program = PROGRAM.rstrip("\n").replace("\n", end)

    for answer in (
        diff("    return y + 1", "    return 1"),
        diff("    return y + 1", "    return 1").replace("\n", "\r\n"),
    ):
        assert changed_program(program, answer) == program.replace("y + 1", "1")


def test_mixed_line_ends_outside_are_kept() -> None:
    """A block's change touches no byte elsewhere."""
    program = PROGRAM.replace("import math\n", "import math\r\n").replace("print(f(1))\n", "print(f(1))")

    changed = changed_program(program, diff("    return y + 1", "    return 1"))

    assert read_blocks(changed).fixed == read_blocks(program).fixed


pieces = st.sampled_from(
    [
        "<<<<<<< SEARCH\n",
        "=======\n",
        ">>>>>>> REPLACE\n",
        "    return y + 1\n",
        "    return 9\n",
        "```python\n",
        "```\n",
        "import math\n",
        "# EVOLVE-BLOCK-START\n",
        "# EVOLVE-BLOCK-END\n",
        '"""\n',
        "\n",
        "def f(x):\n",
        PROGRAM,
    ]
)


@given(st.lists(pieces | st.text(max_size=20), max_size=12).map("".join))
def test_whatever_a_model_says_the_outside_stays_and_something_changes(answer: str) -> None:
    """Or it is refused with a reason."""
    try:
        changed = changed_program(PROGRAM, answer)
    except DoesNotApply as refused:
        assert str(refused)
    else:
        assert changed != PROGRAM and read_blocks(changed).fixed == read_blocks(PROGRAM).fixed
