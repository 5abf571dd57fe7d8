"""The table of the memory commands."""

from __future__ import annotations

import click

from memkit.cli.lazy import Commands, LazyGroup

MEMORY_COMMANDS: Commands = {
    "add": ("memkit.cli.memory.write:add", "Offer TEXT to long-term memory."),
    "search": ("memkit.cli.memory.read:search", "Search what a user may see."),
    "list": ("memkit.cli.memory.read:list_command", "List records, oldest first."),
    "get": ("memkit.cli.memory.read:get", "Print one record and everything that happened to it."),
    "why": ("memkit.cli.memory.read:why", "Say when a record was recalled, and when it lost."),
    "blame": ("memkit.cli.memory.read:blame", "Say which commit brought a record and what happened to it."),
    "stats": ("memkit.cli.memory.read:stats", "Count what is remembered."),
    "supersede": ("memkit.cli.memory.write:supersede", "Put a new text in the place of a record."),
    "refine": ("memkit.cli.memory.write:refine", "Reword a record by what you say about it."),
    "merge": ("memkit.cli.memory.write:merge", "Put one record in the place of several."),
    "update": ("memkit.cli.memory.write:update", "Change tags, confidence, importance or validity of a record."),
    "confirm": ("memkit.cli.memory.write:confirm", "Say that a record is true."),
    "contradict": ("memkit.cli.memory.write:contradict", "Doubt a record: its confidence falls."),
    "reject": ("memkit.cli.memory.write:reject", "Say that a record is false; its value cannot come back."),
    "allow": ("memkit.cli.memory.write:allow", "Let a rejected or erased value be told again."),
    "approve": ("memkit.cli.memory.write:approve", "Release a record from quarantine."),
    "forget": ("memkit.cli.memory.write:forget", "Retire a record; it may be told again."),
    "restore": ("memkit.cli.memory.upkeep:restore", "Make a forgotten or swept record live again."),
    "revoke": ("memkit.cli.memory.upkeep:revoke", "Take back everything derived from a session or a source."),
    "sweep": ("memkit.cli.memory.upkeep:sweep", "Retire what is expired, too unsure, too old or too unimportant."),
    "consolidate": ("memkit.cli.memory.upkeep:consolidate", "Summarise and deduplicate on a branch to review."),
    "export": ("memkit.cli.memory.carry:export", "Write everything held on a user."),
    "import": ("memkit.cli.memory.carry:import_command", "Offer the memories of a file, or restore an export."),
    "erase": ("memkit.cli.memory.carry:erase", "Remove everything held on a user, and prove it."),
}


@click.group("memory", cls=LazyGroup, table=MEMORY_COMMANDS)
def memory() -> None:
    """Add, search, correct, explain, carry and erase long-term memory."""
