"""Policies by what they need of a call: the same verdicts as by asking every policy, from fewer questions."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from growth import steps
from hypothesis import example, given
from hypothesis import strategies as st

from memkit.runtime.guard.core import Guard

Data = dict[str, Any]

TEXTS = [
    "rm -rf /",
    "rm",
    "git push",
    "drop table t",
    "psql -c 'delete from t'",
    "/srv/a.key",
    "/srv/ab",
    "a",
    "b\n",
    "5",
    "1e400",
    "nan",
    "",
    "Kſ",
    "'",
    "SK",
]

leaves = st.sampled_from(
    [
        "a*",
        "*b",
        "*.key",
        "/srv/*",
        "*srv*a*",
        "?",
        "[ab]c",
        "",
        {"regex": "^/srv/[a-z]+"},
        {"regex": "(?i)sk|drop"},
        {"regex": "b$"},
        {"prefix": ["/", "/srv", "git "]},
        {"prefix": "/srv/a"},
        {"range": {"min": 1, "below": 9}},
        {"range": {"above": 5}},
        {"range": {"min": 9, "max": 1}},
        {"equals": "rm"},
        {"equals": 5},
        {"in": ["a", 5, True]},
        {"shell": {"program": ["rm", "shred"]}},
        {"shell": {"program": "g*"}},
        {"shell": {"args": ["/"]}},
        {"sql": {"statement": ["drop", "delete from"]}},
        {"sql": {"table": "t"}},
    ]
)
conditions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"any": parts}),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"all": parts}),
        inner.map(lambda part: {"not": part}),
        inner.map(lambda part: {"surely": part}),
    ),
    max_leaves=4,
)
KEYS = ["args.command", "args.path", "args.*", "args.a.b", "context.env"]
matches = st.fixed_dictionaries(
    {"tool": st.sampled_from(["bash", ["bash", "send"], "*", {"regex": "^b"}])},
    optional=dict.fromkeys(KEYS, conditions),
)
kinds = st.fixed_dictionaries({"tool_kind": st.just("shell"), "args.command": conditions})
drawn_policies = st.lists(
    st.tuples(
        st.one_of(matches, kinds, st.lists(matches, min_size=1, max_size=2)),
        st.sampled_from(["deny", "ask", "warn", "allow"]),
        st.sampled_from(["hard", "soft"]),
        st.sampled_from([[], [{"match": {"context.env": "a*"}}]]),
    ),
    min_size=5,
    max_size=12,
)
scalars = st.one_of(st.sampled_from([*TEXTS, 5, 0, True, None, 5.5, float("nan"), float("inf"), 10**5000, -(10**400)]))
values = st.one_of(
    scalars,
    st.lists(st.one_of(scalars, st.lists(scalars, max_size=2)), max_size=3),
    st.dictionaries(st.sampled_from(["b", "q"]), scalars, max_size=2),
    st.text(alphabet="ab/rmsk.ſ\n", max_size=6),
)
arguments = st.dictionaries(st.sampled_from(["command", "path", "a", "a.b"]), values, max_size=3)


def policies(drawn: list[tuple[Any, str, str, list[Data]]]) -> list[Data]:
    """Return the policies of a drawn set."""
    words = {"description": "d", "rule": "r"}
    return [
        {
            "name": f"p{number}",
            **words,
            "enforcement": enforcement,
            "effect": effect,
            "match": match,
            "exceptions": lifted,
        }
        for number, (match, effect, enforcement, lifted) in enumerate(drawn)
    ]


def about(key: str, conditions: list[Any], tool: str = "send") -> Guard:
    """Return a guard with one policy on ``key`` for each condition."""
    return Guard(policies([({"tool": tool, key: condition}, "deny", "hard", []) for condition in conditions]))


FIVE_RANGES = [({"tool": "bash", "args.path": {"range": {"above": 5}}}, "deny", "hard", [])] * 5


@given(drawn_policies, st.sampled_from(["bash", "send", "other"]), arguments, st.dictionaries(st.just("env"), values))
@example(FIVE_RANGES, "bash", {"path": "nan"}, {})
@example(FIVE_RANGES, "bash", {"path": [10**5000]}, {})
@example(FIVE_RANGES, "bash", {"path": {"b": 7}}, {})
def test_a_verdict_is_that_of_asking_every_policy(
    drawn: list[tuple[Any, str, str, list[Data]]], tool: str, args: Data, context: Data
) -> None:
    """Decision, findings, reasons and lifted policies, in their order; also where a condition fails on a value."""
    guard = Guard(policies(drawn))

    assert guard.decide(tool, args, context) == guard.asking_everybody().decide(tool, args, context)


@pytest.mark.parametrize(
    ("match", "args"),
    [
        # A list under a condition with a reader of shell in it is one command line.
        ({"args.command": {"any": ["rm -rf*", {"shell": {"program": "shred"}}]}}, {"command": ["rm", "-rf"]}),
        # The clause that says most comes behind one that fails.
        ({"args.a.b": "x*", "args.path": {"equals": "/secret"}}, {"a": {"b": 10**5000}, "path": "/other"}),
        ({"args.amount": "x*", "args.path": {"equals": "/secret"}}, {"amount": 10**5000, "path": "/other"}),
    ],
    ids=["command line", "deep failure", "failure"],
)
def test_what_no_table_shows_is_asked(match: Data, args: Data) -> None:
    """Each of these calls is denied by asking every policy, and meets no need of one clause alone."""
    guard = Guard(policies([({"tool": "send", **match}, "deny", "hard", [])] * 6))

    assert guard.decide("send", args, {}) == guard.asking_everybody().decide("send", args, {})
    assert guard.decide("send", args, {}).decision == "deny"


@pytest.mark.parametrize(
    ("key", "condition", "value"),
    [
        ("args.to", lambda n: {"equals": f"user{n}@example.org"}, "nobody@example.org"),
        ("args.to", lambda n: {"in": [f"user{n}@example.org", f"boss{n}@example.org"]}, "nobody@example.org"),
        ("args.path", lambda n: {"prefix": f"/home/user{n}/private"}, "/home/anna/private/x"),
        ("args.path", lambda n: f"/srv/team{n}/*.key", "/srv/data/file.md"),
        ("args.path", lambda n: f"*/secret{n:05}.pem", "/srv/data/file.md"),
        ("args.path", lambda n: {"regex": rf"^/srv/[a-z]+/secret{n:05}\d+$"}, "/srv/data/file.md"),
        ("args.amount", lambda n: {"range": {"above": 1000 + n, "max": 1005 + n}}, 50),
        ("args.command", lambda n: {"shell": {"program": f"program{n}"}}, "ls -l /srv"),
        ("args.query", lambda n: {"sql": {"statement": f"verb{n} all"}}, "select 1 from t"),
        ("args.a.b", lambda n: {"equals": f"user{n}"}, {"b": "nobody"}),
    ],
)
def test_ten_times_as_many_policies_cost_no_more(key: str, condition: Any, value: Any) -> None:
    """A call that meets none of them takes about as many steps among 1,000 as among 100."""
    args = {key.split(".")[1]: value}

    def cost(count: int) -> int:
        guard = about(key, [condition(number) for number in range(count)])
        guard.decide("send", args, {})  # the tables are made for the first call of a tool
        assert guard.decide("send", args, {}).decision == "allow"
        return steps(lambda: guard.decide("send", args, {}))

    assert cost(1_000) <= 1.5 * cost(100)


def test_nested_prefixes_and_ranges_are_all_found() -> None:
    """One text may start with several others, and one number lie in several ranges."""
    guard = about("args.path", [{"prefix": "/srv/a/b/c"[:end]} for end in range(1, 11)])
    ranges = about("args.amount", [{"range": {"min": low, "max": 20 - low}} for low in range(10)])

    assert [found.name for found in guard.decide("send", {"path": "/srv/a/x"}, {}).policies] == [
        f"p{n}" for n in range(7)
    ]
    assert [found.name for found in ranges.decide("send", {"amount": 3}, {}).policies] == ["p0", "p1", "p2", "p3"]


def test_tools_that_the_same_policies_meet_share_their_tables() -> None:
    """A model that makes up tools costs no table each."""
    guard = about("args.path", [{"prefix": f"/{number}"} for number in range(50)], tool="*")

    for number in range(200):
        guard.decide(f"made_up_{number}", {"path": "/7x"}, {})

    assert len(guard._selections) == 1


def test_a_changed_set_compiles_what_changed() -> None:
    """What stayed is the same object, and ``true`` has not stayed where ``1`` is now."""
    first = policies([({"tool": "send", "args.n": condition}, "deny", "hard", []) for condition in ("a", True, "c")])
    second = [*first[:1], {**first[1], "match": {"tool": "send", "args.n": 1}}, *first[2:]]

    before = Guard(first)
    after = Guard(second, before)

    assert [new is old for new, old in zip(after.policies, before.policies, strict=True)] == [True, False, True]
    assert after.decide("send", {"n": 1}, {}).decision == "deny"


def test_sets_that_take_turns_while_calls_are_decided_never_mix() -> None:
    """Each verdict is that of one set or of the other, with patterns whose tables both sets share."""
    folders = ("/x/", "/[xy]/")
    sets = [about("args.path", [{"regex": rf"^{folder}[a-z]+{n}$"} for n in range(20)]) for folder in folders]
    held = [sets[0]]
    verdicts: set[tuple[str, ...]] = set()
    done = threading.Event()

    def decide() -> None:
        while not done.is_set():
            found = held[0].decide("send", {"path": "/y/abc7"}, {}).policies
            verdicts.add(tuple(finding.name for finding in found))

    readers = [threading.Thread(target=decide) for _ in range(3)]
    for reader in readers:
        reader.start()
    turn = 0
    while turn < 400 or len(verdicts) < 2:
        held[0] = sets[turn % 2]
        turn += 1
    done.set()
    for reader in readers:
        reader.join()

    assert verdicts == {(), ("p7",)}
