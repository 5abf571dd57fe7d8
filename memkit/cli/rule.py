"""``memkit rule``: say what a lint rule checks."""

from __future__ import annotations

import click

from memkit.cli.output import Front, MemkitCommand
from memkit.lint.rules import RULES
from memkit.use_cases.explain_rule import explain_rule


@click.command("rule", cls=MemkitCommand)
@click.argument("code", required=False)
@click.pass_obj
def rule(front: Front, code: str | None) -> None:
    """Say what the lint rule CODE finds, why, and show a bad and a good example; without CODE list all rules."""
    if code is None:
        rules = [{"code": each.code, "name": each.name, "what": each.what} for each in RULES.values()]
        front.answer({"rules": rules}, [f"{each.code}  {each.name:28} {each.what}" for each in RULES.values()])
    else:
        found, page = explain_rule(code)
        front.answer(found.told(), page.rstrip("\n"))
