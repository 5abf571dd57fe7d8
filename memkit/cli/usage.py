"""What a person is told about a command line that click could not read."""

from __future__ import annotations

import re

import click

NUMBERS = {"integer": "whole number", "float": "number"}
"""Click's names of types, and what everybody calls them."""


def usage_line(error: click.UsageError) -> str:
    """Return what is wrong with the command line and what to do, as one line of sentences."""
    said = re.sub(
        r"a valid (integer|float)(?: range)?\b", lambda found: f"a {NUMBERS[found[1]]}", error.format_message()
    )
    if isinstance(error, click.MissingParameter) and isinstance(error.param, click.Option) and error.param.help:
        said = f"{said.removesuffix('.')}: {error.param.help}"
    said += "" if said.endswith((".", "?", ")")) and "extra argument" not in said else "."
    if "unexpected extra argument" in said and error.ctx is not None:
        takes_words = any(isinstance(param, click.Argument) for param in error.ctx.command.params)
        said += " Put several words in quotes." if takes_words else " Everything here is an option."
    return said + (f" Try '{error.ctx.command_path} --help'." if error.ctx is not None else "")
