"""One canonical JSON object per line: the only form in which the archive is written."""

import json
from collections.abc import Mapping
from typing import NoReturn

from .errors import InvalidRecord
from .record import JSON, MAX_LINE_BYTES


def encode_data(data: Mapping[str, JSON]) -> str:
    """Return ``data`` as canonical JSON."""
    return ENCODER.encode(data)


def encode_line(data: Mapping[str, JSON]) -> bytes:
    """Return ``data`` as a line: sorted keys, no blanks, UTF-8, ended by one LF."""
    try:
        line = encode_data(data).encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRecord(f"This cannot be written as JSON: {error}.") from None
    if len(line) > MAX_LINE_BYTES:
        raise InvalidRecord(f"The record has {len(line):,} bytes with all its fields; {MAX_LINE_BYTES:,} is the most.")
    return line


def decode_line(line: bytes) -> dict[str, JSON]:
    """Return the object on a line, or raise InvalidRecord saying why it is none."""
    if len(line) > 4 * MAX_LINE_BYTES:
        raise InvalidRecord(f"The line has {len(line):,} bytes; {4 * MAX_LINE_BYTES:,} is the most that is read.")
    try:
        data = DECODER.decode(line.decode())
    except UnicodeDecodeError:
        raise InvalidRecord("The line is not UTF-8.") from None
    except (ValueError, RecursionError) as error:
        raise InvalidRecord(f"The line is not JSON: {error}.") from None
    if not isinstance(data, dict):
        raise InvalidRecord("The line is JSON and not an object.")
    return data


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


DECODER = json.JSONDecoder(parse_constant=_refuse)
ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
