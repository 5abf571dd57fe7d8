"""Write the sheet of a skill that ``memkit gen`` renders: all that an agent needs to produce the project."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memkit.skills.sheet import section, skill_body
from memkit.skills.skill import GeneratedSkill, Skill
from memkit.terminal import one_line


@dataclass(frozen=True)
class SheetTarget:
    """What a sheet says about one target."""

    name: str
    about: str
    variables: tuple[str, ...]
    """What the generated project reads from the environment."""


def wiring_sheet(skill: Skill, targets: Sequence[SheetTarget]) -> str:
    """Return the Markdown sheet: what the skill does, what it wires, and the exact command for each of ``targets``.

    The skill must say what it ``generates``.
    """
    if skill.generates is None:
        raise ValueError(f"The skill {skill.name} generates nothing.")
    source = f"<!-- Rendered from skills/{skill.name}.yaml by 'make outputs'. Change that file, not this one. -->"
    lines = [source, "", *skill_body(skill), *_generate(skill.generates, targets), *_history(skill)]
    return "\n".join(lines).rstrip() + "\n"


def _generate(generates: GeneratedSkill, targets: Sequence[SheetTarget]) -> Iterator[str]:
    yield from section("What it wires", generates.wires)
    yield from ("## Generate", "")
    yield from ("Python 3.11 or newer and git. The distribution is called `memkit-agent`, the command `memkit`:", "")
    yield from _shell(["python3 -m venv .venv && . .venv/bin/activate", "pip install memkit-agent"])
    yield from ("In a store (`memkit init my-agent && cd my-agent` makes one), run the line of your target:", "")
    yield from ("| target | command |", "|---|---|")
    for target in targets:
        command = f"memkit gen {generates.skill} --target {target.name} --out outputs/{target.name}"
        yield f"| {target.name} | `{command}` |"
    yield ""
    yield from (f"- {target.name}: {one_line(target.about)}" for target in targets)
    yield from (
        "",
        "Leave the skill's name out to get both skills in one project. `memkit targets` lists what each needs.",
    )
    yield from ("", "## Run it", "", "In the generated folder, in an environment of its own:", "")
    yield from _shell(["pip install -r requirements.txt", "pytest", *([generates.trial] if generates.trial else [])])
    yield from ("The tests need no key and no network. The last command talks to a model and reads:", "")
    yield from (f"- {target.name}: {', '.join(f'`{name}`' for name in target.variables)}" for target in targets)
    yield from ("", "The project's `.env.example` says what they mean, and its `README.md` where everything is.", "")


def _history(skill: Skill) -> Iterator[str]:
    changes = [f"{change.version}: {' '.join(change.changes)}" for change in skill.changelog]
    yield from section("Versions", changes)


def _shell(lines: Sequence[str]) -> Iterator[str]:
    yield from ("```sh", *lines, "```", "")
