"""The schema checker and the schemas that ship."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.policies.files import load_policies
from memkit.resources import resource
from memkit.store.config import DEFAULTS
from memkit.store.layout import SCHEMA_FILES
from memkit.store.schema import _Checker, check, load_schema
from memkit.store.yaml import load_yaml

SKILL = {"name": "x", "description": "d", "steps": ["one"]}


def messages(data: Any, schema: dict[str, Any]) -> list[str]:
    """Return what the checker says."""
    return [finding.message for finding in check(data, schema)]


@pytest.mark.parametrize(
    ("schema", "good", "bad", "message"),
    [
        ({"type": "string"}, "a", 1, "The file must be a string, but is a whole number. Put it in quotes."),
        ({"type": "string"}, "a", [], "The file must be a string, but is a list."),
        ({"type": ["integer", "null"]}, None, "1", "The file must be a whole number or empty, but is a string."),
        ({"type": "integer"}, 1, True, "The file must be a whole number, but is true or false."),
        ({"type": "number"}, 1.5, "x", "The file must be a number, but is a string."),
        ({"enum": ["deny", "ask"]}, "ask", "dney", "The file must be 'deny' or 'ask'. Did you mean 'deny'?"),
        ({"enum": [1]}, 1, True, "The file must be 1."),
        ({"const": "x"}, "x", "y", "The file must be 'x'."),
        ({"pattern": "^[a-z]+$"}, "abc", "abc\n", "The file is 'abc\\n', which does not match ^[a-z]+$."),
        (
            {"pattern": "^[0-9]+d$", "title": "a number and d"},
            "5d",
            "5 days",
            "The file is '5 days', not a number and d.",
        ),
        ({"minLength": 1}, "a", "", "The file must not be empty."),
        ({"maxLength": 2}, "ab", "abc", "The file must have at most 2 characters, but has 3."),
        ({"minItems": 2}, [1, 2], [1], "The file must have at least 2 items, but has 1."),
        ({"maxItems": 1}, [1], [1, 2], "The file must have at most 1 items, but has 2."),
        ({"minProperties": 1}, {"a": 1}, {}, "The file must not be empty."),
        ({"maxProperties": 1}, {"a": 1}, {"a": 1, "b": 1}, "The file must have at most 1 keys, but has 2."),
        ({"uniqueItems": True}, [1, 2], [1, 1], "The file contains 1 twice."),
        ({"minimum": 0}, 0, -1, "The file must be at least 0, but is -1."),
        ({"maximum": 1}, 1, 1.5, "The file must be at most 1, but is 1.5."),
        ({"required": ["a"]}, {"a": 1}, {}, "The key 'a' is missing."),
        ({"items": {"type": "string"}}, ["a"], [1], "'[0]' must be a string, but is a whole number. Put it in quotes."),
        ({"additionalProperties": {"type": "string"}}, {"a": "b"}, {"a": []}, "'a' must be a string, but is a list."),
        (
            {"propertyNames": {"pattern": "^[a-z]$"}},
            {"a": 1},
            {"A": 1},
            "The key 'A' is 'A', which does not match ^[a-z]$.",
        ),
        (
            {"patternProperties": {"^args\\.": {}}, "properties": {"tool": {}}, "additionalProperties": False},
            {"args.x": 1, "tool": 1},
            {"toool": 1},
            "Unknown key 'toool'. Did you mean 'tool'?",
        ),
        (
            {"properties": {"tool": {}}, "additionalProperties": False},
            {},
            {"zzz": 1},
            "Unknown key 'zzz'. Known are: tool.",
        ),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, 1, [], "The file must be a string or a whole number."),
    ],
)
def test_each_keyword_passes_what_fits_and_names_what_does_not(
    schema: dict[str, Any], good: Any, bad: Any, message: str
) -> None:
    """A keyword accepts its good example and answers the bad one with one sentence."""
    assert messages(good, schema) == []
    assert messages(bad, schema) == [message]


def test_a_choice_reports_the_branch_that_was_meant() -> None:
    """With one branch of the right type, or the fewest strange keys, the findings are that branch's."""
    regex = {
        "type": "object",
        "required": ["regex"],
        "properties": {"regex": {"type": "string"}},
        "additionalProperties": False,
    }
    sql = {
        "type": "object",
        "required": ["sql"],
        "properties": {"sql": {"type": "string"}},
        "additionalProperties": False,
    }
    schema = {"anyOf": [{"type": "string"}, regex, sql]}

    assert messages({"regex": 1}, schema) == ["'regex' must be a string, but is a whole number. Put it in quotes."]
    assert messages({"regx": 1}, schema) == ["The file must be a string, a map or a map."]


