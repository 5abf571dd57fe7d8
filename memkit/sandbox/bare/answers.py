"""Whether a program's functions answer the same whatever they are asked; the evaluator's side sees every call."""

from __future__ import annotations

import os
import threading
from hashlib import blake2b
from typing import Any

from .codec import NotPlain, encode

ENOUGH = 8
"""Different questions after which one and the same answer is worth noting."""
_MOST = 1000
"""Different questions that are told apart; a function that has answered the same until then is not watched further."""
CONSTANT, VARIED = "constant", "varied"


class Answers:
    """Watches each function until it gives a second answer, and writes down what it has seen, a line each."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._questions: dict[str, set[bytes] | None] = {}
        """None for a function that is not watched any more."""
        self._first: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def note(self, function: str, asked: tuple[tuple[Any, ...], dict[str, Any]], answer: Any) -> None:
        """Take in one call."""
        questions = self._questions.setdefault(function, set())
        if questions is None:
            return
        try:
            question, given = _digest(list(asked)), _digest(answer)
        except NotPlain:  # a value that the border let pass in another form
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
