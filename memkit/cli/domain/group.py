"""The table of the domain commands."""

from __future__ import annotations

import click

from memkit.cli.lazy import Commands, LazyGroup

DOMAIN_COMMANDS: Commands = {
    "new": ("memkit.cli.domain.files:new", "Start a domain from an example, with a problem that tests it."),
    "list": ("memkit.cli.domain.files:list_command", "List the store's planning domains."),
    "show": ("memkit.cli.domain.files:show", "Show a domain's tasks, methods and steps."),
    "check": ("memkit.cli.domain.files:check", "Check domains, their problems and what was learned, by lint's rules."),
    "test": ("memkit.cli.domain.proofs:test", "Solve the problems recorded for domains, and say what none uses."),
    "graph": ("memkit.cli.domain.files:graph", "Draw a domain's tasks, methods and steps."),
    "commit": ("memkit.cli.domain.files:commit", "Commit a changed domain, if its recorded problems pass."),
    "history": ("memkit.cli.domain.files:history", "Show the commits that changed a domain."),
    "rollback": ("memkit.cli.domain.files:rollback", "Bring a domain back to what it was in a commit."),
    "convert": ("memkit.cli.domain.files:convert", "Write a domain or a problem in HDDL, or in YAML."),
    "learned": ("memkit.cli.domain.proofs:learned", "List methods that a model proposed and nobody promoted yet."),
    "promote": ("memkit.cli.domain.proofs:promote", "Take a learned method over into the domain, after a check."),
    "reject": ("memkit.cli.domain.proofs:reject", "Throw a learned method away, for good."),
}


@click.group("domain", cls=LazyGroup, table=DOMAIN_COMMANDS)
def domain() -> None:
    """Write, check, test, draw and follow planning domains, and review what was learned for them."""
