"""Rules for planning domains: what each finds, where, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from growth import steps

from memkit.lint.families.dead_ends import Fault
from memkit.lint.families.faults import domain_faults
from memkit.lint.rules import RULES
from memkit.runtime.htn.core import Domain, Method, Operator
from memkit.use_cases.lint import Fixing, lint_store

Put = Callable[[str, str | bytes], Path]
Codes = Callable[..., list[str]]

LAMP = RULES["MKD006"].good
HEAD = """\
name: doors
types: {door: object, room: object}
predicates: {open: [door], locked: [door], leads: [door, room], at: [room]}
functions: {battery: []}
operators:
  - {name: unlock, parameters: "?d - door", preconditions: ["locked ?d"], remove: ["locked ?d"]}
  - {name: push, parameters: "?d - door", preconditions: ["not locked ?d", "> (battery) 0"], add: ["open ?d"]}
  - {name: walk, parameters: "?d - door ?r - room", preconditions: ["open ?d", "leads ?d ?r"], add: ["at ?r"]}
methods:
"""


def found(root: Path, text: str) -> list[tuple[str, int, str]]:
    """Return code, line and message of what is found in the methods of a domain, with the lines counted from them."""
    (root / "domains").mkdir(exist_ok=True)
    (root / "domains" / "doors.yaml").write_text(HEAD + text)
    report = lint_store(root, [root / "domains"], cached=False)
    return [(each.code, each.line - HEAD.count("\n"), each.message) for each in report.findings]


@pytest.mark.parametrize(
    ("conditions", "why"),
    [
        ('"open ?d", "not open ?d"', "both 'open ?d' and 'not open ?d' must hold"),
        ('"open ?d", "= ?d ?e", "not open ?e"', "must hold"),
        ('"not = ?d ?d"', "?d is the same as itself"),
        ('"> (battery) 5", "< (battery) 3"', "(battery) cannot be > 5 and < 3"),
        ('">= (battery) 5", "<= 5 (battery)", "not = (battery) 5", "> 2 3"', "never holds"),
        ('{any: ["not open ?d", "not = ?d ?d"]}, "open ?d"', "no part of"),
        ('{exists: "?x - door", holds: ["open ?x", "not open ?x"]}', "no object satisfies"),
        ('{not: {any: ["open ?d", "not open ?d"]}}', "must hold"),
    ],
)
def test_a_method_whose_conditions_exclude_each_other_is_found(conditions: str, why: str, store: Path) -> None:
    """Facts, equalities, numbers and what is built of them; the name of the method is the place."""
    text = f'  - {{name: m, task: "enter ?d - door", preconditions: [{conditions}], subtasks: []}}\n'

    ((code, line, message),) = [each for each in found(store, text) if each[0] != "MKD008"]

    assert (code, line) == ("MKD010", 1)
    assert why in message


@pytest.mark.parametrize(
    "conditions",
    [
        '"open ?d", "not locked ?d"',
        '"open ?d", "leads ?d ?r", "not at ?r"',
        '">= (battery) 5", "<= (battery) 5"',
        '"not > (battery) 5", "not < (battery) 3"',
        '{any: ["open ?d", "not open ?d"]}',
        '"open ?d", {forall: "?x - door", holds: "not open ?x"}',
        '"open ?d", "= ?d ?e", {exists: "?d - door", holds: "not open ?d"}, "open ?e"',
        '{forall: "?x - door", holds: {any: []}}',
    ],
)
def test_conditions_that_some_state_satisfies_are_left_alone(conditions: str, store: Path) -> None:
    """Nothing is said where a problem could make them hold, such as one without any doors."""
    text = f'  - {{name: m, task: "enter ?d - door", preconditions: [{conditions}], subtasks: []}}\n'

    assert found(store, text) == []


def test_steps_that_exclude_each_other_are_found(store: Path) -> None:
    """What the conditions say and what earlier steps did is carried along, as long as it is certain."""
    enter = 'task: "enter ?d - door ?r - room", preconditions: ["locked ?d"]'
    text = (
        f'  - {{name: too_soon, {enter}, subtasks: ["push ?d"]}}\n'
        f'  - {{name: right, {enter}, subtasks: ["unlock ?d", "push ?d", "walk ?d ?r"]}}\n'
        f'  - {{name: twice, {enter}, subtasks: ["unlock ?d", "unlock ?d"]}}\n'
        f'  - {{name: two_doors, {enter}, subtasks: ["unlock ?d", "other ?d", "unlock ?d"]}}\n'
        '  - {name: other, task: "other ?d - door", subtasks: []}\n'
    )

    codes = {(code, line) for code, line, _ in found(store, text)}

    assert codes == {("MKD010", 1), ("MKD010", 3)}


def test_what_may_be_another_object_is_not_certain(store: Path) -> None:
    """A step with another variable may be about the same door, so what was known of the first is forgotten."""
    text = (
        '  - {name: m, task: "enter ?d - door ?e - door", preconditions: ["not locked ?d", "locked ?e"],\n'
        '     subtasks: ["unlock ?e", "push ?d"]}\n'
        '  - {name: n2, task: "enter ?d - door ?e - door", preconditions: ["locked ?d", "locked ?e"],\n'
        '     subtasks: ["unlock ?d", "unlock ?e"]}\n'
    )

    assert found(store, text) == []


def test_what_can_never_be_done_spreads_to_its_callers(store: Path) -> None:
    """A task none of whose methods can be used makes the methods unusable that call it, each with its reason."""
    text = (
        '  - {name: m, task: "a ?d - door", preconditions: ["open ?d", "not open ?d"], subtasks: []}\n'
        '  - {name: n2, task: "b ?d - door", subtasks: ["a ?d"]}\n'
        '  - {name: o, task: "b ?d - door", subtasks: ["unlock ?d"]}\n'
    )

    listed = found(store, text)

    assert [(code, line) for code, line, _ in listed] == [("MKD010", 1), ("MKD010", 2)]
    assert "its step a can never be done" in listed[1][2]


def test_a_circle_without_an_end_is_told_with_the_way_round(store: Path) -> None:
    """A circle is found once; a task that has a way out, and one that only leads there, are not."""
    text = (
        "  - {name: m, task: a, subtasks: [b]}\n"
        "  - {name: n2, task: b, subtasks: [c]}\n"
        "  - {name: o, task: c, subtasks: [a]}\n"
        "  - {name: p, task: to, subtasks: [a]}\n"
        "  - {name: q, task: r, subtasks: [r]}\n"
        "  - {name: s, task: r, subtasks: []}\n"
    )

    listed = found(store, text)

    assert [(code, line) for code, line, _ in listed] == [("MKD013", 1)]
    assert "a → b → c → a" in listed[0][2]


def test_a_declared_task_may_be_left_to_learned_methods(store: Path) -> None:
    """What is declared under tasks is no unknown task, and a way through it may end."""
    text = (
        "  - {name: m, task: a, subtasks: [gap, a]}\n  - {name: n2, task: a, subtasks: []}\n"
        "  - {name: o, task: b, subtasks: [gap]}\ntasks: {gap: {effects: []}}\n"
    )

    assert found(store, text) == []


@pytest.mark.parametrize(
    ("later", "is_shadowed"),
    [
        ('task: "enter ?x - door", preconditions: ["open ?x", "leads ?x ?y"], subtasks: ["walk ?x ?y"]', True),
        ('task: "enter ?x - door", preconditions: ["leads ?x ?y", "open ?x", "at ?y"], subtasks: ["walk ?x ?y"]', True),
        ('task: "enter ?x - door", preconditions: ["leads ?x ?y"], subtasks: ["walk ?x ?y"]', False),
        (
            'task: "enter ?x - door", preconditions: ["open ?x", "leads ?x ?y"], subtasks: ["walk ?x ?y", "push ?x"]',
            False,
        ),
        ('task: "enter ?x - door", preconditions: ["open ?x", "leads ?z ?y"], subtasks: ["walk ?x ?y"]', False),
        ('task: "leave ?x - door", preconditions: ["open ?x", "leads ?x ?y"], subtasks: ["walk ?x ?y"]', False),
    ],
)
def test_a_method_is_shadowed_only_by_one_that_does_the_same(later: str, is_shadowed: bool, store: Path) -> None:
    """Names of variables and the order of conditions do not count; other subtasks and weaker conditions do."""
    text = (
        '  - {name: m, task: "enter ?d - door", preconditions: ["open ?d", "leads ?d ?r"], subtasks: ["walk ?d ?r"]}\n'
        f"  - {{name: n2, {later}}}\n"
    )

    assert [each[:2] for each in found(store, text)] == ([("MKD012", 2)] if is_shadowed else [])


def test_a_method_for_a_narrower_type_does_not_shadow(store: Path, put: Put, codes: Codes) -> None:
    """The earlier method must take everything that the later one takes."""
    text = (
        "name: cats\ntypes: {animal: object, cat: animal}\npredicates: {fed: [animal]}\noperators:\n"
        '  - {name: feed, parameters: "?a - animal", add: ["fed ?a"]}\nmethods:\n'
        '  - {name: m, task: "care ?a - cat", subtasks: ["feed ?a"]}\n'
        '  - {name: n2, task: "care ?a - animal", subtasks: ["feed ?a"]}\n'
    )
    put("domains/cats.yaml", text)
    assert codes() == []

    swapped = text.replace("?a - cat", "?a - X").replace('"care ?a - animal"', '"care ?a - cat"')
    put("domains/cats.yaml", swapped.replace("?a - X", "?a - animal"))
    assert codes() == ["MKD012"]


def test_the_name_of_a_task_is_marked_and_put_right(store: Path, put: Put) -> None:
    """The finding covers the misspelt name alone, and --unsafe-fixes writes the one that was meant."""
    path = put("domains/lamp.yaml", LAMP.replace('["switch_on ?r"]', '["swich_on ?r"]'))

    (finding,) = lint_store(store).findings
    fixed = lint_store(store, fixing=Fixing(write=True, unsafe=True))

    line = LAMP.split("\n")[finding.line - 1]
    assert (finding.code, line[finding.column - 1 :][:9]) == ("MKD009", "switch_on")
    assert finding.end == (finding.line, finding.column + len("swich_on"))
    assert (fixed.findings, path.read_text()) == ((), LAMP)


def test_a_finding_in_a_domain_can_be_suppressed(put: Put, codes: Codes) -> None:
    """A comment with a reason switches a rule off, as everywhere."""
    text = LAMP.replace(
        "methods:", "  # memkit: ignore[MKD014] it flickers\n  - {name: x, add: [hot], remove: [hot]}\nmethods:"
    )
    put("domains/lamp.yaml", text.replace("lit: [room]", "lit: [room], hot: []"))

    assert codes() == []


def test_a_domain_with_another_name_is_checked_all_the_same(put: Put, codes: Codes) -> None:
    """What keeps it from loading is a finding beside that of its name."""
    put("domains/bulb.yaml", LAMP.replace('add: ["lit ?r"]', 'add: ["lit ?r", "hot ?r"]'))

    assert codes() == ["MKD002", "MKD004"]


def test_a_domain_in_hddl_is_checked_too(store: Path, put: Put) -> None:
    """What keeps it from loading has its place; what is wrong in one that loads has that of its definition."""
    text = (
        "(define (domain lamp)\n  (:requirements :typing :hierarchy)\n  (:types room - object)\n"
        "  (:predicates (lit ?r - room) (broken ?r - room))\n"
        "  (:task light :parameters (?r - room))\n"
        "  (:method by_hand :parameters (?r - room) :task (light ?r) :ordered-subtasks (and (a (light ?r))))\n"
        "  (:action switch_on :parameters (?r - room) :precondition () :effect (lit ?r)))\n"
    )
    put("domains/lamp.hddl", text.replace("(a (light ?r))", "(light ?r)"))
    listed = [(each.code, each.line, each.column) for each in lint_store(store).findings]
    assert listed == [("MKD015", 4, 33), ("MKD013", 6, 12)]

    put("domains/lamp.hddl", text.replace("(:predicates", "(:predicates ((("))
    (finding,) = lint_store(store).findings
    assert finding.code == "MKD004"


LEARNED = RULES["MKD016"].good
GAP = RULES["MKD016"].extra["domains/lamp.yaml"]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("domain: lamp", "domain: torch", "MKD016"),
        ("    subtasks: [switch_on]", "    subtask: [switch_on]", "MKD016"),
        ("    subtasks: [switch_on]", '    subtasks: [""]', "MKD016"),
        ("    subtasks: [switch_on]", "    ordering: [a < b]", "MKD016"),
        ("task: light\n", "task: switch_on\n", "MKD017"),
        ("    subtasks: [switch_on]", "    preconditions: [glows]", "MKD017"),
        ("    provenance: {provider", "    # {provider", "MKD018"),
    ],
)
def test_learned_methods_are_checked_alone_and_beside_their_domain(
    old: str, new: str, code: str, put: Put, codes: Codes
) -> None:
    """Shape, names that clash, predicates that are not there, and where a method comes from."""
    put("domains/lamp.yaml", GAP)
    assert old in LEARNED
    put("domains/learned/lamp.yaml", LEARNED.replace(old, new))

    assert codes() == [code]


def test_learned_methods_and_problems_of_no_domain_are_found(put: Put, codes: Codes) -> None:
    """A file that has the name of no domain is used by nobody; a starter's name will do."""
    put("domains/learned/lmap.yaml", LEARNED.replace("domain: lamp", "domain: lmap"))
    put("domains/problems/lmap/dark.yaml", "tasks: [light]\n")
    put("domains/problems/errands/a.yaml", "tasks: ['deliver book shop']\n")

    assert codes() == ["MKD017", "MKD020"]


