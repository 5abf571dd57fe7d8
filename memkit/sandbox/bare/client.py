"""Why there is no value: a kind that programs act on, and a reason for people."""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple

from .codec import Ended, Late, Malformed, NotPlain, TooLarge, framed, receive, send
from .forking import END, GREETING

REASON = 500
"""The most characters of a reason; a program's own text can have any length."""
DETAIL = 4_000


class Failure(NamedTuple):
    """Why a program gave no value.

    ``kind`` is one of: ``syntax`` (does not compile), ``exception`` (raised), ``missing`` (no such function),
    ``refused`` (something that cannot be forwarded), ``time`` (no answer in time), ``cpu``, ``memory``, ``output`` (an
    answer that is too large), ``crash`` (the process ended), ``protocol`` (an unexpected message),
    ``evaluator`` (the evaluator itself failed), ``unavailable`` (the sandbox is gone).
    """

    kind: str
    reason: str
    detail: str = ""
    """The end of a traceback, if there is one."""
    raised: str = ""
    """The name of the exception's class, if the program raised one; only a name."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"


def failure(kind: str, reason: str, detail: str = "", raised: str = "") -> Failure:
    """Return a failure whose texts can be shown: limited in length, and without terminal control codes."""
    cut = reason if len(reason) <= REASON else reason[: REASON - 1] + "…"
    lines = detail[-DETAIL:].split("\n")
    return Failure(kind, _harmless(cut), "\n".join(map(_harmless, lines)), _harmless(raised))


def _harmless(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def read_failure(fields: Any) -> Failure:
    """Return the failure in received data; raise ``ValueError`` if the data are invalid."""
    if not isinstance(fields, list) or len(fields) != 4 or not all(isinstance(field, str) for field in fields):
        raise ValueError("a failure must be four texts")
    return failure(*fields)


_PATIENCE = 120.0
"""Seconds to wait for a process; a busy machine and a full pool are not the program's fault."""
_STATUS, _PAUSE = 5.0, 0.01
_TICKET = 16


@dataclass(frozen=True)
class Address:
    """Where programs are confined, and the limits that the caller enforces."""

    path: str
    wall: float
    """Time limit in seconds for loading, and for each call."""
    output: int
    """The most bytes of an answer."""
    cpu: int
    """Seconds of processor time, to explain why a process was killed."""


class CallLine:
    """A connection to a process of a fork server, with the pipe that reports its end."""

    def __init__(self, path: str, deadline: float) -> None:
        """Connect; raise ``OSError`` if nobody serves there, or not in time."""
        self.leash = -1
        self.stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._connect(path, deadline)
            greeting, descriptors, _flags, _from = socket.recv_fds(self.stream, len(GREETING), 1)
            if greeting != GREETING or len(descriptors) != 1:
                raise ConnectionError("the fork server closed the connection")
            self.leash = descriptors[0]
        except OSError:
            self.close()
            raise

    def _connect(self, path: str, deadline: float) -> None:
        while True:
            self.stream.settimeout(max(deadline - time.monotonic(), 0.01))
            try:
                self.stream.connect(path)
                return
            except BlockingIOError:  # more callers are waiting than the kernel queues
                if time.monotonic() > deadline:
                    raise
                time.sleep(_PAUSE)

    def end(self) -> tuple[int, float] | None:
        """Return the wait status and the processor time of an ended process, None if they are not reported."""
        if self.leash < 0:
            return None
        try:
            ready, _, _ = select.select([self.leash], [], [], _STATUS)
            status, seconds, _largest = END.unpack(os.read(self.leash, END.size)) if ready else END.unpack(b"")
        except (struct.error, OSError, ValueError):  # the last two where another thread closes it meanwhile
            return None
        return status, seconds

    def __del__(self) -> None:
        self.close()

    def let_go(self, patience: float) -> None:
        """Have the fork server kill the process, and wait up to ``patience`` seconds for its end."""
        os.close(self.leash)
        self.leash = -1
        self.stream.settimeout(patience)
        try:
            while self.stream.recv(1 << 16):
                pass
        except OSError:
            return

    def close(self) -> None:
        """Close the connection; the fork server kills the process if it is still alive."""
        self.stream.close()
        if self.leash >= 0:
            os.close(self.leash)
            self.leash = -1


