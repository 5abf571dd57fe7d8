"""HDDL is read as other planners mean it, and what is not supported is named with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hddl_texts import ANY_DISH, DINNER, KITCHEN
from hypothesis import given
from hypothesis import strategies as st

from memkit.errors import UsageError
from memkit.hddl.domain_reader import domain_from, problem_from
from memkit.hddl.forms import LARGEST, HddlText
from memkit.hddl.interface import read_domain, read_problem
from memkit.runtime.htn.core import (
    Arithmetic,
    Change,
    Compare,
    Equal,
    Exists,
    ForAll,
    HTNPlanner,
    Literal,
    Parameter,
    Some,
    When,
    verify,
)


def domain(text: str = KITCHEN):  # noqa: ANN201
    """Return the domain of a text."""
    return domain_from(HddlText("d.hddl", text))


def fault(text: str) -> str:
    """Return what is said of a domain that cannot be read."""
    with pytest.raises(UsageError) as caught:
        domain(text)
    return str(caught.value)


def small(part: str = "", *, predicates: str = "(p ?x) (q)", types: str = "a b - c c") -> str:
    """Return a domain of three lines with another part on the fourth."""
    return f"(define (domain d)\n(:types {types})\n(:predicates {predicates})\n{part})"


def test_types_constants_and_signatures_are_those_of_the_text() -> None:
    """Types that stand on the right of a list are types as well, whatever the order."""
    read = domain()

    assert read.types == {
        "cup": "dish", "plate": "dish", "dish": "thing", "tool": "thing", "thing": "object", "room": "object",
    }  # fmt: skip
    assert read.objects == {"sink": "room"}
    assert read.predicates["at"] == ("dish", "room")
    assert read.functions == {"water": (), "weight": ("dish",)}
    assert read.tasks["serve"].parameters == (Parameter("?d", "dish"), Parameter("?r", "room"))
    assert read.tasks["serve"].effects == (Literal(("at", "?d", "?r")), Literal(("clean", "?d")))


def test_methods_keep_their_order_of_subtasks_and_their_own_variables() -> None:
    """A complete order is the order of the list, an incomplete one stays pairs; constraints become conditions."""
    methods = {method.name: method for method in domain().methods}

    assert methods["wash-and-carry"].subtasks[0] == ("wash", "?d")
    assert methods["wash-and-carry"].head.args == ("?d", "?r")
    assert methods["rinse-it"].ordering is None
    assert methods["rinse-it"].preconditions[1] == Compare(">=", ("water",), Arithmetic("*", 2, ("weight", "?d")))
    assert methods["is-clean"].subtasks == ()
    assert methods["already"].subtasks == ()
    assert methods["step"].variables == (Parameter("?from", "room"),)
    assert methods["step"].preconditions[-1] == Equal("?from", "?to", positive=False)
    assert methods["any-order"].ordering == ((0, 2), (1, 2))
    assert isinstance(methods["any-order"].preconditions[1], Some)


def test_labels_in_another_order_than_the_list_are_put_in_order() -> None:
    """What is complete but listed backwards is searched like any other total order."""
    actions = "(:action one :parameters () :effect ()) (:action two :parameters () :effect ()) (:task t :parameters ())"
    subtasks = ":subtasks (and (A (two)) (b (one))) :ordering (and (< B a))"
    text = small(f"{actions} (:method m :parameters () :task (t) {subtasks})")

    assert domain(text).methods[0].subtasks == (("one",), ("two",))
    assert domain(text).methods[0].ordering is None


def test_effects_under_conditions_and_costs_are_read() -> None:
    """Where a domain counts costs, a step that names none costs nothing."""
    operators = {operator.name: operator for operator in domain().operators}

    assert operators["walk"].cost == 3
    assert operators["rinse"].cost == 0
    assert operators["rinse"].effects_more == (
        Change("decrease", ("water",), ("weight", "?d")),
        When((Parameter("?t", "tool"),), Literal(("wet", "?t")), (), (("wet", "?t"),)),
    )
    assert operators["take"].effects_remove == (("at", "?d", "sink"),)


def test_a_problem_is_solved_as_it_stands() -> None:
    """Names differ in case between definition and use; constants and objects are one; the goal is checked."""
    read, wider = problem_from(HddlText("p.hddl", DINNER), domain())

    assert wider is not None and wider == domain()
    assert read.tasks == (("serve", "Mug", "hall"), ("go", "sink"))
    assert read.numbers == {("water",): 10, ("weight", "Mug"): 2.5}
    assert isinstance(read.goal[1], ForAll)
    result = HTNPlanner(domain=wider).solve_problem(read)
    assert result.plan is not None, result.reasons
    assert verify(wider, read, result.plan) == []


def test_variables_of_the_initial_tasks_are_bound_by_the_search() -> None:
    """They become variables of a method that does one task, so that search and verifier need nothing new."""
    read, wider = problem_from(HddlText("p.hddl", ANY_DISH), domain())
    result = HTNPlanner(domain=wider).solve_problem(read)

    assert len(wider.methods) == len(domain().methods) + 1
    assert result.plan is not None, result.reasons
    assert verify(wider, read, result.plan) == []
    assert str(result.plan[-1]) == "put mug hall"


def test_either_becomes_a_type_where_it_is_one() -> None:
    """Types side by side get a type of their own above them; predicates, which only declare, take the nearest above."""
    text = small("(:action go :parameters (?x - (either a b)) :effect (p ?x))", predicates="(p ?x - (either a b))")
    read = domain(text)

    assert read.types == {"a": "either_a_b", "b": "either_a_b", "either_a_b": "c", "c": "object"}
    assert read.operators[0].parameters == (Parameter("?x", "either_a_b"),)
    assert read.predicates["p"] == ("c",)
    assert "do not have the same direct supertype" in fault(text.replace("a b - c c", "a - c b c"))
    assert domain(text.replace("(either a b)", "(either a c)")).operators[0].parameters[0].type == "c"


def test_a_problem_uses_the_types_that_either_made_in_its_domain_and_adds_none() -> None:
    """A type of the problem's own would be unknown to the domain's operators."""
    text = "(define (problem p) (:init) (:goal (exists (?x - (either a b)) (q))))"
    go = "(:action go :parameters (?x - {}) :effect (q))"
    with pytest.raises(UsageError) as caught:
        problem_from(HddlText("p.hddl", text), domain(small(go.format("a"))))

    found, _ = problem_from(HddlText("p.hddl", text), domain(small(go.format("(either a b)"))))

    assert found.goal == (Exists((Parameter("?x", "either_a_b"),), Literal(("q",))),)
    assert str(caught.value).startswith("p.hddl:1:50: no type of the domain is exactly a or b.")


def test_names_of_tasks_types_and_predicates_do_not_get_into_each_others_way() -> None:
    """A type, a task and a predicate may share one name."""
    text = small("(:task a :parameters (?a - a)) (:method m :parameters (?a - a) :task (a ?a) :precondition (a ?a))",
                 predicates="(a ?a - a)")  # fmt: skip

    assert domain(text).methods[0].task == "a"


@pytest.mark.parametrize(
    ("part", "place", "words"),
    [
        ("(:durative-action fly :parameters ())", "4:1", "durative actions (:durative-action) are not supported"),
        ("(:derived (p ?x) (q))", "4:1", "derived predicates"),
        ("(:action a :parameters () :precondition (preference nice (q)))", "4:41", "preferences (preference)"),
        ("(:action a :parameters () :precondition (always (q)))", "4:41", "constraints on the course of a plan"),
        ("(:action a :parameters () :effect (increase (total-cost) 2) :duration 4)", "4:61", ":duration"),
        ("(:action a :parameters () :effect (probabilistic 0.5 (q)))", "4:35", "probabilistic effects"),
        ("(:action a :parameters () :effect (r))", "4:36", "the predicate r is not declared"),
        ("(:action a :parameters () :effect (p ?z))", "4:38", "the variable ?z is not declared"),
        ("(:action a :parameters () :effect (p box))", "4:38", "the object box is not declared"),
        ("(:action a :parameters () :effect (q q))", "4:36", "q takes 0 arguments, not 1"),
        ("(:action a :parameters (?x - axe) :effect (q))", "4:30", "the type axe is not declared"),
        ("(:action a :parameters (x) :effect (q))", "4:25", "needs a name with a question mark"),
        ("(:action a :parameters (?x ?X) :effect (q))", "4:28", "named twice"),
        ("(:action a :parameters () :effect (q)) (:action A :parameters () :effect (q))", "4:49", "is declared twice"),
        ("(:method m :parameters ())", "4:1", "does not name its task"),
        ("(:method m :parameters () :task (fly))", "4:34", "the task fly is not declared"),
        ("(:task t :parameters ()) (:method m :parameters () :task (t) :subtasks (and (a (t)) (b (t))) "
         ":ordering (and (< a b) (< b a)))", "4:104", "cycle"),
        ("(:constants ?x - a)", "4:13", "?x is a variable"),
        ("(:types u - w w - u)", "4:9", "above itself: u < w < u"),
        ("(:functions (f) - object)", "4:19", "functions have numbers"),
        ("(:actoin a)", "4:1", "no part :actoin"),
        ("(:action a :parameters () :precondition (and (q) (not (q) (q))) :effect ())", "4:50", "'not' takes 1"),
        ("(:action a :parameters () :precondition (< 1 nan) :effect ())", "4:46", "nan"),
        ("(:action a :parameters () ;@ tool: {\n :effect ())", "4:27", "not followed by JSON"),
        ("(:action a :parameters () ;@ tool: 5\n :effect ())", "4:27", "the note tool is a text"),
        (";@ state: [5]\n", "4:1", "the note state is a list of texts"),
        (";@ colour: 5\n", "4:1", "one of description, state"),
        (";@ state: [\"r\"]\n", "1:1", "The predicate r is not defined"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named_with_its_place(part: str, place: str, words: str) -> None:
    """One line says where, and what."""
    message = fault(small(part))

    assert message.startswith(f"d.hddl:{place}: "), message
    assert words in message


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", "1:1", "empty"),
        ("(define (domain d)\n  (:types a", "2:3", "never closed"),
        ("(define (domain d)))", "1:20", "closes nothing"),
        ("(define (domain d)) x", "1:21", "after the end"),
        ("(define (problem d))", "1:9", "defines a problem"),
        ("(define (domain d)\n\x00)", "2:1", "'\\x00' has no meaning"),
        ("(define (domain \"d\"))", "1:17", "no meaning"),
        ("(" * 100_000, "1:61", "nested more than 60 deep"),
        ("(define (domain d) (:predicates (p)) (:action a :parameters () :precondition "
         + "(forall (?x) " * 55 + "(p)" + ")" * 57, "1:38", "nested more than 50 deep"),
    ],
)  # fmt: skip
def test_broken_brackets_and_characters_are_found_where_they_are(text: str, place: str, words: str) -> None:
    """The bracket that is never closed is named, and no nesting meets the recursion limit."""
    message = fault(text)

    assert message.startswith(f"d.hddl:{place}"), message
    assert words in message


@given(st.text(alphabet="()?:;-ab \n@\"=<>'\x00é", max_size=60) | st.text(max_size=30))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    """No text makes the reader fail in another way than by saying what is wrong."""
    for prefix in ("", "(define (domain d) ", "(define (domain d) (:predicates (p ?a)) (:action a :parameters (?a) "):
        try:
            domain(prefix + text)
        except UsageError as error:
            assert str(error).startswith("d.hddl:")


@given(st.data())
def test_cutting_a_file_short_anywhere_is_noticed(data: st.DataObject) -> None:
    """Half a download is never half a domain."""
    end = data.draw(st.integers(0, len(KITCHEN.rstrip()) - 1))

    assert "d.hddl:" in fault(KITCHEN[:end])


def test_files_that_are_no_text_or_too_large_are_refused(tmp_path: Path) -> None:
    """Each in one line, before anything is read into memory twice."""
    latin, huge = tmp_path / "latin.hddl", tmp_path / "huge.hddl"
    latin.write_bytes(b"(define (domain d)\n; caf\xe9\n)")
    with huge.open("wb") as file:
        file.truncate(LARGEST + 1)

    with pytest.raises(UsageError, match=r"latin.hddl:2: this is not UTF-8 text"):
        read_domain(latin)
    with pytest.raises(UsageError, match=r"more than 32 MiB"):
        read_domain(huge)
    with pytest.raises(UsageError, match=r"cannot be read"):
        read_domain(tmp_path / "none.hddl")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("(me hall)", "(at 5 (me hall))", "timed literals"),
        ("(me hall)", "(me hall) (clean mug)", "is given above without 'not'"),
        ("minimize (total-cost)", "maximize (water)", "a metric other than"),
        ("(serve MUG hall)", "(serve MUG attic)", "the object attic is not declared"),
        ("(serve MUG hall)", "(serve MUG sink hall)", "serve takes 2 arguments"),
        ("(= (water) 10)", "(= (water) 10) (= (water) 11)", "already has a value"),
        ("(= (water) 10)", "(= (water) mug)", "is not a number"),
        ("(:goal (and", "(:goal (clean mug) (and", ":goal takes one condition"),
        ("(clean mug) (forall", "(preference p (clean mug)) (forall", "preferences"),
        ("Mug - cup", "Mug - cup mug - plate", "has two types"),
        ("(me hall)", "(me mug)", "me needs a room"),
    ],
)
def test_a_problem_that_does_not_fit_its_domain_is_refused(old: str, new: str, words: str) -> None:
    """The place is that of the problem's file."""
    assert old in DINNER
    with pytest.raises(UsageError) as caught:
        problem_from(HddlText("p.hddl", DINNER.replace(old, new)), domain())

    assert str(caught.value).startswith("p.hddl:")
    assert words in str(caught.value)