def test_a_finding_points_at_the_key_or_the_value() -> None:
    """An unknown key is shown where the key stands, a wrong value where the value stands."""
    document = load_yaml("name: x\ndescription: d\nstepz: [one]\nsteps: [one]\nversion: 1\n")

    found = check(document.data, load_schema("skill"))

    assert [(finding.kind, finding.position(document)) for finding in found] == [
        ("unknown_key", (3, 1)),
        ("type", (5, 10)),
    ]


def test_an_unknown_keyword_is_an_error_of_the_schema() -> None:
    """A schema cannot ask for something that is silently not checked."""
    with pytest.raises(ValueError, match="multipleOf"):
        check(1, {"multipleOf": 2})


def _subschemas(schema: Any) -> list[dict[str, Any]]:
    """Return every schema inside ``schema``."""
    if isinstance(schema, list):
        return [found for item in schema for found in _subschemas(item)]
    if not isinstance(schema, dict):
        return []
    found = [schema]
    for key, value in schema.items():
        if key in ("properties", "$defs", "patternProperties"):
            found += [inner for item in value.values() for inner in _subschemas(item)]
        elif key in ("items", "anyOf", "oneOf", "additionalProperties", "propertyNames"):
            found += _subschemas(value)
    return found


@pytest.mark.parametrize(
    "kind", [*SCHEMA_FILES, *(path.name.split(".")[0] for path in resource("schemas").glob("*.json"))]
)
def test_shipped_schemas_use_only_what_the_checker_knows(kind: str) -> None:
    """Each keyword in each schema is one that is checked, and each reference leads somewhere."""
    schema = load_schema(kind)

    for part in _subschemas(schema):
        for data in ({}, [], "", 1, None, True):
            list(check(data, {**part, "$defs": schema.get("$defs", {})}))


def test_the_built_in_settings_fit_their_schema() -> None:
    """memkit.yaml may hold every default as it is."""
    assert messages(dict(DEFAULTS), load_schema("memkit")) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*SKILL, "x", "examples"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_data_is_checked_without_an_accident(data: Any) -> None:
    """Whatever a file holds, the answer is a list of findings whose positions exist."""
    document = load_yaml("a: 1")

    for finding in check(data, load_schema("skill")):
        assert finding.position(document)
        assert finding.message.endswith((".", "?"))


STARTERS = [policy.data for policy in load_policies(resource("policies"))]


def spoiled(data: Any, choose: Any) -> Any:
    """Return ``data`` with something drawn in the place of one of its parts."""
    if isinstance(data, dict | list) and data and choose(st.integers(0, 5)):
        key = choose(st.sampled_from(list(data if isinstance(data, dict) else range(len(data)))))
        copied: Any = data.copy()
        copied[key] = spoiled(data[key], choose)
        return copied
    return choose(JSON)


@given(st.data(), st.sampled_from(STARTERS))
def test_data_fits_where_nothing_is_found(data: st.DataObject, policy: Any) -> None:
    """The quick answer, that data fits, is the one that a search for faults gives, for any part of a schema."""
    checker, changed = _Checker(load_schema("policy")), spoiled(policy, data.draw)

    assert checker.fits(policy, checker.root)
    assert checker.fits(changed, checker.root) == (not list(checker.check(changed, checker.root, ())))
    for name, part in checker.root["$defs"].items():
        assert checker.fits(changed, part) == (not list(checker.check(changed, part, ()))), name
