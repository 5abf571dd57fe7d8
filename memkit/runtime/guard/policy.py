"""One policy: its data checked field by field, and compiled."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from .checks import first_of
from .conditions import suggestion
from .errors import Path, PolicySetError
from .interface import EFFECTS, ENFORCEMENTS, JSON, Call, Outcome
from .match import Alternative, Clause, Test, compile_match

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
REQUIRED = ("name", "description", "rule", "enforcement")


@dataclass(frozen=True)
class CompiledException:
    """A case in which a policy does not apply."""

    text: str
    alternatives: tuple[Alternative, ...]
    """Empty when the exception is prose only; such a one never applies by itself."""
    path: Path

    def applies(self, call: Call) -> Outcome:
        """Return whether the host's context surely makes the exception hold."""
        for alternative in self.alternatives:
            outcome = alternative.test(call)
            if outcome.state:
                return Outcome(True, f"{self.text or 'exception'} ({outcome.reason})")
        return Outcome(False)


@dataclass(frozen=True)
class Policy:
    """A compiled policy."""

    name: str
    rule: str
    enforcement: str
    effect: str | None
    """``None`` for advice, which has nothing to check."""
    active: bool
    alternatives: tuple[Alternative, ...]
    exceptions: tuple[CompiledException, ...]

    @property
    def hard(self) -> bool:
        """Return whether the policy binds."""
        return self.enforcement == "hard"

    def for_tool(self, tool: str) -> Test | None:
        """Return the test of a call of this tool, or ``None`` when the policy cannot apply to one."""
        tests = [test for test in (part.for_tool(tool) for part in self.alternatives) if test]
        if len(tests) < 2:
            return tests[0] if tests else None
        return lambda call: first_of(test(call) for test in tests)

    def names(self) -> frozenset[str] | None:
        """Return the tools the policy can apply to; ``None`` when every tool has to be asked."""
        found: frozenset[str] = frozenset()
        for alternative in self.alternatives:
            if alternative.names is None:
                return None
            found |= alternative.names
        return found

    def clauses(self) -> Iterator[Clause]:
        """Yield every clause of the match, in the order of the file."""
        for alternative in self.alternatives:
            yield from ((alternative.tool,) if alternative.tool else ())
            yield from alternative.clauses


def compile_policy(data: Mapping[str, JSON]) -> Policy:
    """Return the compiled policy; raise ``PolicySetError`` with the first fault."""
    faults = policy_faults(data)
    if faults:
        raise faults[0]
    return _build(data)


def _build(data: Mapping[str, JSON]) -> Policy:
    return Policy(
        name=data["name"],
        rule=data["rule"],
        enforcement=data["enforcement"],
        effect=data.get("effect"),
        active=data.get("active", True),
        alternatives=compile_match(data["match"], ("match",)) if "match" in data else (),
        exceptions=tuple(_exception(item, ("exceptions", i)) for i, item in enumerate(data.get("exceptions", ()))),
    )


def policy_faults(data: JSON) -> list[PolicySetError]:
    """Return everything that is wrong with the data of a policy, each with its place."""
    if not isinstance(data, Mapping):
        return [PolicySetError("a policy is a mapping of fields")]
    name = data.get("name")
    owner = name if isinstance(name, str) else ""
    faults = [PolicySetError(f"the field {key} is missing") for key in REQUIRED if key not in data]
    faults += [*_field_faults(data), *_pairing_faults(data)]
    return [PolicySetError(fault.message, path=fault.path, policy=owner) for fault in faults]


def _field_faults(data: Mapping[str, JSON]) -> Iterator[PolicySetError]:
    for key, value in data.items():
        if key not in FIELDS:
            yield PolicySetError(f"unknown field {key!r}{suggestion(str(key), tuple(FIELDS))}", path=(key,))
            continue
        try:
            FIELDS[key](value, (key,))
        except PolicySetError as fault:
            yield fault


def _pairing_faults(data: Mapping[str, JSON]) -> Iterator[PolicySetError]:
    if "match" in data and "effect" not in data:
        yield PolicySetError(f"a policy with match needs an effect: {', '.join(EFFECTS)}", path=("match",))


