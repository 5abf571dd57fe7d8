"""``memkit config``: every setting, where its value came from, and how to change it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict

import click

from memkit.cli.output import Front, MemkitGroup, diagnostic, suggestion
from memkit.cli.persons import agent_at_work
from memkit.errors import UsageError
from memkit.store.config import Setting
from memkit.store.setting_meanings import meaning_of
from memkit.store.trust import Trust
from memkit.use_cases.change_setting import change_setting

LISTED = " 'memkit config show' lists them."


@click.group("config", cls=MemkitGroup)
def config() -> None:
    """Show every setting and where its value came from, or change one."""


@config.command("show")
@click.argument("key", required=False)
@click.pass_obj
def show(front: Front, key: str | None) -> None:
    """Print every setting, its value and what set it: a default, memkit.yaml or a variable.

    With KEY what it means, or the settings of a section.
    """
    settings = list(front.workspace.settings)
    section = [item for item in settings if key and item.key.startswith(f"{key}.")]
    if section:
        settings = section
    elif key is not None:
        _explain(front, key, {item.key: item for item in settings})
    data = [{"key": item.key, "value": item.value, "origin": item.origin} for item in settings]
    width = max(len(item.key) for item in settings)
    lines = [f"{item.key:<{width}}  {json.dumps(item.value, ensure_ascii=False)}  ({item.origin})" for item in settings]
    lines.append("What one means, and which values it takes: memkit config show KEY")
    front.answer({"settings": data}, lines)


def _explain(front: Front, key: str, settings: Mapping[str, Setting]) -> None:
    known = meaning_of(key)
    if known is None or key not in settings:
        raise UsageError(f"There is no setting {key!r:.60}.{suggestion(key, settings) or LISTED}")
    item = settings[key]
    data = {"key": key, "value": item.value, "origin": item.origin, **asdict(known)}
    value, default = (json.dumps(one, ensure_ascii=False) for one in (item.value, known.default))
    lines = [f"{key}  {value}  ({item.origin})", known.meaning, f"Values: {known.takes}. Default: {default}."]
    front.answer(data, lines)


@config.command("set")
@click.argument("key")
@click.argument("value")
@click.pass_obj
def set_command(front: Front, key: str, value: str) -> None:
    """Set KEY, such as context.max_tokens, to VALUE in memkit.yaml; comments and order stay, and it is one commit."""
    by_person = agent_at_work() is None
    with Trust(front.workspace.root).in_step(front.note) if by_person else nullcontext():
        change = change_setting(front.workspace, key, value)
    data = {"key": key, "before": change.before, "after": change.after, "commit": change.commit}
    shown = [json.dumps(item, ensure_ascii=False) for item in (change.before, change.after)]
    notes = [diagnostic("missing", change.missing, severity="warning")] if change.missing else []
    front.answer(data, [f"{key}: {shown[0]} → {shown[1]}", *filter(None, [change.missing])], diagnostics=notes)
