"""``memkit config``: every setting, where its value came from, and how to change it."""

from __future__ import annotations

import json

import click

from memkit.cli.output import Front, MemkitGroup, diagnostic
from memkit.use_cases.change_setting import change_setting


@click.group("config", cls=MemkitGroup)
def config() -> None:
    """Show every setting and where its value came from, or change one."""


@config.command("show")
@click.pass_obj
def show(front: Front) -> None:
    """Print every setting, its value, and whether a default, memkit.yaml or a variable set it."""
    settings = list(front.workspace.settings)
    data = [{"key": item.key, "value": item.value, "origin": item.origin} for item in settings]
    width = max(len(item.key) for item in settings)
    lines = [f"{item.key:<{width}}  {json.dumps(item.value, ensure_ascii=False)}  ({item.origin})" for item in settings]
    front.answer({"settings": data}, lines)


@config.command("set")
@click.argument("key")
@click.argument("value")
@click.pass_obj
def set_command(front: Front, key: str, value: str) -> None:
    """Set KEY, such as context.max_tokens, to VALUE in memkit.yaml; comments and order stay, and it is one commit."""
    change = change_setting(front.workspace, key, value)
    data = {"key": key, "before": change.before, "after": change.after, "commit": change.commit}
    shown = [json.dumps(item, ensure_ascii=False) for item in (change.before, change.after)]
    notes = [diagnostic("missing", change.missing, severity="warning")] if change.missing else []
    front.answer(data, [f"{key}: {shown[0]} → {shown[1]}", *filter(None, [change.missing])], diagnostics=notes)
