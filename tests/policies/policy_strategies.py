"""Policies and calls with everything the language has, for properties that hold for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from memkit.runtime.guard.core import Call

Data = dict[str, Any]

SHELL_RM = {"shell": {"program": ["rm", "shred"]}}
SHELL_RM_RF = {"shell": {"program": "rm", "flags": {"all_of": ["-r", "-f"]}}}


def policy(name: str, effect: str, match: Any, enforcement: str = "hard", exceptions: Sequence[Data] = ()) -> Data:
    """Return the data of a policy."""
    words = {"name": name, "description": "d", "rule": "r", "enforcement": enforcement, "effect": effect}
    return {**words, "match": match, "exceptions": list(exceptions)}


rich_conditions = st.recursive(
    st.sampled_from(
        [
            "a*", "*b", "?", "[ab]c", {"regex": "^a.*b$"}, {"regex": "(?i)drop"}, {"regex": r"\bb\b"},
            {"prefix": ["a", "git "]}, {"range": {"min": 1, "below": 9}}, {"equals": "rm x"},
            {"in": ["git push", "ls", 5]}, SHELL_RM, SHELL_RM_RF, {"shell": {"program": "git", "args": ["push"]}},
            {"shell": {"args": ["*prod*"]}},
            {"shell": {"flags": ["-r", "-x"]}}, {"sql": {"statement": ["drop", "delete from"]}},
            {"sql": {"table": "users"}},
        ]
    ),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"any": parts}),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"all": parts}),
        inner.map(lambda part: {"not": part}),
    ),
    max_leaves=4,
)  # fmt: skip
rich_boxes = st.fixed_dictionaries(
    {},
    optional={
        "tool": st.sampled_from(["bash", ["bash", "sh"], "*sh", {"regex": "^b"}, "sql_*"]),
        "args.command": rich_conditions,
        "args.*": rich_conditions,
        "args.a.b": rich_conditions,
        "context.env": st.sampled_from(["test", "p*", {"not": "test"}]),
    },
).filter(bool)
rich_policies = st.lists(
    st.fixed_dictionaries(
        {
            "effect": st.sampled_from(["deny", "ask", "warn", "allow"]),
            "enforcement": st.sampled_from(["hard", "hard", "soft"]),
            "match": rich_boxes,
            "exceptions": st.lists(
                st.sampled_from([{"match": {"context.env": "test"}}, {"match": {"context.by": "?*"}}]), max_size=2
            ),
        }
    ),
    min_size=1,
    max_size=4,
).map(lambda found: [policy(f"p{number}", **data) for number, data in enumerate(found)])
words = [
    "rm -rf /",
    "rm",
    "git push",
    "ls",
    "drop table users",
    "psql -c 'delete from users'",
    "a b",
    "ab",
    "b",
    "5",
    "$X",
    "'",
]
values = st.one_of(
    st.sampled_from([*words, 5, 0, True, {}, [], ["rm", "-rf"], ["rm -rf /"], {"b": "rm x"}, {"q": "drop table t"}]),
    st.text(alphabet="ab rmx;-c'", max_size=6),
)
calls = st.builds(
    Call,
    st.sampled_from(["bash", "sh", "sql_run", "b", "other"]),
    st.dictionaries(st.sampled_from(["command", "a", "a.b", "other"]), values, max_size=3),
    st.dictionaries(st.sampled_from(["env", "by"]), st.sampled_from(["test", "prod", "ada"]), max_size=2),
)
