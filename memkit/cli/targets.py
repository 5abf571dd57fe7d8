"""``memkit targets``: list what gen renders for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from memkit import __version__
from memkit.cli.output import Front, MemkitCommand, diagnostic

if TYPE_CHECKING:
    from memkit.generate.targets import Target

OWN = "memkit-agent"


@click.command("targets", cls=MemkitCommand)
@click.pass_obj
def targets(front: Front) -> None:
    """List what gen renders for, where each target comes from and what it needs. No store is needed."""
    from memkit.use_cases.list_targets import list_targets

    found = list_targets()
    for problem in found.problems if not front.json else ():
        front.note(f"memkit: {problem.message}")
    diagnostics = [diagnostic("plugin", problem.message, severity="warning") for problem in found.problems]
    lines = [line for target in found.targets for line in _lines(target)]
    front.answer({"targets": [_data(target) for target in found.targets]}, lines, diagnostics=diagnostics)


def _data(target: Target) -> dict[str, Any]:
    return {
        "name": target.name,
        "title": target.title,
        "description": target.description,
        "from": dict(zip(("distribution", "version"), _origin(target), strict=True)),
        "requires": list(target.requires),
        "environment": [{"name": each.name, "about": each.about} for each in target.environment],
        "wires": list(target.wires),
        "skills": list(target.skills),
        "data": {key: question.get("help", "") for key, question in target.questions.items()},
    }


def _lines(target: Target) -> list[str]:
    return [
        f"{target.name}: {target.title}",
        f"  {target.description}",
        f"  from:        {' '.join(_origin(target))}",
        f"  packages:    {', '.join(target.requires) or 'none'}",
        f"  environment: {', '.join(variable.name for variable in target.environment)}",
        f"  wires:       {', '.join(target.wires)}",
        f"  skills:      {', '.join(target.skills)}",
        f"  data:        {', '.join(target.questions)}",
    ]


def _origin(target: Target) -> tuple[str, str]:
    """Return name and version of the distribution that a target came with."""
    return (OWN, __version__) if target.origin is None else (target.origin.distribution, target.origin.version)
