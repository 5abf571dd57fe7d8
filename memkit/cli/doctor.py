"""``memkit doctor``: check this machine and the store."""

from __future__ import annotations

import click

from memkit.cli.output import Front, MemkitCommand, diagnostic
from memkit.use_cases.examine import examine


@click.command("doctor", cls=MemkitCommand)
@click.pass_obj
def doctor(front: Front) -> None:
    """Check Python, git and the token counter, and the store if there is one."""
    checks = examine(front.store)
    data = {"checks": [{"name": check.name, "ok": check.ok, "detail": check.detail} for check in checks]}
    lines = [f"{'ok ' if check.ok else 'NO '} {check.name:<16} {check.detail}" for check in checks]
    findings = [diagnostic("doctor", f"{check.name}: {check.detail}") for check in checks if not check.ok]
    front.answer(data, lines, ok=not findings, diagnostics=findings)
