"""``memkit targets``: list what gen renders for."""

from __future__ import annotations

from typing import Any

import click

from memkit.cli.output import Front, MemkitCommand


@click.command("targets", cls=MemkitCommand)
@click.pass_obj
def targets(front: Front) -> None:
    """List the SDKs that gen renders for, and what each needs. No store is needed."""
    from memkit.use_cases.list_targets import list_targets

    found = list_targets()
    data: list[dict[str, Any]] = []
    lines: list[str] = []
    for target in found:
        variables = [variable.name for variable in target.environment]
        data.append(
            {
                "name": target.name,
                "title": target.title,
                "description": target.description,
                "requires": list(target.requires),
                "environment": [{"name": each.name, "about": each.about} for each in target.environment],
                "wires": list(target.wires),
                "skills": list(target.skills),
                "data": {key: question.get("help", "") for key, question in target.questions.items()},
            }
        )
        lines += [
            f"{target.name}: {target.title}",
            f"  {target.description}",
            f"  packages:    {', '.join(target.requires)}",
            f"  environment: {', '.join(variables)}",
            f"  wires:       {', '.join(target.wires)}",
            f"  skills:      {', '.join(target.skills)}",
            f"  data:        {', '.join(target.questions)}",
        ]
    front.answer({"targets": data}, lines)
