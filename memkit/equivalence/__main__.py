"""Play the transcript on targets: ``python -m memkit.equivalence [TARGET…]``, where their packages are installed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from memkit.equivalence.matrix import write_matrix
from memkit.equivalence.run import Column, ColumnResult, columns_of, run
from memkit.equivalence.transcript import PARTS
from memkit.errors import MemkitError, MissingExtra, UsageError
from memkit.generate.plugins import find_target
from memkit.generate.targets import load_targets

SCHEMA = "memkit.equivalence/1"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code: 1 where a target is not equal and gives no reason."""
    options = _parser().parse_args(arguments)
    try:
        results = run(_columns(options.targets))
        if options.write is not None:
            if options.targets:
                raise UsageError("The matrix has all of memkit's targets: name none with --write.")
            write_matrix(options.write, results)
    except MemkitError as error:
        click.echo(f"memkit.equivalence: {error}", err=True)
        return error.exit_code
    _tell(results, as_json=options.json)
    return 1 if any(result.faults for result in results) else 0


def _parser() -> argparse.ArgumentParser:
    reader = argparse.ArgumentParser(prog="python -m memkit.equivalence", description=__doc__)
    reader.add_argument(
        "targets", nargs="*", metavar="TARGET", help="targets to compare (default: all of memkit's own)"
    )
    reader.add_argument("--json", action="store_true", help="print one JSON envelope")
    reader.add_argument("--write", type=Path, metavar="PAGE", help="put the matrix into PAGE, between its marks")
    return reader


def _columns(names: Sequence[str]) -> list[Column]:
    targets = [find_target(name) for name in names] if names else list(load_targets().values())
    columns = [column for target in targets for column in columns_of(target)]
    for column in columns:
        if column.missing:
            raise MissingExtra(f"The target {column.title} needs {', '.join(column.missing)}, not installed here.")
    return columns


def _tell(results: Sequence[ColumnResult], *, as_json: bool) -> None:
    ok = not any(result.faults for result in results)
    if as_json:
        data = {"columns": [_data(result) for result in results]}
        click.echo(json.dumps({"schema": SCHEMA, "ok": ok, "data": data, "diagnostics": []}, ensure_ascii=False))
        return
    for result in results:
        equal = sum(not told for told in result.differences.values())
        click.echo(f"{result.column.title}: {equal} of {len(result.differences)} parts equal")
        for part, why in result.column.limits.items():
            click.echo(f"  {part}: {why}")
        for fault in result.faults:
            click.echo(f"  {fault}")


def _data(result: ColumnResult) -> dict[str, Any]:
    column = result.column
    parts = [
        {
            "name": part.name,
            "capability": part.capability,
            "equal": not result.differences[part.name],
            "differences": list(result.differences[part.name]),
            "limit": column.limits.get(part.name),
        }
        for part in PARTS
    ]
    return {"target": column.target.name, "wire": column.wire, "parts": parts, "faults": result.faults}


if __name__ == "__main__":
    sys.exit(main())