class SandboxedProgram(AbstractContextManager["SandboxedProgram"]):
    """A program in a confined process; one call at a time.

    ``failure`` says why there is no program any more, or never was; each call then returns it.
    """

    def __init__(self, address: Address, source: str, *, name: str = "program", file: str = "", seed: int = 0) -> None:
        """Start a process and run the module's top level in it."""
        self._address = address
        self._line: CallLine | None = None
        self.failure: Failure | None = None
        self.functions: tuple[str, ...] = ()
        self.constants: dict[str, Any] = {}
        self.others: dict[str, str] = {}
        """Names that cannot be forwarded → why."""
        self.printed = ""
        """The program's output during the last call, or while it was loaded."""
        self.turn = threading.Lock()
        """For callers in several threads: held from a call until its ``printed`` is read."""
        try:
            self._line = CallLine(address.path, time.monotonic() + _PATIENCE)
        except OSError as error:
            self.failure = failure("unavailable", f"the sandbox does not answer: {error.strerror or error}")
            return
        self._load({"source": source, "name": name, "file": file or f"{name}.py", "seed": seed})

    def _load(self, request: dict[str, Any]) -> None:
        line = self._line
        assert line is not None
        try:
            confined = receive(line.stream, time.monotonic() + _PATIENCE, 64)
        except (Ended, Late, TooLarge, Malformed):
            confined = None
        if confined != "confined":
            self._give_up("unavailable", "a process could not be confined, so the program was not run")
            return
        offer = self._asked([request], "while it was loaded")
        if isinstance(offer, Failure):
            self.failure = self.failure or offer
            self.close()
            return
        try:
            self.functions = tuple(map(_public, offer["functions"]))
            self.constants = {_public(constant): value for constant, value in offer["constants"].items()}
            self.others = {_public(other): str(why) for other, why in offer["others"].items()}
        except (TypeError, KeyError, AttributeError, ValueError):
            self._give_up("protocol", "the program did not say what it offers")

    def call(self, function: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """Return the result of ``function`` for plain data, or the ``Failure`` that prevented it.

        A program that raised can be called again; one that exceeded its time or memory, or ended, cannot.
        """
        return self._asked([function, tuple(args), dict(kwargs or {})], f"in {function}()")

    def _asked(self, question: list[Any], where: str) -> Any:
        if self.failure is not None:
            return self.failure
        if self._line is None:
            return failure("unavailable", "this program was closed")
        ticket = os.urandom(_TICKET)
        try:
            first = question[0]
            frame = framed({**first, "ticket": ticket} if isinstance(first, dict) else [ticket, *question])
        except NotPlain as error:
            return failure("refused", f"{error} ({where})")
        if len(frame) > self._address.output:
            return failure("refused", f"arguments of {len(frame)} bytes; the limit is {self._address.output}")
        return self._exchanged(self._line, ticket, frame, where)

    def _exchanged(self, line: CallLine, ticket: bytes, frame: bytes, where: str) -> Any:
        deadline = time.monotonic() + self._address.wall
        try:
            if _has_spoken(line.stream):
                return self._give_up("protocol", f"the program sent data unasked ({where})")
            send(line.stream, frame, deadline)
            answer = receive(line.stream, deadline, self._address.output)
        except Late:
            return self._give_up("time", f"no answer within {self._address.wall:g} s {where}")
        except TooLarge as error:
            return self._give_up("output", f"{error} {where}")
        except Malformed as error:
            return self._give_up("protocol", f"the answer is not plain data: {error} {where}")
        except Ended:
            return self._ended(line, where)
        return self._read(answer, ticket, where)

    def _read(self, answer: Any, ticket: bytes, where: str) -> Any:
        match answer:
            case [bytes() as given, "value", value, str() as printed] if given == ticket:
                self.printed = printed
                return value
            case [bytes() as given, "failure", *fields, str() as printed] if given == ticket:
                told = _told(fields, where)
                if told is not None:
                    self.printed = printed
                    return told
        return self._give_up("protocol", f"the answer does not belong to the call {where}")

    def _ended(self, line: CallLine, where: str) -> Failure:
        end = line.end()
        if end is None:
            return self._give_up("unavailable", "the sandbox has ended")
        code, seconds = os.waitstatus_to_exitcode(end[0]), end[1]
        if code == -signal.SIGKILL and seconds >= self._address.cpu - 0.5:
            return self._give_up("cpu", f"used up {self._address.cpu} s of processor time {where}")
        if code >= 0:
            return self._give_up("crash", f"the program ended its process, with exit code {code}, {where}")
        if code == -signal.SIGKILL:
            return self._give_up("memory", f"the kernel killed the process, as it does when memory runs out, {where}")
        return self._give_up("crash", f"the process died of {_signal_name(-code)} {where}")

    def _give_up(self, kind: str, reason: str) -> Failure:
        self.failure = failure(kind, reason)
        self.close()
        return self.failure

    def close(self) -> None:
        """End the program's process."""
        if self._line is not None:
            self._line.close()
            self._line = None

    def __exit__(self, *_exception: object) -> None:
        self.close()


_TOLD = frozenset({"exception", "missing", "refused", "syntax", "memory", "output"})
"""Kinds of failure that a program may report about itself."""


def _told(fields: list[Any], where: str) -> Failure | None:
    """Return the failure that a program reports about itself, None if it may not report this kind."""
    match fields:
        case [str() as kind, str() as reason, str() as name, str() as trace] if kind in _TOLD:
            return failure(kind, f"{reason} ({where})" if kind == "refused" else reason, trace, name)
    return None


def _has_spoken(stream: socket.socket) -> bool:
    """Return whether there is unrequested data to read."""
    stream.setblocking(False)
    try:
        return bool(stream.recv(1, socket.MSG_PEEK))
    except OSError:
        return False


def _public(name: Any) -> str:
    """Return a name that a program may offer: an identifier without a special meaning for its importer."""
    if type(name) is not str or not name.isidentifier() or name.startswith("__"):
        raise ValueError(name)
    return name


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
