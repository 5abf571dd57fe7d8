"""Run the transcript on the reference agent and on targets, and compare."""

from __future__ import annotations

import importlib.metadata
import re
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from memkit.equivalence.comparison import differences
from memkit.equivalence.interface import Account, Part
from memkit.equivalence.material import write_store
from memkit.equivalence.playing import play
from memkit.equivalence.project import ProjectSide
from memkit.equivalence.reference import ReferenceSide
from memkit.equivalence.transcript import PARTS
from memkit.errors import UsageError
from memkit.generate.composition import Order
from memkit.generate.manifest import Runtime
from memkit.generate.reading import content_of
from memkit.generate.rendering import render
from memkit.generate.runtime_wheel import installed_runtime
from memkit.generate.targets import Target

WIRE = "wire"
"""The question with which a target lets its owner choose between protocols."""
STALE_LIMIT = "target.yaml names a limit, and the run shows no difference there. Take it out."
AT_ONCE = 2
"""Projects that run side by side; each is a process of its own."""
_RENDERING = threading.Lock()
"""What renders changes the environment of this process for a moment."""


@dataclass(frozen=True)
class Column:
    """One kind of project to compare: a target, over one of its wires."""

    target: Target
    wire: str = ""
    """The answer to the question for the wire, empty where a target has one wire only."""

    @property
    def title(self) -> str:
        """Return what the matrix calls it."""
        return f"{self.target.name} {self.wire}".strip()

    @property
    def answers(self) -> dict[str, str]:
        """Return what its project is rendered with."""
        return {WIRE: self.wire} if self.wire else {}

    @property
    def limits(self) -> dict[str, str]:
        """Return why it cannot be what the reference agent is, by the name of the part that shows it."""
        return {limit.part: limit.why for limit in self.target.limits if limit.wire in ("", self.wire)}

    @property
    def missing(self) -> list[str]:
        """Return the distributions that its project needs and this environment does not have."""
        names = [re.split(r"[^\w.-]", requirement, maxsplit=1)[0] for requirement in self.target.requires]
        return [name for name in names if not _is_installed(name)]


@dataclass(frozen=True)
class ColumnResult:
    """How far one kind of project is what the reference agent is."""

    column: Column
    differences: Mapping[str, Sequence[str]]
    """Name of each part → in what it differs, in words."""

    @property
    def faults(self) -> list[str]:
        """Return, in words, what differs without a reason, and each reason for a difference that there is not."""
        limits = self.column.limits
        found = [f"{part}: {words}" for part, told in self.differences.items() if part not in limits for words in told]
        stale = [part for part in limits if not self.differences.get(part)]
        return found + [f"{part}: {STALE_LIMIT}" for part in stale]


def columns_of(target: Target) -> list[Column]:
    """Return one column for each wire that can be chosen; raises ``UsageError`` for a limit of any other wire."""
    choices = target.questions.get(WIRE, {}).get("choices", ())
    if strange := {limit.wire for limit in target.limits} - {"", *choices}:
        named = ", ".join(sorted(strange))
        raise UsageError(f"target.yaml of {target.name} names a limit of a wire that cannot be chosen: {named}.")
    return [Column(target, wire) for wire in choices] or [Column(target)]


def run(columns: Sequence[Column], parts: Sequence[Part] = PARTS) -> list[ColumnResult]:
    """Play ``parts`` on the reference agent and on every column, and return in what they differ."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        expected = pool.submit(reference_accounts, parts)
        played = list(pool.map(lambda column: accounts_of(column, parts), columns))
        reference = expected.result()
    return [compared(column, reference, accounts) for column, accounts in zip(columns, played, strict=True)]


def reference_accounts(parts: Sequence[Part] = PARTS) -> dict[str, Account]:
    """Return what each part shows on the reference agent, by the part's name."""
    with _scratch() as folder:
        store = write_store(folder)
        return play(ReferenceSide(store), store, parts)


def accounts_of(column: Column, parts: Sequence[Part] = PARTS) -> dict[str, Account]:
    """Return what each part shows on the project of ``column``, rendered for this from the same store."""
    with _scratch() as folder:
        store, project = write_store(folder / "store"), folder / "project"
        wheel = installed_runtime()
        with _RENDERING:
            render(Order(column.target, content_of(store), column.answers, Runtime.of(wheel), wheel), project)
        with ProjectSide(project, store) as side:
            return play(side, store, parts)


def compared(column: Column, reference: Mapping[str, Account], accounts: Mapping[str, Account]) -> ColumnResult:
    """Return in what ``accounts`` differ from those of the reference agent."""
    return ColumnResult(column, {part: differences(reference[part], account) for part, account in accounts.items()})


@contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="memkit-equivalence-") as folder:
        yield Path(folder).resolve()


def _is_installed(distribution: str) -> bool:
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
