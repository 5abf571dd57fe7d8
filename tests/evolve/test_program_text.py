"""Variation of program text: what always holds of a child, and that the changes that matter are among them."""

from __future__ import annotations

import ast
import random

import pytest
from growth import steps
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.runtime.evolve.interface import DoesNotApply, EvolveError
from memkit.runtime.evolve.source.parsed import read_blocks
from memkit.runtime.evolve.source.species import Programs, ProgramText

PACKING = '''\
"""Pack."""
import math
LIMIT = 100  # outside

# EVOLVE-BLOCK-START
def priority(item, bins):
    """Return the best bin for ``item``."""
    best, score = -1, 0.5
    for index, room in enumerate(bins):
        left = room - item
        # this comment stays
        if left >= 0 and (best < 0 or left*1.5 < score):
            best = index; score = left
    return best
# EVOLVE-BLOCK-END

def middle():
    return [  1,2 ]

# EVOLVE-BLOCK-START
def pack(items, size):
    bins = []
    for item in sorted(items):
        at = priority(item, [size - sum(b) for b in bins])
        if at < 0:
            bins.append([item])
        elif len(bins) > 3:
            bins[at].append(item)
        else:
            print(f"{item} in {at + 1}")
    return bins
# EVOLVE-BLOCK-END
print(   pack([3, 4, 5], LIMIT))
'''
HARD = '''\
class Solver:
    """Hold."""
    rate: float = .5
    def run(self, data, *rest, flag=False, **more):
        try:
            total = sum(x for x in data if x)
            while total > 1e3: total /= 2
        except (ValueError, TypeError) as error:
            raise RuntimeError("é\u2028") from error
        finally:
            s = """two
  lines # EVOLVE-BLOCK-START
"""
        match data:
            case [first, *_] if first > 0: return-first
            case {"a": value}: return(value)
            case _:
                pass
        return (lambda k: k+1 if flag else-k)(total) if 0<total<9 else {**more, "n": len(rest)}[s[1:]]
'''
SEEDS = {
    "marked": PACKING,
    "CRLF": PACKING.replace("\n", "\r\n"),
    "tabs": PACKING.replace("    ", "\t"),
    "no last line end": PACKING.rstrip("\n"),
    "everything": HARD,
    "an expression": "x = 1",
    "a lambda": "f = lambda x: x * 2.5\n",
}


def family(seed: str, start: int, count: int) -> list[tuple[ProgramText, ProgramText]]:
    """Return ``count`` children, each with its parent, of a small population."""
    species, chance = Programs(seed), random.Random(start)
    members = [species.seed]
    pairs = []
    for _ in range(count):
        parent = chance.choice(members)
        crossing = chance.random() < 0.4
        child = species.cross(parent, chance.choice(members), chance) if crossing else species.mutate(parent, chance)
        pairs.append((parent, child))
        members.append(child)
    return pairs


@pytest.mark.parametrize("name", SEEDS)
@settings(max_examples=6, deadline=None)
@given(start=st.integers(0, 10**6))
def test_every_child_compiles_and_is_the_seed_outside_of_its_blocks(name: str, start: int) -> None:
    """Byte for byte, whatever the line ends, indentation and generation; and within the bound of size."""
    seed = SEEDS[name]
    fixed = read_blocks(seed).fixed
    species = Programs(seed)

    for _, child in family(seed, start, 15):
        compile(child.text, "child", "exec")
        assert read_blocks(child.text).fixed == fixed
        assert species.size(child) <= max(300, 3 * species.size(species.seed))
        if name == "CRLF":
            assert child.text.count("\r\n") == child.text.count("\n")


def test_a_child_does_something_else_than_its_parent() -> None:
    """No try is spent on a copy, on comments or on layout."""
    pairs = family(PACKING, 3, 200)
    species = Programs(PACKING)

    copies = [pair for pair in pairs if species.behaviour(pair[0]) == species.behaviour(pair[1])]
    assert len(copies) <= 2  # a crossover of a program with itself may find nothing
    assert len({child for _, child in pairs}) > 150