def test_two_learned_methods_of_one_name_are_found(put: Put, store: Path) -> None:
    """The second one is not used."""
    put("domains/lamp.yaml", GAP)
    put("domains/learned/lamp.yaml", LEARNED + LEARNED.partition("methods:\n")[2])

    (finding,) = lint_store(store).findings

    assert (finding.code, finding.line) == ("MKD017", 8)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "MKD019"),
        ("tasks: light\n", "MKD019"),
        ("tasks: [light]\nexpect: {outcome: maybe}\n", "MKD019"),
        ("tasks: [light]\nexpected: {}\n", "MKD019"),
        ("tasks: []\n", "MKD020"),
        ("domain: torch\ntasks: [light]\n", "MKD020"),
        ("tasks: [light]\nstate: [glows]\n", "MKD020"),
        ("tasks: [light]\nexpect: {holds: [glows]}\n", "MKD020"),
        ("tasks: [light]\nexpect: {outcome: no_plan, steps: 2}\n", "MKD020"),
        ("tasks: [", "MKY001"),
    ],
)
def test_a_recorded_problem_is_checked(text: str, code: str, put: Put, codes: Codes) -> None:
    """Its shape, its fit to the domain, and what it expects."""
    put("domains/lamp.yaml", GAP)
    put("domains/problems/lamp/dark.yaml", text)

    assert codes() == [code]


