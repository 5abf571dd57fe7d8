"""A tool with the function that runs it, and how an error in it becomes an answer to the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType

from .interface import JSON, ToolSpec


@dataclass(frozen=True)
class BoundTool:
    """A tool that a toolbox can run."""

    spec: ToolSpec
    run: Callable[[Mapping[str, JSON]], str]
    checked: bool = True
    """Whether the toolbox checks the arguments against the schema; the memory tools check their own."""
    foreign: bool = False
    """Whether the result comes from outside: it is fenced and cut."""
    open_world: bool = True
    """Whether a foreign result may hold text of strangers, and so lowers the trust of the turn."""
    serial: bool = True
    """Whether calls must wait for each other."""
    idempotent: bool = True
    """Whether a call whose outcome nobody knows may simply be made again."""


class AnsweredErrors:
    """Turn an error that somebody can act on into text; with ``everything``, any error of foreign code.

    Rooms cannot import each other's errors, but every error meant for a reader carries an integer ``exit_code``.
    """

    def __init__(self, *, everything: bool = False) -> None:
        self.message: str | None = None
        self._everything = everything

    def __enter__(self) -> AnsweredErrors:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        if not (self._everything or isinstance(getattr(error, "exit_code", None), int)):
            return False
        self.message = str(error) or type(error).__name__
        return True
