"""The table of the domain commands."""

from __future__ import annotations

import click

from memkit.cli.lazy import Commands, LazyGroup

DOMAIN_COMMANDS: Commands = {
    "convert": ("memkit.cli.domain.convert:convert", "Write a domain or a problem in HDDL, or in YAML."),
    "learned": ("memkit.cli.domain.learned:learned", "List methods that a model proposed and nobody promoted yet."),
    "promote": ("memkit.cli.domain.promote:promote", "Take a learned method over into the domain, after a check."),
    "reject": ("memkit.cli.domain.reject:reject", "Throw a learned method away, for good."),
}


@click.group("domain", cls=LazyGroup, table=DOMAIN_COMMANDS)
def domain() -> None:
    """Review planning domains and what was learned for them."""
