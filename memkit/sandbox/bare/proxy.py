"""Detects whether a program's functions always give the same answer; the evaluator's side sees every call."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from .client import Address, Failure, SandboxedProgram, failure
from .codec import NotPlain, encode

ENOUGH = 8
"""Number of different questions after which a constant answer is worth noting."""
_MOST = 1000
"""The most different questions that are distinguished; a function still constant by then is no longer watched."""
CONSTANT, VARIED = "constant", "varied"


class CallAnswers:
    """Watches each function until it gives a second answer, and records its findings, one per line."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._questions: dict[str, set[bytes] | None] = {}
        """None for a function that is no longer watched."""
        self._first: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def note(self, function: str, asked: tuple[tuple[Any, ...], dict[str, Any]], answer: Any) -> None:
        """Record one call."""
        questions = self._questions.setdefault(function, set())
        if questions is None:
            return
        try:
            question, given = _digest(list(asked)), _digest(answer)
        except NotPlain:  # a value that was forwarded in another form
            return
        with self._lock:
            if self._first.setdefault(function, given) != given:
                self._write(VARIED, function)
                self._questions[function] = None
                return
            before = len(questions)
            questions.add(question)
            if before < len(questions) == ENOUGH:
                self._write(CONSTANT, function)
            elif len(questions) >= _MOST:
                self._questions[function] = None

    def _write(self, what: str, function: str) -> None:
        descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, f"{what} {function}\n".encode())
        finally:
            os.close(descriptor)


def read_answers(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the functions that have answered everything alike, and of those that have not."""
    noted = {tuple(line.split(" ", 1)) for line in text.splitlines() if " " in line}
    varied = {name for what, name in noted if what == VARIED}
    constant = {name for what, name in noted if what == CONSTANT} - varied
    return tuple(sorted(constant)), tuple(sorted(varied))


def _digest(value: Any) -> bytes:
    return blake2b(encode(value), digest_size=16).digest()


_ALSO: dict[str, type[Exception]] = {
    error.__name__: error
    for error in (
        ArithmeticError, AssertionError, AttributeError, FloatingPointError, ImportError, IndexError, KeyError,
        LookupError, MemoryError, ModuleNotFoundError, NameError, NotImplementedError, OverflowError, RecursionError,
        RuntimeError, SyntaxError, TypeError, ValueError, ZeroDivisionError,
    )
}  # fmt: skip
"""Classes that evaluators catch by name; a program can raise no others across the border."""


class CandidateFailed(Exception):
    """Report why a program gave no value; ``failure`` has the kind and the reason.

    It is also an instance of the builtin class that the program raised, if it was one, and of
    ``TimeoutError`` if time ran out, so that an evaluator's ``except`` clauses work as without a sandbox.
    """

    def __init__(self, why: Failure) -> None:
        super().__init__(why.reason)
        self.failure = why

    def __str__(self) -> str:
        return self.failure.reason

    def __reduce__(self) -> tuple[Callable[[tuple[str, ...]], CandidateFailed], tuple[tuple[str, ...]]]:
        return failed, (tuple(self.failure),)


def failed(fields: tuple[str, ...]) -> CandidateFailed:
    """Return the exception for a failure, of the class that an evaluator would catch."""
    why = Failure(*fields)
    also: type[Exception] | None = TimeoutError if why.kind in ("time", "cpu") else _ALSO.get(why.raised)
    if also is None:
        return CandidateFailed(why)
    raised: CandidateFailed = type("CandidateFailed", (CandidateFailed, also), {})(why)
    return raised


class ProxiedProgram:
    """A confined program as one process sees it; after a fork the new process gets one of its own."""

    def __init__(
        self, address: Address, source: str, name: str, file: str, seed: int, events: str, answers: str
    ) -> None:
        """Start the program; raise ``CandidateFailed`` if it cannot be loaded."""
        self._opening = (address, source, name, file, seed)
        self._events = events
        self._answers = CallAnswers(answers)
        self._candidate, self._owner = self._opened()
        if self._candidate.failure is not None:
            raise self._noted(self._candidate.failure)

    def _opened(self) -> tuple[SandboxedProgram, int]:
        address, source, name, file, seed = self._opening
        candidate = SandboxedProgram(address, source, name=name, file=file, seed=seed)
        _print(candidate.printed)
        return candidate, os.getpid()

    @property
    def offer(self) -> SandboxedProgram:
        """Return what the program offers."""
        return self._candidate

    def call(self, function: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of ``function``.

        Raises:
            CandidateFailed: If it returns nothing that can be forwarded.
        """
        if self._owner != os.getpid():
            self._candidate, self._owner = self._opened()
        with self._candidate.turn:
            value = self._candidate.call(function, args, kwargs)
            _print(self._candidate.printed)
        if isinstance(value, Failure):
            raise self._noted(value)
        self._answers.note(function, (args, kwargs), value)
        return value

    def refuse(self, name: str, why: str) -> CandidateFailed:
        """Return the exception for a name that cannot be forwarded."""
        return self._noted(failure("refused", f"{name}: {why}"))

    def _noted(self, why: Failure) -> CandidateFailed:
        """Record an error for the person who runs the evaluator, and return it as an exception."""
        line = json.dumps(list(why)) + "\n"
        descriptor = os.open(self._events, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)
        return failed(tuple(why))


def connect(
    namespace: dict[str, Any],
    address: tuple[str, float, int, int],
    *,
    name: str,
    file: str,
    source: str,
    seed: int,
    events: str,
    answers: str,
) -> None:
    """Fill the namespace of a module, or of executed text, with what a confined program offers.

    Raises:
        CandidateFailed: If the program cannot be loaded.
    """
    program = ProxiedProgram(Address(*address), source, name, file, seed, events, answers)
    offer = program.offer
    namespace.update(offer.constants)
    for function in offer.functions:
        namespace[function] = _forwarding(program, function, name)

    def __getattr__(attribute: str) -> Any:
        if attribute in offer.others:
            raise program.refuse(attribute, offer.others[attribute])
        raise AttributeError(f"module {name!r} has no attribute {attribute!r}")

    namespace["__getattr__"] = __getattr__


def _forwarding(program: ProxiedProgram, function: str, module: str) -> Callable[..., Any]:
    def forward(*args: Any, **kwargs: Any) -> Any:
        return program.call(function, args, kwargs)

    forward.__name__ = forward.__qualname__ = function
    forward.__module__ = module
    return forward


def _print(text: str) -> None:
    if text:
        sys.stdout.write(text)
