"""``memkit config``: every setting and where its value came from."""

from __future__ import annotations

import json

import click

from memkit.cli.output import Front, MemkitGroup


@click.group("config", cls=MemkitGroup)
def config() -> None:
    """Show every setting and where its value came from."""


@config.command("show")
@click.pass_obj
def show(front: Front) -> None:
    """Print every setting, its value, and whether a default, memkit.yaml or a variable set it."""
    settings = list(front.workspace.settings)
    data = [{"key": item.key, "value": item.value, "origin": item.origin} for item in settings]
    width = max(len(item.key) for item in settings)
    lines = [f"{item.key:<{width}}  {json.dumps(item.value, ensure_ascii=False)}  ({item.origin})" for item in settings]
    front.answer({"settings": data}, lines)