def test_files_are_read_by_their_names(tmp_path: Path) -> None:
    """What callers get is the domain and the problem."""
    (tmp_path / "d.hddl").write_text(KITCHEN, encoding="utf-8")
    (tmp_path / "p.hddl").write_text("\ufeff" + DINNER.replace("\n", "\r\n"), encoding="utf-8")
    read = read_domain(tmp_path / "d.hddl")

    assert read_problem(tmp_path / "p.hddl", read)[0] == problem_from(HddlText("p", DINNER), read)[0]


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ("truck - vehicel\n  vehicle place", "d.hddl:2:17: the type vehicel is declared and used nowhere else. "),
        ("vehicle - thing  truck - vehcile", "Did you mean vehicle?"),
        ("package - locateable  truck - locatable  locatable - object", "Did you mean locatable?"),
    ],
)
def test_a_misspelt_supertype_is_named(types: str, message: str) -> None:
    """A slip would declare a type of its own, and nothing below it would fit what asks for the type that was meant."""
    assert message in fault(small(types=types))


@pytest.mark.parametrize("types", ["cup1 cup2 - cup", "small-truck - truck  big-truck - truck", "a - part  b - parts"])
def test_a_supertype_that_stands_on_the_right_only_is_declared_by_that(types: str) -> None:
    """Domains of competitions are written so; names alike are no fault where the type is used, or has them below it."""
    used = "(p ?x - part) (q ?x - parts)" if "parts" in types else "(q)"
    assert domain(small(types=types, predicates=used)).types