def _text(value: JSON, path: Path) -> None:
    if not isinstance(value, str) or not value.strip():
        raise PolicySetError("needs text", path=path)


def _name(value: JSON, path: Path) -> None:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise PolicySetError(
            "a name starts with a small letter or digit and has at most 64 of a-z, 0-9, _ and -", path=path
        )


def _flag(value: JSON, path: Path) -> None:
    if not isinstance(value, bool):
        raise PolicySetError("needs true or false", path=path)


def _one_of(known: tuple[str, ...]) -> Callable[[JSON, Path], None]:
    def check(value: JSON, path: Path) -> None:
        if value not in known:
            raise PolicySetError(f"{value!r} is not one of {', '.join(known)}{_close(value, known)}", path=path)

    return check


def _close(value: JSON, known: tuple[str, ...]) -> str:
    hint = suggestion(str(value), known)
    return hint if "did you mean" in hint else ""


def _texts(value: JSON, path: Path) -> None:
    if not isinstance(value, list):
        raise PolicySetError("needs a list", path=path)
    for index, item in enumerate(value):
        _text(item, (*path, index))


def _match(value: JSON, path: Path) -> None:
    compile_match(value, path)


def _exceptions(value: JSON, path: Path) -> None:
    if not isinstance(value, list):
        raise PolicySetError("needs a list of exceptions, each with text and match", path=path)
    for index, item in enumerate(value):
        _exception(item, (*path, index))


def _exception(data: JSON, path: Path) -> CompiledException:
    if not isinstance(data, Mapping) or not data:
        raise PolicySetError("an exception has text and match", path=path)
    _known_keys(data, ("text", "match"), path)
    if "text" in data:
        _text(data["text"], (*path, "text"))
    alternatives = compile_match(data["match"], (*path, "match"), context_only=True) if "match" in data else ()
    return CompiledException(data.get("text", ""), alternatives, path)


def _tests(value: JSON, path: Path) -> None:
    if not isinstance(value, list):
        raise PolicySetError("needs a list of tests, each with name, call and expect", path=path)
    for index, item in enumerate(value):
        _test(item, (*path, index))


def _test(data: JSON, path: Path) -> None:
    if not isinstance(data, Mapping):
        raise PolicySetError("a test has name, call and expect", path=path)
    _known_keys(data, ("name", "call", "expect"), path)
    for key in ("name", "call", "expect"):
        if key not in data:
            raise PolicySetError(f"the test has no {key}", path=path)
    _text(data["name"], (*path, "name"))
    _one_of(EFFECTS)(data["expect"], (*path, "expect"))
    _test_call(data["call"], (*path, "call"))


def _test_call(data: JSON, path: Path) -> None:
    if not isinstance(data, Mapping) or "tool" not in data:
        raise PolicySetError("a call has tool, and may have args and context", path=path)
    _known_keys(data, ("tool", "args", "context"), path)
    _text(data["tool"], (*path, "tool"))
    for key in ("args", "context"):
        if not isinstance(data.get(key, {}), Mapping):
            raise PolicySetError("needs a mapping of names to values", path=(*path, key))


def _known_keys(data: Mapping[str, JSON], known: tuple[str, ...], path: Path) -> None:
    for key in data:
        if key not in known:
            raise PolicySetError(f"unknown key {key!r}{suggestion(str(key), known)}", path=(*path, key))


def _changelog(value: JSON, path: Path) -> None:
    if not isinstance(value, list):
        raise PolicySetError("needs a list of entries", path=path)


def _deprecated(value: JSON, path: Path) -> None:
    if not isinstance(value, (bool, str)):
        raise PolicySetError("needs true, or the reason why", path=path)


FIELDS: dict[str, Callable[[JSON, Path], None]] = {
    "name": _name,
    "description": _text,
    "rule": _text,
    "enforcement": _one_of(ENFORCEMENTS),
    "rationale": _text,
    "effect": _one_of(EFFECTS),
    "match": _match,
    "exceptions": _exceptions,
    "tests": _tests,
    "tags": _texts,
    "active": _flag,
    "version": _text,
    "changelog": _changelog,
    "deprecated": _deprecated,
    "superseded_by": _name,
}
"""Every field of a policy with the check of its value."""
