"""``memkit fsck``: check every line of the archive."""

from __future__ import annotations

import click

from memkit.cli.output import Front, MemkitCommand, diagnostic


@click.command("fsck", cls=MemkitCommand)
@click.pass_obj
def fsck(front: Front) -> None:
    """Check every line of every shard and name what is wrong by file and line."""
    archive = front.workspace.archive
    problems = archive.check()
    records = len(archive.records(user_id=None))
    data = {
        "records": records,
        "problems": [
            {
                "code": problem.code,
                "path": problem.path,
                "line": problem.line,
                "message": problem.message,
                "fixed": False,
            }
            for problem in problems
        ],
    }
    lines = [f"{problem.path}:{problem.line}: {problem.code}: {problem.message}" for problem in problems]
    lines.append(f"{records} records, {len(problems)} problems.")
    findings = [diagnostic(problem.code, problem.message, path=problem.path, line=problem.line) for problem in problems]
    front.answer(data, lines, ok=not problems, diagnostics=findings)
