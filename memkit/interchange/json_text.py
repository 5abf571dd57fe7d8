"""JSON as strangers write it, read strictly: nothing is guessed, and nothing ends the reading of what follows."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, NoReturn

from memkit.memory.interface import Reason
from memkit.memory.record import JSON, MAX_LINE_BYTES

LONGEST_LINE = 4 * MAX_LINE_BYTES
BOM = b"\xef\xbb\xbf"

Line = tuple[int, Mapping[str, JSON] | Reason]


def numbered_objects(file: BinaryIO) -> Iterator[Line]:
    """Yield every line that is not blank with its number: its object, or why it holds none."""
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE and not line.endswith(b"\n"):
            size = len(line) + _rest_of_line(file)
            yield number, Reason("too_long", f"The line has {size:,} bytes; {LONGEST_LINE:,} is the most.")
            continue
        text = line.removeprefix(BOM) if number == 1 else line
        if text.strip():
            yield number, parsed_object(text)


def parsed_object(text: bytes) -> Mapping[str, JSON] | Reason:
    """Return the object that ``text`` holds, or why it holds none."""
    try:
        value = parsed(text)
    except ValueError as error:
        return Reason("schema", str(error))
    return value if isinstance(value, dict) else Reason("schema", "The line is JSON and not an object.")


def parsed(text: bytes) -> Any:
    """Return the value of ``text``; raises ``ValueError`` saying why it is none, without repeating it."""
    try:
        return DECODER.decode(text.decode())
    except UnicodeDecodeError:
        raise ValueError("The text is not UTF-8.") from None
    except RecursionError:
        raise ValueError("The text is not JSON that anybody wrote: it is nested too deeply.") from None
    except ValueError as error:
        raise ValueError(f"The text is not JSON: {error}.") from None


def _rest_of_line(file: BinaryIO) -> int:
    size = 0
    while more := file.readline(LONGEST_LINE):
        size += len(more)
        if more.endswith(b"\n"):
            break
    return size


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        # Which of the two counts is a matter of the parser, and so a way past whoever checked the other one.
        raise ValueError("a key stands in one object twice")
    return found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is larger than any that can be kept")
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite)
