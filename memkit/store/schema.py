"""Check plain data against the subset of JSON Schema in memkit's own schemas, with sentences people can act on.

The schemas are ordinary JSON Schema files, so that editors complete from them as well. A keyword unknown to this
checker is an error instead of silently passing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from memkit.errors import UsageError
from memkit.store.layout import schema_path

if TYPE_CHECKING:
    from pathlib import Path

    from memkit.store.yaml import Document, KeyPath, Position

Schema = Mapping[str, Any]

_NOUNS = {
    "object": "a map",
    "array": "a list",
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "empty",
}


_TYPES: Mapping[str, Any] = {
    "object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
    "null": type(None),
}  # fmt: skip
"""What each type of JSON is in Python, where truth values are whole numbers too."""


class SchemaFinding(NamedTuple):
    """One way in which data does not fit its schema."""

    kind: str
    """``type``, ``required``, ``unknown_key``, ``value`` (enum, pattern, bounds) or ``choice``."""
    path: KeyPath
    message: str
    at_key: bool = False
    """Whether the key at the end of ``path`` is wrong, and not its value."""
    meant: str = ""
    """The known key nearest to a misspelt one."""

    def position(self, document: Document) -> Position:
        """Return line and column of the fault in the document that the data came from."""
        return document.key_position(self.path) if self.at_key else document.position(self.path)


@cache
def load_schema(name: str) -> Schema:
    """Return a schema that ships with memkit: ``skill``, ``policy``, ``domain`` or ``memkit``."""
    schema: Schema = json.loads(schema_path(name).read_text(encoding="utf-8"))
    _SHIPPED[id(schema)] = _Checker(schema)
    return schema


def check(data: Any, schema: Schema) -> list[SchemaFinding]:
    """Return everything in ``data`` that does not fit ``schema``, parents before their parts.

    >>> schema = {"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": False}
    >>> [finding.message for finding in check({"nam": "x"}, schema)]
    ["Unknown key 'nam'. Did you mean 'name'?"]
    """
    checker = _SHIPPED.get(id(schema)) or _Checker(schema)
    return [] if checker.fits(data, schema) else list(checker.check(data, schema, ()))


def unusable_parameters(tools: Sequence[Mapping[str, Any]]) -> list[SchemaFinding]:
    """Return where the parameters of declared tools describe no arguments, by place in ``memkit.yaml``.

    Such a store loads, so that its policies are analysed and its memory is read, and no agent offers its tools.
    """
    root = load_schema("memkit")
    checker, arguments = _Checker(root), root["$defs"]["arguments"]
    each = enumerate(tool.get("parameters", {}) for tool in tools)
    return [found for number, one in each for found in checker.check(one, arguments, ("tools", number, "parameters"))]


def require_arguments(tools: Sequence[Mapping[str, Any]], manifest: Path) -> None:
    """Raise ``UsageError`` if the parameters of a declared tool describe no arguments: no agent starts with it."""
    if found := unusable_parameters(tools):
        raise UsageError(f"{manifest}: {found[0].message}")


def suggestion(word: str, known: list[str]) -> str:
    """Return `` Did you mean '…'?`` for the nearest known word, or an empty string."""
    near = _nearest(word, known)
    return f" Did you mean {near!r}?" if near else ""


def _nearest(word: str, known: list[str]) -> str:
    import difflib

    return next(iter(difflib.get_close_matches(word, known, n=1, cutoff=0.6)), "")


class _Checker:
    """Walks data and schema together; holds the root schema, which ``$ref`` points into."""

    def __init__(self, root: Schema) -> None:
        self.root = root
        self._tests: dict[int, Callable[[Any], bool]] = {}
        """What says whether data fits, by the identity of the part of the schema that it was made of."""

    def fits(self, data: Any, schema: Schema) -> bool:
        """Return whether ``check`` would find nothing: most data fits, and words for branches not meant cost most."""
        test = self._tests.get(id(schema))
        if test is None:
            test = self._tests[id(schema)] = self._test(self._resolved(schema))
        return test(data)

    def _test(self, schema: Schema) -> Callable[[Any], bool]:
        _require_known(schema)
        kinds = _names(schema.get("type", [*_NOUNS]))
        types = tuple(_TYPES[name] for name in kinds)
        allowed = [[schema[word]] if word == "const" else schema[word] for word in ("const", "enum") if word in schema]
        values = [(check, schema[name]) for name, check in _VALUES.items() if name in schema.keys() - {"const", "enum"}]
        choices = [schema[keyword] for keyword in _CHOICES if keyword in schema]
        is_plain, items = not schema.keys() & _OF_OBJECTS, schema.get("items")
        fits = self.fits

        def test(data: Any) -> bool:
            if not isinstance(data, types) or (data.__class__ is bool and "boolean" not in kinds):
                return False
            for each in allowed:
                if not _is_among(data, each):
                    return False
            for check, limit in values:
                if check(data, limit):
                    return False
            for branches in choices:
                if not any(fits(data, branch) for branch in branches):
                    return False
            if isinstance(data, dict):
                return is_plain or self._fits_object(data, schema)
            return items is None or not isinstance(data, list) or all(fits(one, items) for one in data)

        return test

    def _fits_object(self, data: dict[str, Any], schema: Schema) -> bool:
        for key in schema.get("required", ()):
            if key not in data:
                return False
        for key, value in data.items():
            fitting = _fitting(key, schema)
            if not fitting and schema.get("additionalProperties", True) is False:
                return False
            if "propertyNames" in schema and not self.fits(key, schema["propertyNames"]):
                return False
            for part in fitting:
                if not self.fits(value, part):
                    return False
        return True

    def check(self, data: Any, schema: Schema, path: KeyPath) -> Iterator[SchemaFinding]:
        schema = self._resolved(schema)
        expected = schema.get("type")
        if expected is not None and not any(_is(data, name) for name in _names(expected)):
            yield SchemaFinding("type", path, _wrong_type(data, _names(expected), path))
            return
        _require_known(schema)
        for keyword in (known for known in _VALUES if known in schema):
            message = _VALUES[keyword](data, schema[keyword])
            if message and keyword == "pattern" and "title" in schema:  # words, where the schema has some
                message = f"is {_short(data)}, not {schema['title']}."
            if message:
                yield SchemaFinding("value", path, f"{_subject(path)} {message}")
        for branches in (schema[keyword] for keyword in _CHOICES if keyword in schema):
            yield from self._choice(data, branches, path)
        if isinstance(data, dict):
            yield from self._object(data, schema, path)
        if isinstance(data, list) and "items" in schema:
            for number, item in enumerate(data):
                yield from self.check(item, schema["items"], (*path, number))

    def _resolved(self, schema: Schema) -> Schema:
        while "$ref" in schema:
            target: Any = self.root
            for part in schema["$ref"].removeprefix("#").split("/")[1:]:
                target = target[part]
            schema = target
        return schema

    def _object(self, data: dict[str, Any], schema: Schema, path: KeyPath) -> Iterator[SchemaFinding]:
        properties: Mapping[str, Schema] = schema.get("properties", {})
        for key in schema.get("required", ()):
            if key not in data:
                where = f" in {_subject(path)}" if path else ""
                yield SchemaFinding("required", path, f"The key {key!r} is missing{where}.", at_key=True)
        for key, value in data.items():
            yield from self._entry(key, value, properties, schema, (*path, key))

    def _entry(
        self, key: str, value: Any, properties: Mapping[str, Schema], schema: Schema, path: KeyPath
    ) -> Iterator[SchemaFinding]:
        for finding in self.check(key, schema.get("propertyNames", {}), path):
            message = f"The key {key!r}{finding.message.removeprefix(_subject(path))}"
            yield SchemaFinding("value", path, message, at_key=True)
        fitting = _fitting(key, schema)
        if not fitting and schema.get("additionalProperties", True) is False:
            near = _nearest(key, list(properties))
            message = f"Unknown key {key!r}.{f' Did you mean {near!r}?' if near else _known(schema)}"
            yield SchemaFinding("unknown_key", path, message, at_key=True, meant=near)
        for sub in fitting:
            yield from self.check(value, sub, path)

    def _choice(self, data: Any, branches: list[Schema], path: KeyPath) -> Iterator[SchemaFinding]:
        """Yield nothing if a branch fits; else the faults in the branch that was meant, if that is clear."""
        if any(self.fits(data, branch) for branch in branches):
            return
        results = [list(self.check(data, branch, path)) for branch in branches]
        meant = [found for found in results if not any(f.kind == "type" and f.path == path for f in found)]
        if len(meant) > 1:
            strange = [sum(_is_structural(finding, path) for finding in found) for found in meant]
            meant = [found for found, number in zip(meant, strange, strict=True) if number == min(strange)]
        if len(meant) == 1:
            yield from meant[0]
            return
        names = [self._title(branch) for branch in branches]
        yield SchemaFinding("choice", path, f"{_subject(path)} must be {_either(names)}.")

    def _title(self, branch: Schema) -> str:
        branch = self._resolved(branch)
        if "title" in branch:
            return str(branch["title"])
        if "enum" in branch:
            return _either([repr(value) for value in branch["enum"]])
        return _either([_NOUNS[name] for name in _names(branch.get("type", "object"))])


_SHIPPED: dict[int, _Checker] = {}
"""The checkers of the schemas that ship with memkit, by the schema's identity."""