@pytest.mark.parametrize(
    "effect", ["(or (p ?x) (q))", "(and (q) (imply (q) (p ?x)))", "(when (q) (exists (?y - a) (q)))"]
)
def test_a_condition_is_no_effect(effect: str) -> None:
    """It is named, with its place: what an action does is certain."""
    found = fault(small(f"(:action go :parameters (?x - a)\n  :effect {effect})"))

    assert found.startswith("d.hddl:5:")
    assert " …) is a condition, not an effect" in found


def test_a_predicate_may_have_the_name_of_a_condition() -> None:
    """What a domain declares is what it means."""
    read = domain(small("(:action go :parameters (?x - a) :effect (imply ?x))", predicates="(imply ?x - a)"))
    assert read.operators[0].effects_add == (("imply", "?x"),)


def test_where_a_problem_does_not_fit_and_names_another_domain_it_says_so() -> None:
    """Competitions have problems that name their domain otherwise, so that alone is no fault."""
    fitting = DINNER.replace("(:domain kitchen)", "(:domain KITCHEN)")
    other = DINNER.replace("(:domain kitchen)", "(:domain garden)")
    for text in (DINNER, fitting, other):
        assert problem_from(HddlText("p.hddl", text), domain())[0].tasks

    told = "The problem belongs to the domain garden, but the domain here is Kitchen."
    for text, is_told in ((DINNER, False), (fitting, False), (other, True)):
        with pytest.raises(UsageError, match=r"p\.hddl:\d+:\d+: ") as caught:
            problem_from(HddlText("p.hddl", text.replace("(clean ", "(tidied ")), domain())
        assert str(caught.value).endswith(told) == is_told
        assert caught.value.line


def test_the_name_of_the_domain_of_a_problem_is_a_word() -> None:
    """Anything else is named with its place."""
    with pytest.raises(UsageError, match=r"p\.hddl:\d+:\d+: found a list"):
        problem_from(HddlText("p.hddl", DINNER.replace("(:domain kitchen)", "(:domain (kitchen))")), domain())