def test_a_broken_domain_is_told_once(put: Put, codes: Codes) -> None:
    """Learned methods and problems are not blamed for a domain that does not load."""
    put("domains/lamp.yaml", GAP.replace("lit: []", "lit: [rom]"))
    put("domains/learned/lamp.yaml", LEARNED)
    put("domains/problems/lamp/dark.yaml", "tasks: [light]\n")

    assert codes() == ["MKD004"]


def test_a_problem_that_lies_beside_the_folders_is_told(put: Put, codes: Codes) -> None:
    """Problems lie in a folder with the name of their domain; anywhere else nobody reads them."""
    put("domains/problems/dark.yaml", "tasks: [light]\n")

    assert codes() == ["MKY010"]


def large_domains(size: int) -> list[Domain]:
    """Return long chains and circles of tasks, many ways to do one task, and conditions that fit in many ways."""
    step = Operator("step", ["p"], effects_add=["q"], parameters="")
    chain = [Method(f"m{number}", f"t{number}", ["p"], [f"t{number + 1}", "step"]) for number in range(size)]
    ends = (["step"], ["t0"], ["step"])
    domains = [
        Domain(operators=(step,), methods=(*chain, Method("end", f"t{size}", ["p", *extra], end)))
        for end, extra in zip(ends, ((), (), ("not p",)), strict=True)
    ]
    same = tuple(Method(f"m{number}", "t", [f"p{number}", "q"], ["step"]) for number in range(size))
    path = Method("x", "t", [*(f"q ?a{number} ?a{number + 1}" for number in range(11)), "q ?a0 z"], ["step"])
    grid = Method("y", "t", [f"q ?c{one} ?c{other}" for one in range(6) for other in range(6)], ["step"])
    return [*domains, Domain(operators=(step,), methods=same), Domain(operators=(step,), methods=(path, grid))]


def test_large_domains_are_no_burden() -> None:
    """What is found costs steps by the number of methods, and not by its square."""
    found: dict[int, list[list[Fault]]] = {}

    def look(size: int) -> None:
        found[size] = [list(domain_faults(domain)) for domain in large_domains(size)]

    assert steps(lambda: look(1_000)) < 7 * steps(lambda: look(250))
    assert [len(each) for each in found[1_000]] == [0, 1, 1_001, 0, 0]
