"""What a domain or problem must not say: refused in one sentence that names the place, and never by a crash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.domains.files import load_domain, load_problem
from memkit.errors import UsageError
from memkit.runtime.htn.core import (
    Arithmetic,
    Domain,
    DomainError,
    Every,
    HtnError,
    Literal,
    Method,
    Operator,
    Problem,
    ProblemError,
    Some,
    parse_condition,
    parse_effect,
    parse_number,
    read_plan,
    verify,
)

HEAD = """\
name: d
types: {place: object, truck: object}
predicates: {at: [truck, place], open: [place]}
functions: {fuel: [truck], toll: []}
objects: {home: place, van: truck}
"""


def check_refusal(tmp_path: Path, text: str, said: str) -> None:
    """Check what is said of a domain file, and that it is said of the place that ``@`` marks."""
    place = f"d.yaml:{HEAD.count(chr(10)) + 1}:{text.index('@') + 1}: "
    (tmp_path / "d.yaml").write_text(HEAD + text.replace("@", ""))
    with pytest.raises(UsageError) as caught:
        load_domain(tmp_path / "d.yaml", name="d.yaml")
    assert str(caught.value).startswith(place + said)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('preconditions: [@"<= (fule ?t) 5"]', "The function fule is not defined. Did you mean fuel?"),
        ('preconditions: [@"<= (at ?t home) 5"]', "at is not a function. It stands for a fact: 'at ?t home'."),
        ('preconditions: [@"fuel ?t"]', "fuel is not a predicate. It stands for a number: '<= (fuel ?t) 5'."),
        ('preconditions: [@"<= (fuel) 5"]', "'fuel' has 0 arguments; fuel takes 1."),
        ('preconditions: [@"<= (fuel home) 5"]', "'fuel home': home is a place, but fuel needs a truck."),
        ('preconditions: [@"<= (fuel vam) 5"]', "The object vam is not declared under objects. Did you mean van?"),
        ('preconditions: [@"= toll 5"]', "toll is a function. Put it in parentheses: '= (toll) 5'."),
        ('preconditions: ["<= (fuel ?x) 5"]', "The operator o uses ?x, which its parameters do not name."),
        ('preconditions: [@"<= ?t 5"]', "?t is not a number. Write a function of it: (fuel ?t)."),
        ('preconditions: [@"<= (fuel ?t)"]', "'<=' has 1 numbers to compare; it takes two"),
        ("preconditions: [@{any: [open home, opn home]}]", "The predicate opn is not defined. Did you mean open?"),
        ('preconditions: [{any: [open home, @"not"]}]', "'not' must be followed by a fact"),
        ("preconditions: [{@some: [open home]}]", "Unknown key 'some'."),
        ('preconditions: [@{forall: "?p - plac", holds: "open ?p"}]', "The type plac is not defined under types."),
        ('preconditions: [{forall: @"p - place", holds: open p}]', "The parameter p needs a question mark: ?p."),
        ('preconditions: [@{exists: "?p - place"}]', "A map with the keys exists is not a condition."),
        (
            'preconditions: [@{exists: "?p - place", holds: "at ?p home"}]',
            "'at ?p home': ?p is a place, but at needs",
        ),
        ('preconditions: [@"or (open home) (and"]', "A '(' is not closed in 'or (open home) (and'."),
        ('preconditions: [@"open home)"]', "A ')' closes nothing in 'open home)'."),
        ('preconditions: [@"some (open home)"]', "'some (open home)' is not a condition."),
        ('effects: @["assign (fuel ?t) 5", "increase (fuel ?t) 1"]', "The operator o changes (fuel ?t) twice"),
        ('effects: [@"increase (fuel ?t)"]', "'increase' takes a fluent and a number"),
        ('effects: [@"increase 5 (fuel ?t)"]', "5 is not a numeric function of objects."),
        ('effects: @["increase (fuel ?t) .inf"]', "The function .inf is not defined."),
        ('effects: [@"increase (fuel ?t) inf"]', "inf is not a usable number."),
        ('effects: [@"<= (fuel ?t) 5"]', "'<= (fuel ?t) 5' is not an effect."),
        ("effects: [{when: @open home}]", "'operators[0].effects[0].when' must be a list"),
        ("effects: [@{when: [open home]}]", "An effect must add, remove or change something"),
        ('effects: [{when: [open home], add: [@"not open home"]}]', "'not open home' is not a fact."),
        ("effects: [{when: [open home], @ad: [open home]}]", "Unknown key 'ad'. Did you mean 'add'?"),
        ('effects: [{forall: "?p - place", add: ["open ?p"]}, {add: ["open ?q"]}]', "The operator o uses ?q"),
        ('add: [@"increase (fuel ?t) 5"]', "'increase (fuel ?t) 5' changes a number. List it under"),
        ("cost: @-1", "'operators[0].cost' must be at least 0"),
        ("cost: @.nan", "'.nan' is not a finite number."),
        ("cost: @.inf", "'.inf' is not a finite number."),
        ("cost: @1.0e+200", "1e+200 is too large to compute with; the maximum is 1e+100."),
        ('cost: @"(fuel home)"', "'fuel home': home is a place, but fuel needs a truck."),
    ],
)
def test_a_mistake_in_an_operator_is_named_with_its_place(tmp_path: Path, body: str, said: str) -> None:
    """The nearest known name, the right form, and line and column."""
    mark = "" if "@" in body else "@"
    check_refusal(tmp_path, f'operators: [{mark}{{name: o, parameters: "?t - truck", {body}}}]', said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("state: ['= (fuel van) 5', @'= (fuel van) 6']", "(fuel van) is both 5 and 6."),
        ("state: [@'= (fuel van) much']", "'= (fuel van) much': a state gives numbers, not (much)."),
        ("state: [@'= (fuel ?t) 5']", "'fuel ?t' has a variable."),
        ("state: @['= (fule van) 5']", "The function fule is not defined. Did you mean fuel?"),
        ("state: @['= (fuel home) 5']", "'fuel home': home is a place, but fuel needs a truck."),
        ("state: [@opn home]", "The predicate opn is not defined. Did you mean open?"),
        ("methods: [{name: m, task: t, subtasks: [{id: a, task: x}, {id: @a, task: y}]}]", "Duplicate label a"),
        ("methods: [{name: m, task: t, subtasks: [@{id: a, tsk: x}]}]", "The key 'task' is missing"),
        ("methods: [{name: m, task: t, subtasks: [{id: a, task: x}], ordering: [@a < b]}]", "No subtask has the"),
        (
            "methods: [{name: m, task: t, subtasks: [{id: a, task: x}, {id: b, task: y}], ordering: @[a < b, b < a]}]",
            "The ordering is a cycle: a < b < a.",
        ),
        ("methods: [{name: m, task: t, subtasks: [x], ordering: [@a]}]", "'methods[0].ordering[0]' is 'a', which"),
    ],
)
def test_a_mistake_elsewhere_in_a_domain_is_named_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    """States, subtasks and orderings are checked like operators."""
    check_refusal(tmp_path, text, said)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"functions": {"at": []}, "predicates": {"at": []}}, r"functions\.at: at is already a predicate"),
        ({"predicates": {"not": []}}, r"predicates\.not: not already has a meaning in conditions"),
        ({"functions": {"fuel": ["truk"]}, "types": {"truck": "object"}}, r"fuel\.0: The type truk .*mean truck\?"),
        ({"functions": ["fuel"]}, "functions: Functions must be a map from names to lists of types"),
    ],
)
def test_declarations_that_make_no_sense_are_refused(data: dict[str, Any], said: str) -> None:
    """Names and types are checked before anything that uses them."""
    with pytest.raises(DomainError, match=said):
        Domain.from_data({"name": "d", **data})


def test_a_goal_names_objects_and_known_predicates(tmp_path: Path) -> None:
    """The mistakes of a goal have their places too."""
    (tmp_path / "d.yaml").write_text(HEAD)
    domain = load_domain(tmp_path / "d.yaml")
    for goal, said in [
        ("['open ?x']", "p.yaml:1:8: 'open ?x' has the variable ?x. Name an object."),
        (
            "[{exists: '?p - place', holds: 'opn ?p'}]",
            "p.yaml:1:8: The predicate opn is not defined. Did you mean open?",
        ),
        ("['>= (fuel moon) 1']", "p.yaml:1:8: The object moon is not declared under objects."),
        ("open home", "p.yaml:1:7: 'goal' must be a list, but is a string."),
    ]:
        (tmp_path / "p.yaml").write_text(f"goal: {goal}\n")
        with pytest.raises(UsageError) as caught:
            load_problem(tmp_path / "p.yaml", domain, name="p.yaml")
        assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    "number",
    [float("nan"), float("inf"), -float("inf"), 10**200, True, None, "nan", "-Infinity", "9" * 5000, "1e999", [], {}],
)
def test_no_number_is_beyond_reckoning(number: object) -> None:
    """NaN, infinities, truth values and what is far too large are refused wherever a number may stand."""
    for read in (
        lambda: parse_number(number),
        lambda: Operator("o", cost=number),
        lambda: parse_condition(("<=", ("fuel",), number)),
        lambda: parse_effect(("increase", ("fuel",), number)),
    ):
        with pytest.raises(DomainError):
            read()


def test_a_number_that_grows_beyond_reckoning_is_a_fault_of_the_step() -> None:
    """Repeated doubling ends with a reason and not with infinity."""
    domain = Domain(operators=(Operator("square", [], ["scale_up (n) (n)"]),))
    problem = Problem(tasks=(), numbers={("n",): 10})

    [reason] = verify(domain, problem, read_plan(["square"] * 9), decomposition=False)

    assert "step 7" in str(reason)
    assert "is too large" in str(reason)


def nested(depth: int) -> list[object]:
    """Return conditions and numbers that lie ``depth`` deep inside each other, in every form."""
    mapping: object = "a"
    listed: object = ("a",)
    built: Any = Literal(("a",))
    for number in range(depth):
        mapping = {"any": [mapping]}
        listed = ("not", listed)
        built = Some((built,)) if number % 2 else Every((built,))
    return ["(or " * depth + "(a)" + ")" * depth, mapping, listed, built]


def test_deep_nesting_is_bounded_with_a_clear_error() -> None:
    """Fifty levels are read, ten thousand are refused, and neither meets the recursion limit."""
    for form in nested(45):
        assert str(parse_condition(form))
    for form in nested(10_000):
        with pytest.raises(DomainError, match="nested more than 50 deep"):
            parse_condition(form)
    tall: Any = 1
    for _ in range(10_000):
        tall = Arithmetic("+", tall, 1)
    for number in (tall, "(+ " + "1 " * 10_000 + ")", "(- " * 10_000 + "1" + ")" * 10_000):
        with pytest.raises(DomainError, match="nested more than 50 deep"):
            parse_number(number)


def test_a_long_chain_of_types_and_a_long_ordering_are_read_quickly() -> None:
    """Ten thousand types above each other, or tasks after each other, are only many; a circle among them is found."""
    types = {f"t{n}": f"t{n + 1}" for n in range(10_000)} | {"t10000": "object"}
    tasks = [{"id": f"t{n}", "task": f"do x{n}"} for n in range(10_000)]
    order = [f"t{n + 1} < t{n}" for n in range(9_999)]

    assert len(Domain.from_data({"name": "d", "types": types}).types) == 10_001
    assert len(Problem.from_data({"tasks": tasks, "ordering": order}).ordering or ()) == 9_999
    with pytest.raises(DomainError, match="The type t0 is above itself"):
        Domain.from_data({"name": "d", "types": types | {"t10000": "t0"}})
    with pytest.raises(ProblemError, match="is a cycle"):
        Problem.from_data({"tasks": tasks, "ordering": [*order, "t0 < t9999"]})


def test_ten_thousand_objects_are_quantified_over_by_what_holds() -> None:
    """A condition on all parcels of a van asks the facts, not every pair of objects."""
    data = {
        "name": "d",
        "types": {"parcel": "object", "van": "object"},
        "predicates": {"in": ["parcel", "van"], "wet": ["parcel"]},
        "objects": {f"p{n}": "parcel" for n in range(10_000)} | {f"v{n}": "van" for n in range(100)},
        "operators": [
            {
                "name": "check",
                "preconditions": ["forall (?v - van ?p - parcel) (imply (in ?p ?v) (not (wet ?p)))"],
                "effects": [{"forall": "?p - parcel ?v - van", "when": ["in ?p ?v"], "remove": ["in ?p ?v"]}],
            }
        ],
        "state": [f"in p{n} v{n}" for n in range(100)],
    }
    domain = Domain.from_data(data)
    problem = Problem.from_data({"goal": ["not (exists (?v - van) (in p7 ?v))"], "tasks": []}, domain)

    assert verify(domain, problem, read_plan(["check"]), decomposition=False) == []


def test_functions_of_python_are_refused_where_they_cannot_be_understood() -> None:
    """Negating one, writing one down, or ordering what one gives has no meaning."""
    with pytest.raises(DomainError, match="let the function itself say 'not'"):
        parse_condition({"not": bool})
    with pytest.raises(DomainError, match="cannot be written down"):
        Domain(operators=(Operator("o", [{"any": ["a", bool]}]),)).to_data()
    with pytest.raises(DomainError, match="also decides their order"):
        Method("m", "t", [], lambda state: [], ordering=[(0, 1)])


@pytest.mark.parametrize("ordering", [[(0, 5)], [(0, 0)], ["a < b"], "a < b", [(0,)], [0], [(True, False)], [(-1, 0)]])
def test_an_ordering_names_subtasks_that_are_there(ordering: Any) -> None:
    """Positions and labels outside the list are refused, for methods and for problems."""
    with pytest.raises(HtnError):
        Method("m", "t", [], ["x", "y"], ordering=ordering)
    with pytest.raises(HtnError):
        Problem(tasks=(("x",), ("y",)), ordering=ordering)


WORDS = ["not", "or", "and", "forall", "exists", "imply", "=", "<=", "at", "?x", "(", ")", '"', "-", "5", "nan", "when"]
nonsense = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(
            st.sampled_from(["any", "all", "not", "forall", "exists", "holds", "when", "add", "name", "id", "task"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(nonsense)
def test_nonsense_is_refused_or_read_and_never_crashes(value: Any) -> None:
    """Whatever stands where the language is read, the answer is a value or an error with a sentence."""
    for read in (
        parse_condition,
        parse_effect,
        parse_number,
        lambda each: Operator("o", each, each, parameters="?x", cost=each),
        lambda each: Method("m", "t ?x", each, each, ordering=each),
        lambda each: Domain.from_data({"name": "d", "state": each, "functions": each, "operators": each}),
        lambda each: Domain.from_data({"name": "d", "methods": [{"name": "m", "task": "t", "subtasks": each}]}),
        lambda each: Domain.from_data({"name": "d", "operators": [{"name": "o", "effects": each, "cost": each}]}),
        lambda each: Problem.from_data({"tasks": each, "ordering": each, "goal": each}),
    ):
        try:
            read(value)
        except HtnError as error:
            assert str(error)
