"""What a run of a skill is asked for: the steps, with the values that a person gives filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from memkit.errors import UsageError
from memkit.skills.skill import Skill
from memkit.store.schema import suggestion

INPUT = "input"
"""The placeholder that stands for the whole request."""
_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")


@dataclass(frozen=True)
class Request:
    """What a person wants from a run."""

    input: str | None = None
    """What stands for ``{input}`` in the steps."""
    values: Mapping[str, str] = field(default_factory=dict)
    """What stands for the other placeholders."""
    from_step: int | None = None
    """The step to begin with; the ones before it are taken as done."""
    resume: bool = False
    """Whether to go on with the last run that did not succeed."""
    dry_run: bool = False
    """Whether to judge everything and to run and keep nothing."""


def placeholders(skill: Skill) -> list[str]:
    """Return what the steps leave open, each once, in the order in which they need it.

    >>> placeholders(Skill("tea", "d", ("Boil {amount} of water", "Pour it for {guest} and {guest}")))
    ['amount', 'guest']
    """
    return list(dict.fromkeys(name for step in skill.steps for name in _PLACEHOLDER.findall(step)))


def filled_steps(skill: Skill, given: str | None, values: Mapping[str, str]) -> list[str]:
    """Return the steps with ``{input}`` and every ``{name}`` replaced.

    Raises:
        UsageError: A value is missing, or one is given that no step asks for.
    """
    known = placeholders(skill)
    for name in values:
        if name not in known:
            asked = f"they ask for {', '.join(known)}" if known else "they ask for none"
            raise UsageError(f"No step of {skill.name} asks for {name!r}; {asked}.{suggestion(name, known)}")
    filled = {**values} if given is None else {INPUT: given, **values}
    for number, step in enumerate(skill.steps, start=1):
        for name in _PLACEHOLDER.findall(step):
            if name not in filled:
                option = "--input TEXT" if name == INPUT else f"--arg {name}=VALUE"
                raise UsageError(f"Step {number} of {skill.name} asks for {{{name}}}. Give {option}.")
    # In one pass: a value that looks like a placeholder stays as it was given.
    return [_PLACEHOLDER.sub(lambda found: _as_one(filled[found[1]], found), step) for step in skill.steps]


def _as_one(value: str, place: re.Match[str]) -> str:
    r"""Return a value so that it stays one: it does not leave the quotes it stands in, and gets some after ``name=``.

    >>> step = 'Call outbox with message="For {guest}" to={guest}'
    >>> print(_PLACEHOLDER.sub(lambda found: _as_one('Ann "A" Lee', found), step))
    Call outbox with message="For Ann \"A\" Lee" to="Ann \"A\" Lee"
    """
    before = place.string[: place.start()]
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    if before.count('"') % 2:
        return escaped
    is_word = re.fullmatch(r"[^\s\"']*[^\s\"'.,]", value)
    return f'"{escaped}"' if before.endswith("=") and not is_word else value