def test_the_same_chance_gives_the_same_children() -> None:
    """Nothing depends on the order of a set or on an address."""
    assert family(PACKING, 7, 60) == family(PACKING, 7, 60)


def test_what_is_not_changed_keeps_its_layout_and_comments() -> None:
    """A change of one expression changes one place of one line."""
    species, chance = Programs(PACKING), random.Random(0)
    children = [species.mutate(species.seed, chance) for _ in range(200)]
    before = PACKING.split("\n")

    same_length = [
        text.split("\n") for text in (child.text for child in children) if text.count("\n") == len(before) - 1
    ]
    one_line = [lines for lines in same_length if sum(a != b for a, b in zip(before, lines, strict=True)) == 1]

    assert len(one_line) > 80
    assert sum("# this comment stays" in child.text for child in children) > 185


@pytest.mark.parametrize(
    ("program", "wanted"),
    [
        ("def f(a, b):\n    return a < b\n", "def f(a, b):\n    return a <= b\n"),
        ("def f(n):\n    return n - 3\n", "def f(n):\n    return n - 4\n"),
        ("def f(n):\n    return n - 3\n", "def f(n):\n    return n + 3\n"),
        ("def f(n):\n    return n - 3\n", "def f(n):\n    return 3 - n\n"),
        ("def f(a, b):\n    return a and b\n", "def f(a, b):\n    return a or b\n"),
        ("def f(a):\n    x = 1\n    y = a\n    return y\n", "def f(a):\n    y = a\n    x = 1\n    return y\n"),
        ("def f(a):\n    x = 1\n    return a\n", "def f(a):\n    return a\n"),
        ("def f(a):\n    for x in a:\n        print(x)\n", "def f(a):\n    for x in sorted(a):\n        print(x)\n"),
        ("def f(a):\n    return sorted(a)\n", "def f(a):\n    return sorted(a, reverse=True)\n"),
        ("def f(n):\n    return range(n)\n", "def f(n):\n    return range(n + 1)\n"),
        ("def f(a):\n    return True\n", "def f(a):\n    return False\n"),
        ("def f(a):\n    return max(a)\n", "def f(a):\n    return min(a)\n"),
    ],
)
def test_the_change_that_is_needed_is_soon_made(program: str, wanted: str) -> None:
    """Each of these is one mutation away."""
    species, chance = Programs(program), random.Random(0)
    goal = species.behaviour(ProgramText(wanted))

    assert any(species.behaviour(species.mutate(species.seed, chance)) == goal for _ in range(1500))


def test_a_way_out_is_guarded_and_uses_names_that_have_a_value() -> None:
    """Inserted conditions ask about what is known at that line."""
    program = "def f(n, limit=3):\n    total = 0\n    for k in range(n):\n        total = total + k\n    return total\n"
    species, chance = Programs(program), random.Random(2)
    grown = [species.mutate(species.seed, chance) for _ in range(600)]

    guards = [child.text for child in grown if "break" in child.text or child.text.count("return") == 2]

    assert len(guards) > 10
    for text in guards:
        scope = {}
        exec(text, scope)
        scope["f"](4)


def test_crossover_takes_functions_as_they_are_written() -> None:
    """With their comments, where both programs have one of that name."""
    one = "def f(x):\n    return x  # plain\n\n\ndef g(x):\n    return x\n"
    other = "def f(x):\n    return x * 3  # threefold\n\n\ndef g(x):\n    return -x  # other\n"
    species, chance = Programs(one), random.Random(1)

    children = {species.cross(ProgramText(one), ProgramText(other), chance).text for _ in range(100)}

    assert one.replace("x  # plain", "x * 3  # threefold") in children
    assert one.replace("def g(x):\n    return x\n", "def g(x):\n    return -x  # other\n") in children


def test_numbers_can_be_fitted_together() -> None:
    """Those with a decimal point, in the order of the text; whole ones count things."""
    species = Programs("def f(x):\n    return 0.5 * x + 2 - 1.25\n")

    [opening] = species.openings(species.seed, random.Random(0), 7)

    assert opening.values == (0.5, 1.25)
    assert opening.build([-2.0, 3.5]).text == "def f(x):\n    return (-2.0) * x + 2 - 3.5\n"
    assert opening.build([float("nan"), 1.0]) == species.seed