def _require_known(schema: Schema) -> None:
    if unknown := schema.keys() - _KEYWORDS:
        raise ValueError(f"The schema keywords {sorted(unknown)} are not supported.")


def _fitting(key: str, schema: Schema) -> list[Schema]:
    """Return the parts of a schema that the value of a key has to fit."""
    properties, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
    fitting = [properties[key]] if key in properties else []
    fitting += [part for pattern, part in schema.get("patternProperties", {}).items() if _matches(pattern, key)]
    return fitting if fitting or not isinstance(rest, Mapping) else [rest]


def _names(expected: str | list[str]) -> list[str]:
    return [expected] if isinstance(expected, str) else list(expected)


def _is(data: Any, name: str) -> bool:
    return isinstance(data, _TYPES[name]) and (not isinstance(data, bool) or name == "boolean")


def _wrong_type(data: Any, expected: list[str], path: KeyPath) -> str:
    actual = next(noun for name, noun in _NOUNS.items() if _is(data, name))
    advice = " Put it in quotes." if expected == ["string"] and not isinstance(data, (dict, list, type(None))) else ""
    return f"{_subject(path)} must be {_either([_NOUNS[name] for name in expected])}, but is {actual}.{advice}"


def _subject(path: KeyPath) -> str:
    """Return the name of the value at ``path`` in a sentence, such as ``'examples[0].input'``."""
    if not path:
        return "The file"
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    return repr(text)


