"""A task's grants to its programs, their limits, and the kernel's means of confinement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memkit.errors import EnvironmentFault, UsageError

from .bare.client import Failure

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MEGABYTE = 1 << 20


class SandboxUnavailable(EnvironmentFault):
    """Report that the kernel lacks the means to confine a program, or that the sandbox has ended."""

    code = "sandbox"


@dataclass(frozen=True)
class SandboxLimits:
    """The limits of one program."""

    wall: float = 10.0
    """Time limit in seconds for loading the program, and for each call."""
    cpu: int = 10
    """Whole seconds of processor time over the life of the program's process."""
    memory: int = 512 * MEGABYTE
    """Bytes beyond those used by the interpreter and granted modules."""
    output: int = 16 * MEGABYTE
    """The most bytes of one answer, or of the arguments of one call."""
    files: int = 32
    """The most open files at a time."""
    programs: int = 32
    """The most programs alive at a time; further ones wait."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1 << 50:
                raise UsageError(f"The limit {name} is {value!r:.40}; it must be a number above 0.")
        for name in ("cpu", "memory", "output", "files", "programs"):
            if not isinstance(getattr(self, name), int):
                raise UsageError(f"The limit {name} is {getattr(self, name)!r:.40}; it must be a whole number.")


@dataclass(frozen=True)
class Scratch:
    """A folder of limited size that a program may write in: its current folder, empty at first, removed at its end."""

    name: str
    size: int = 16 * MEGABYTE
    """The most bytes of all its files together."""
    files: int = 256

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"A scratch folder cannot be named {self.name!r:.80}: lower-case letters, digits, - and _ only."
            )
        if self.size <= 0 or self.files <= 0:
            raise UsageError("A scratch folder needs room: size and files must be above 0.")


@dataclass(frozen=True)
class Grants:
    """What programs may use beyond the interpreter and its standard library."""

    modules: tuple[str, ...] = ()
    """Installed modules that programs may import, such as ``numpy``; they are imported before the first program."""
    read: tuple[Path, ...] = ()
    """Files and folders that programs may read, at the same path."""
    scratch: Scratch | None = None

    def __post_init__(self) -> None:
        for name in self.modules:
            if not _MODULE.fullmatch(name):
                raise UsageError(f"{name!r:.80} is not the name of a module to grant.")


@dataclass(frozen=True)
class Layer:
    """One means of confinement in the kernel."""

    name: str
    holds: bool
    detail: str
    needed: bool
    """Whether memkit refuses to run a program without it."""

    def __str__(self) -> str:
        return f"container of {self.detail}" if self.name == "container" else self.name


@dataclass(frozen=True)
class Report:
    """The means of confinement on this machine."""

    layers: tuple[Layer, ...]

    @property
    def ok(self) -> bool:
        """Return whether programs can be confined here."""
        return not self.missing

    @property
    def missing(self) -> tuple[str, ...]:
        """Return what is required and missing, each with the reason."""
        return tuple(f"{layer.name}: {layer.detail}" for layer in self.layers if layer.needed and not layer.holds)

    def __str__(self) -> str:
        held = ", ".join(str(layer) for layer in self.layers if layer.holds)
        return "; ".join(
            [*filter(None, [held]), *(f"no {layer.name}: {layer.detail}" for layer in self.layers if not layer.holds)]
        )


@dataclass(frozen=True)
class Evaluation:
    """An evaluator's result for one program."""

    metrics: Mapping[str, Any] | None
    """Its return value, as plain data; None if it returned nothing usable, and then ``failure`` says why."""
    artifacts: Mapping[str, Any] = field(default_factory=dict)
    failure: Failure | None = None
    events: tuple[Failure, ...] = ()
    """Errors between evaluator and program, whether or not the evaluator handled them."""
    printed: str = ""
    """Output of the evaluator, and of the program through it; cut in the middle."""
    seconds: float = 0.0
    constant: tuple[str, ...] = ()
    """Functions of the program that were asked many different things and always answered the same."""
    varied: tuple[str, ...] = ()
    """Functions that gave more than one answer. Neither is known about a program that ran unconfined."""
