"""The table of the policy commands."""

from __future__ import annotations

import click

from memkit.cli.lazy import Commands, LazyGroup

POLICY_COMMANDS: Commands = {
    "list": ("memkit.cli.policy.files:list_command", "List the store's policies."),
    "show": ("memkit.cli.policy.files:show", "Show one policy."),
    "stats": ("memkit.cli.policy.files:stats", "Say how often each policy matched a call of an agent."),
    "search": ("memkit.cli.policy.files:search", "Search the policies, best first."),
    "new": ("memkit.cli.policy.files:new", "Start a policy from an example that passes its own tests."),
    "check": ("memkit.cli.policy.files:check", "Say what the policies decide about a tool call, and why."),
    "conflicts": ("memkit.cli.policy.proofs:conflicts", "Find what contradicts, covers or never applies."),
    "diff": ("memkit.cli.policy.proofs:diff", "Say which calls are decided differently, weakened policies first."),
    "test": ("memkit.cli.policy.proofs:test", "Run the tests that the policies carry."),
    "commit": ("memkit.cli.policy.files:commit", "Commit a changed policy, if it passes its own tests."),
    "export": ("memkit.cli.policy.files:export", "Write the policies for another tool, and say what that loses."),
    "history": ("memkit.cli.policy.files:history", "Show the commits that changed a policy."),
    "rollback": ("memkit.cli.policy.files:rollback", "Bring a policy back to an earlier version."),
}


@click.group("policy", cls=LazyGroup, table=POLICY_COMMANDS)
def policy() -> None:
    """Write, find, check, test and follow policies: what an agent may do."""
