"""The table of the domain commands."""

from __future__ import annotations

import click

from memkit.cli.lazy import Commands, LazyGroup

DOMAIN_COMMANDS: Commands = {
    "new": ("memkit.cli.domain.new:new", "Start a domain from an example, with a problem that tests it."),
    "list": ("memkit.cli.domain.read:list_command", "List the store's planning domains."),
    "show": ("memkit.cli.domain.read:show", "Show a domain's tasks, methods and steps."),
    "check": ("memkit.cli.domain.check:check", "Check domains, their problems and what was learned, by lint's rules."),
    "test": ("memkit.cli.domain.proof:test", "Solve the problems recorded for domains, and say what none uses."),
    "graph": ("memkit.cli.domain.graph:graph", "Draw a domain's tasks, methods and steps."),
    "commit": ("memkit.cli.domain.history:commit", "Commit a changed domain, if its recorded problems pass."),
    "history": ("memkit.cli.domain.history:history", "Show the commits that changed a domain."),
    "rollback": ("memkit.cli.domain.history:rollback", "Bring a domain back to what it was in a commit."),
    "convert": ("memkit.cli.domain.convert:convert", "Write a domain or a problem in HDDL, or in YAML."),
    "learned": ("memkit.cli.domain.learned:learned", "List methods that a model proposed and nobody promoted yet."),
    "promote": ("memkit.cli.domain.promote:promote", "Take a learned method over into the domain, after a check."),
    "reject": ("memkit.cli.domain.reject:reject", "Throw a learned method away, for good."),
}


@click.group("domain", cls=LazyGroup, table=DOMAIN_COMMANDS)
def domain() -> None:
    """Write, check, test, draw and follow planning domains, and review what was learned for them."""