def test_a_new_term_weighs_nothing_at_first() -> None:
    """So that its weight can be fitted."""
    species = Programs("def f(x):\n    return x * 2\n")

    opening = species.directions(species.seed, random.Random(0))

    assert opening is not None
    for weight in (0.0, 3.0):
        scope = {}
        exec(opening.build([weight]).text, scope)
        assert scope["f"](5.0) in (10.0, 10.0 + weight * 5, 10.0 + weight * 25)


def test_numbers_are_rounded_for_the_plainer_forms() -> None:
    """Fewest digits first."""
    species = Programs("RATE = 0.123456\n")

    assert [form.text for form in species.tidied(species.seed)] == ["RATE = 0.12\n", "RATE = 0.1235\n"]


@pytest.mark.parametrize(
    ("replacement", "message"),
    [
        ("    return bins  # all of them", "nothing but comments, docstrings or layout"),
        ("    return [" + "1, " * 400 + "]", "statements and expressions in its blocks; 309 are allowed"),
        ("    return [", "does not parse"),
    ],
)
def test_a_models_answer_has_to_do_something_within_the_bounds(replacement: str, message: str) -> None:
    """Or the model is told the reason."""
    species = Programs(PACKING)
    answer = "<<<<<<< SEARCH\n    return bins\n=======\n{}\n>>>>>>> REPLACE"

    assert species.applied(species.seed, answer.format("    return bins[:9]")).text.count("bins[:9]") == 1
    with pytest.raises(DoesNotApply, match=message):
        species.applied(species.seed, answer.format(replacement))


def test_a_program_is_told_from_others_by_its_form() -> None:
    """An archive keeps small and large ones, straight and branching ones."""
    species = Programs(PACKING)
    plain = Programs("def f(x):\n    return x\n")

    assert species.features(species.seed) == {"size": species.size(species.seed), "branches": 8}
    assert plain.features(plain.seed) == {"size": 3, "branches": 0}
    assert set(species.grid()) == set(species.features(species.seed))


def test_a_program_is_written_down_and_read_again() -> None:
    """What is none of this species is refused."""
    species = Programs(PACKING)
    child = species.mutate(species.seed, random.Random(0))

    assert species.decoded(species.encoded(child)) == child
    for data in (None, "x = (", "x = 1\n", PACKING.replace("math", "os")):
        with pytest.raises(EvolveError, match="is invalid"):
            species.decoded(data)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(:\n", "Evolution cannot start here. The program does not parse: line 1"),
        ("return 1\n", "'return' outside function"),
        ("x = '\x00'\n", "does not parse"),
        ("# EVOLVE-BLOCK-START\nx = 1\n", "without EVOLVE-BLOCK-END"),
        ("x = " + "(" * 3000 + "1" + ")" * 3000, "does not parse"),
    ],
)
def test_a_seed_program_that_is_none_is_said(text: str, message: str) -> None:
    """With the line."""
    with pytest.raises(EvolveError, match=message):
        Programs(text)


@pytest.mark.parametrize("text", ["", "# EVOLVE-BLOCK-START\n# EVOLVE-BLOCK-END\n", '"""Only words."""\n', "pass\n"])
def test_a_program_with_nothing_to_change_stays_as_it_is(text: str) -> None:
    """The search sees that nothing new can be made."""
    species, chance = Programs(text), random.Random(0)

    assert species.directions(species.seed, chance) is None
    for _ in range(20):
        ast.parse(species.mutate(species.seed, chance).text)
        ast.parse(species.cross(species.seed, species.seed, chance).text)


def test_a_long_program_is_varied_in_steps_by_its_length() -> None:
    """Long files are read once each, and not once for each of their lines."""

    def varied(functions: int) -> None:
        lines = "def f{0}(x):\n    y = x * {0} + 1\n    return y if y > {0} else -y\n"
        species, chance = Programs("".join(lines.format(number) for number in range(functions))), random.Random(0)
        for _ in range(3):
            species.mutate(species.seed, chance)

    assert steps(lambda: varied(240)) < 6 * steps(lambda: varied(60))
