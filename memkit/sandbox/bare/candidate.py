"""The confined side: runs a program in this process and answers calls of its functions on one stream.

Nothing here is a defence: the program shares this process and can change all of it. Its output is limited and checked
by the other side (``client.py``), and its actions are limited by the kernel.
"""

from __future__ import annotations

import io
import random
import sys
from types import ModuleType
from typing import Any

from .codec import Ended, NotPlain, encode, framed, read_frame, write_frame

MOST_PRINTED = 64 * 1024
"""The most characters of standard output and error that are sent with an answer; the rest is dropped."""
_TRACE, _LONGEST_NAME, _LONGEST_TEXT = 12, 80, 1000


class Printed(io.TextIOBase):
    """Standard output and error of the program: kept up to a limit, then dropped."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._room = MOST_PRINTED

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str) -> int:
        """Store what fits."""
        if self._room > 0 and text:
            self._parts.append(text[: self._room])
            self._room -= len(text)
        return len(text)

    def taken(self) -> str:
        """Return what was printed since the last call, and make room again."""
        text = "".join(self._parts).encode("utf-8", "replace").decode("utf-8")
        self._parts, self._room = [], MOST_PRINTED
        return text


def serve(stream: int, most: int) -> None:
    """Read a program, run it, and answer calls until the stream ends; no answer is larger than ``most`` bytes."""
    request = read_frame(stream)
    printed = Printed()
    sys.stdout = sys.stderr = printed
    _seed(request["seed"])
    module = ModuleType(request["name"])
    module.__file__ = request["file"]
    sys.modules[module.__name__] = module
    answer = _answered(lambda: _loaded(module, request["source"], most))
    _write(stream, request["ticket"], answer, printed, most)
    while True:
        try:
            ticket, name, args, kwargs = read_frame(stream)
        except Ended:
            return
        function = module.__dict__.get(name)
        if function is not None and _is_function(function):
            answer = _answered(lambda: function(*args, **kwargs))  # noqa: B023 - called at once
        else:
            answer = ["failure", "missing", f"the program has no function {name!r}", "AttributeError", ""]
        _write(stream, ticket, answer, printed, most)


def _seed(seed: int) -> None:
    """Seed the usual random generators, so that a program that uses them is reproducible."""
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % (1 << 32))


def _loaded(module: ModuleType, source: str, most: int) -> dict[str, Any]:
    """Run the program and return what it offers: names of functions, constants, and the kinds of the other names."""
    exec(compile(source, module.__file__ or "program", "exec", dont_inherit=True), module.__dict__)
    functions, constants, others = [], {}, {}
    for name, value in list(module.__dict__.items()):
        if name.startswith("__") or isinstance(value, ModuleType):
            continue
        if _is_function(value):
            functions.append(name)
            continue
        try:
            if len(encode(value)) > most // 2:
                raise NotPlain("a constant of that size cannot be forwarded")
            constants[name] = value
        except NotPlain as error:
            others[name] = str(error)
    return {"functions": functions, "constants": constants, "others": others}


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type)


def _answered(work: Any) -> list[Any]:
    """Return ``["value", …]`` or ``["failure", kind, reason, class, trace]``."""
    try:
        return ["value", work()]
    except MemoryError:
        return ["failure", "memory", "the program has used up its memory", "MemoryError", ""]
    except SyntaxError as error:
        return ["failure", "syntax", f"line {error.lineno}: {error.msg}", "SyntaxError", ""]
    except BaseException as error:  # noqa: BLE001 - whatever a program raises is an answer
        return _raised(error)


def _raised(error: BaseException) -> list[Any]:
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 - the text is the program's own code too
        text = ""
    name = type(error).__name__[:_LONGEST_NAME]
    text = text[:_LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")
    return ["failure", "exception", f"{name}: {text}" if text else name, name, _trace(error)]


def _trace(error: BaseException) -> str:
    """Return the places in the program where ``error`` was raised, innermost last."""
    lines, step = [], error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_filename != __file__:
            lines.append(f'  File "{code.co_filename}", line {step.tb_lineno}, in {code.co_name}')
        step = step.tb_next
    return "\n".join(lines[-_TRACE:])


def _write(stream: int, ticket: bytes, answer: list[Any], printed: Printed, most: int) -> None:
    text = printed.taken()
    try:
        frame = framed([ticket, *answer, text])
    except NotPlain as error:
        frame = framed([ticket, "failure", "refused", str(error), "TypeError", "", text])
    except MemoryError:
        frame = framed([ticket, "failure", "memory", "the answer does not fit in memory", "MemoryError", "", ""])
    if len(frame) > most:
        size = f"an answer of {len(frame)} bytes; the limit is {most}"
        frame = framed([ticket, "failure", "output", size, "ValueError", "", ""])
    write_frame(stream, frame)
