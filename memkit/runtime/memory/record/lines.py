"""The only form in which the archive is written: one canonical JSON object a line, in clear or sealed.

A sealed line keeps what merging, ordering and isolation need in clear and holds everything else under
``sealed``. The keys lie outside of the store, so this room only knows the promise; without its key a sealed line is
still a line, whose text nobody can read.
"""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NoReturn, Protocol, TypeAlias

from .errors import InvalidRecord

JSON: TypeAlias = bool | int | float | str | Sequence["JSON"] | Mapping[str, "JSON"] | None
EMPTY: Mapping[str, JSON] = MappingProxyType({})
"""The default of fields that hold a mapping; nobody can change it for everybody."""
MAX_LINE_BYTES = 256 * 1024
"""No line that we write is longer; extra keys count too."""


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

SEALED = "[sealed]"
"""The text of a record whose line is sealed with a key that is not here."""


def is_sealed(data: Mapping[str, JSON]) -> bool:
    """Return whether a line keeps its text under a key; one that has a text is clear, whatever else it holds."""
    return "text" not in data and isinstance(data.get("sealed"), str)


def legible(data: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """Return a line with a text in any case: that of a sealed one says that it is."""
    return {**data, "text": SEALED} if is_sealed(data) else data


NO_KEY = "none"
"""The state of a user whose key is not here."""


class SealDamaged(InvalidRecord):
    """Say that a sealed line was changed after it was written: its key is here and does not open it."""


class Sealer(Protocol):
    """Hides and shows what is about one user, with keys that the store does not hold."""

    def seal(self, data: Mapping[str, JSON], *, create: bool = True) -> Mapping[str, JSON]:
        """Return ``data`` as it is to be written: sealed where the store seals, as it is where nothing is to hide.

        Args:
            data: What is said of one user.
            create: Whether a user who has no key gets one; otherwise only what stays clear of ``data`` is returned.
        """

    def open(self, data: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """Return what was given to ``seal``, or ``data`` as it is when its key is not here; raises SealDamaged."""

    def state(self, user_id: str) -> str:
        """Return a text that changes when the key of a user comes, goes or is replaced."""


class NoSealer:
    """Seals nothing and opens nothing: a store without keys."""

    def seal(self, data: Mapping[str, JSON], *, create: bool = True) -> Mapping[str, JSON]:
        """Return ``data`` as it is."""
        return data

    def open(self, data: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """Return ``data`` as it is."""
        return data

    def state(self, user_id: str) -> str:
        """Return that there is no key."""
        return NO_KEY


def shown(data: Mapping[str, JSON], sealer: Sealer) -> Mapping[str, JSON]:
    """Return a line opened as far as it can be; one that was tampered with stays sealed and ``examined`` names it."""
    if not is_sealed(data):
        return data
    try:
        return sealer.open(data)
    except SealDamaged:
        return data
