"""What an agent is told while it carries out a skill."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memkit.skills.skill import Skill

FAILED = "FAILED:"
"""How a model begins its answer to a step that it could not do."""
_HOW = f"""\
You get the steps one by one, each as a message. Carry out exactly that step with your tools, and answer with what you \
did and found. Do not go on to the next step by yourself. When a step cannot be done, begin your answer with {FAILED} \
and say why."""


def instructions(skill: Skill, steps: Sequence[str], given: str | None) -> str:
    """Return what stands in the system prompt: the skill, its safety checks and all of its steps."""
    return "\n".join(_lines(skill, steps, given))


def _lines(skill: Skill, steps: Sequence[str], given: str | None) -> Iterator[str]:
    yield f"You are carrying out the skill {skill.name}: {skill.description}"
    yield _HOW
    if given:
        yield f"The request: {given}"
    if skill.safety_checks:
        yield "Safety checks:"
        yield from (f"- {check}" for check in skill.safety_checks)
    yield "Steps:"
    yield from (f"{number}. {step}" for number, step in enumerate(steps, start=1))
