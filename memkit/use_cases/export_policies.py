"""Write the policies of a store in the language of another tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from memkit.errors import EnvironmentFault, NotFound, UsageError
from memkit.policies.export import Export, PolicyData
from memkit.policies.export.cedar import to_cedar
from memkit.policies.export.claude_code import to_claude_code
from memkit.policies.files import FOLDER, load_policies
from memkit.store.files import write_whole

Losses = Literal["report", "refuse", "tighten"]
LOSSES: tuple[Losses, ...] = ("report", "refuse", "tighten")


class Exporter(Protocol):
    """Writes policies in another language."""

    def __call__(self, policies: Sequence[PolicyData], *, tighten: bool = False) -> Export:
        """Return the text, and what became of each policy."""
        ...


FORMATS: Mapping[str, Exporter] = {"claude-code": to_claude_code, "cedar": to_cedar}


@dataclass(frozen=True)
class ExportedPolicies:
    """What came of an export."""

    export: Export
    path: Path | None
    """Where it was written; None where it was not."""
    refused: bool
    """Whether nothing was written, because it would stop less than memkit does."""


def export_policies(
    root: Path, form: str, *, out: Path | None = None, losses: Losses = "report", force: bool = False
) -> ExportedPolicies:
    """Return the policies of the store at ``root`` in the format ``form``, and write them where ``out`` is given.

    Args:
        root: The store.
        form: A key of ``FORMATS``.
        out: The file.
        losses: What to do where the export would let through what memkit stops: only say so, refuse it, or forbid
            more than memkit does.
        force: Whether to replace a file that holds another text.

    Raises:
        UsageError: A policy is broken, or another text stands in the file.
        NotFound: The store has no policies.
        EnvironmentFault: The file cannot be read or written.
    """
    policies = [policy.data for policy in load_policies(root / FOLDER)]
    if not policies:
        raise NotFound(f"There is nothing to export: {root / FOLDER} holds no *.yaml.")
    export = FORMATS[form](policies, tighten=losses == "tighten")
    if losses == "refuse" and export.weaker:
        return ExportedPolicies(export, None, True)
    if out is not None:
        _write(out, export.content.encode(), force)
    return ExportedPolicies(export, out, False)


def _write(out: Path, content: bytes, force: bool) -> None:
    try:
        other = out.exists() and (not out.is_file() or out.read_bytes() != content)
    except OSError as error:
        raise EnvironmentFault(f"{out} cannot be read: {error.strerror or error}.") from error
    if other and (not force or not out.is_file()):
        raise UsageError(f"{out} holds something else. Add --force to replace a file.")
    write_whole(out, content)
