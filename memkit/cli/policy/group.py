"""The table of the policy commands."""

from __future__ import annotations

import click

from memkit.cli.lazy import Commands, LazyGroup

POLICY_COMMANDS: Commands = {
    "list": ("memkit.cli.policy.read:list_command", "List the store's policies."),
    "show": ("memkit.cli.policy.read:show", "Show one policy."),
    "new": ("memkit.cli.policy.new:new", "Start a policy from an example that passes its own tests."),
    "check": ("memkit.cli.policy.check:check", "Say what the policies decide about a tool call, and why."),
    "test": ("memkit.cli.policy.proof:test", "Run the tests that the policies carry."),
}


@click.group("policy", cls=LazyGroup, table=POLICY_COMMANDS)
def policy() -> None:
    """List, check and test policies: what an agent may do."""
