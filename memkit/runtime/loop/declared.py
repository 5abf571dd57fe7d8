"""Run a declared tool: a program that reads JSON from its standard input, or a Python function."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path

from .deadline import TimeIsUp, within
from .errors import LoopError, ToolDeclarationError
from .interface import JSON, DeclaredTool

STEP_VARIABLE = "PLAN_STEP"
"""Names, in the environment of a program, the try of a step: the same once more means a repetition and no new order."""
_STEP: ContextVar[str | None] = ContextVar("step", default=None)
OUTPUT_LIMIT = 64_000
"""Bytes of a program's output that are read; a program that writes more is stopped."""


class ToolFailure(LoopError):
    """Report a declared tool that could not run or failed."""

    exit_code = 1


def run_declared(tool: DeclaredTool, args: Mapping[str, JSON], root: Path, seconds: float | None = None) -> str:
    """Return what ``tool`` answers to ``args``.

    Args:
        tool: What is run.
        args: What it is given.
        root: Where a program runs, and where the module of a function is looked for besides what is installed.
        seconds: When whoever waits has to go on: a program is stopped then, a function is not waited for any longer.
    """
    if isinstance(tool.run, str) or callable(tool.run):
        function = find_function(tool.run, root) if isinstance(tool.run, str) else tool.run
        try:
            return within(seconds, lambda: _called(function, args))
        except TimeIsUp:
            raise ToolFailure(
                f"{tool.name} did not finish within the time of this turn. Whether it was done is not known."
            ) from None
    bounded = tool if seconds is None else replace(tool, timeout=min(tool.timeout, seconds))
    return _run_program(bounded, list(tool.run), args, root)


@contextmanager
def named_step(key: str | None) -> Iterator[None]:
    """Tell every program that runs within the block, in its environment, which try of which step it is.

    None leaves it as it is.
    """
    token = _STEP.set(_STEP.get() if key is None else key)
    try:
        yield
    finally:
        _STEP.reset(token)


def find_function(reference: str, root: Path) -> Callable[..., JSON]:
    """Return the function that ``module:function`` names, of a module that is installed or lies in ``root``."""
    module, _, name = reference.partition(":")
    folder = str(root.resolve())
    if folder not in sys.path:
        sys.path.append(folder)  # last, so that no file of a store stands in for a library
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ToolDeclarationError(f"Cannot find the tool function {reference!r}: {error}.") from error
    if not callable(found):
        raise ToolDeclarationError(f"{reference!r} is not a function.")
    return found  # type: ignore[no-any-return]


def _called(function: Callable[..., JSON], args: Mapping[str, JSON]) -> str:
    answer = function(**args)
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, default=str)


def _run_program(tool: DeclaredTool, command: list[str], args: Mapping[str, JSON], root: Path) -> str:
    if not command:
        raise ToolDeclarationError(f"The tool {tool.name!r} has nothing to run. Give it 'run:'.")
    # A file as standard input: a program that never reads it cannot block us.
    with tempfile.TemporaryFile() as given:
        # One line, so that a program that appends its input to a file keeps one call a line.
        given.write(json.dumps(dict(args), ensure_ascii=False).encode("utf-8", "surrogateescape") + b"\n")
        given.seek(0)
        try:
            root.mkdir(parents=True, exist_ok=True)  # a memory folder in which nothing was kept yet
            program = subprocess.Popen(
                command,
                cwd=root,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=None if (step := _STEP.get()) is None else {**os.environ, STEP_VARIABLE: step},
            )
        except OSError as error:
            raise ToolFailure(f"{command[0]} could not be started: {error.strerror or error}.") from error
    with program:
        output, late = _read_bounded(program, tool.timeout)
    text = output[:OUTPUT_LIMIT].decode("utf-8", "replace").strip()
    if late:
        raise ToolFailure(f"{tool.name} did not finish within {tool.timeout:g} seconds and was stopped.")
    if len(output) > OUTPUT_LIMIT:
        return f"{text}\n(output cut after {OUTPUT_LIMIT} bytes; the program was stopped)"
    if program.returncode:
        raise ToolFailure(f"{tool.name} failed with exit code {program.returncode}: {text or 'no output'}")
    return text or "done"


def _read_bounded(program: subprocess.Popen[bytes], timeout: float) -> tuple[bytes, bool]:
    late = threading.Event()

    def stop() -> None:
        late.set()
        _end_group(program)

    timer = threading.Timer(timeout, stop)
    timer.start()
    try:
        assert program.stdout is not None
        output = program.stdout.read(OUTPUT_LIMIT + 1)
        if len(output) > OUTPUT_LIMIT:
            _end_group(program)
        program.wait()
    finally:
        timer.cancel()
        if program.poll() is None:
            _end_group(program)
    return output, late.is_set()


def _end_group(program: subprocess.Popen[bytes]) -> None:
    """End the program and whatever it started, so that no child keeps the pipe open."""
    try:
        os.killpg(program.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