def _either(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _known(schema: Schema) -> str:
    known = [*schema.get("properties", {}), *schema.get("patternProperties", {})]
    return f" Known are: {', '.join(known)}." if known else ""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # JSON Schema's final $ is the end of the string; Python's would allow a newline after it.
    return re.compile(pattern[:-1] + r"\Z" if pattern.endswith("$") else pattern)


def _matches(pattern: str, text: str) -> bool:
    return _compiled(pattern).search(text) is not None


def _is_among(data: Any, allowed: list[Any]) -> bool:
    return any(data == value and type(data) is type(value) for value in allowed)


def _enum(data: Any, allowed: list[Any]) -> str:
    if _is_among(data, allowed):
        return ""
    hint = suggestion(data, [value for value in allowed if isinstance(value, str)]) if isinstance(data, str) else ""
    return f"must be {_either([repr(value) for value in allowed])}.{hint}"


def _pattern(data: Any, pattern: str) -> str:
    if not isinstance(data, str) or _matches(pattern, data):
        return ""
    return f"is {_short(data)}, which does not match {pattern}."


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:59] + "…")


def _is_structural(finding: SchemaFinding, path: KeyPath) -> bool:
    """Return whether a finding says that the map at ``path`` has other keys than a branch expects."""
    return finding.kind in ("unknown_key", "required") and len(finding.path) <= len(path) + 1


def _size(kind: type, unit: str, *, least: bool) -> Callable[[Any, Any], str]:
    def compare(data: Any, limit: int) -> str:
        if not isinstance(data, kind) or (len(data) >= limit if least else len(data) <= limit):  # type: ignore[arg-type]
            return ""
        if least and limit == 1:
            return "must not be empty."
        return f"must have at {'least' if least else 'most'} {limit} {unit}, but has {len(data)}."  # type: ignore[arg-type]

    return compare


def _range(*, least: bool) -> Callable[[Any, Any], str]:
    def compare(data: Any, limit: float) -> str:
        if not _is(data, "number") or (data >= limit if least else data <= limit):
            return ""
        return f"must be at {'least' if least else 'most'} {limit}, but is {data}."

    return compare


def _unique(data: Any, wanted: bool) -> str:
    if not wanted or not isinstance(data, list):
        return ""
    repeated = [item for number, item in enumerate(data) if item in data[:number]]
    return f"contains {repeated[0]!r} twice." if repeated else ""


_VALUES: Mapping[str, Callable[[Any, Any], str]] = {
    "enum": _enum,
    "const": lambda data, value: _enum(data, [value]),
    "pattern": _pattern,
    "uniqueItems": _unique,
    "minLength": _size(str, "characters", least=True),
    "maxLength": _size(str, "characters", least=False),
    "minItems": _size(list, "items", least=True),
    "maxItems": _size(list, "items", least=False),
    "minProperties": _size(dict, "keys", least=True),
    "maxProperties": _size(dict, "keys", least=False),
    "minimum": _range(least=True),
    "maximum": _range(least=False),
}

_ANNOTATIONS = {"$schema", "$id", "$defs", "$comment", "title", "description", "examples", "default"}
_OF_OBJECTS = {"properties", "required", "patternProperties", "additionalProperties", "propertyNames"}
_CHOICES = ("anyOf", "oneOf")
_KEYWORDS = _ANNOTATIONS | _OF_OBJECTS | {"type", "items", *_CHOICES, *_VALUES}
