"""The only form in which the archive is written: one canonical JSON object per line, in clear or sealed.

A sealed line keeps what merging, ordering and isolation need in clear and holds everything else under
``sealed``. The keys lie outside of the store, so this room only knows their interface; without its key a sealed
line is still a valid line, whose text nobody can read.

Its errors, and those of the store that keeps it, form one tree; each is something that a person can act on:

ArchiveError (exit_code 3)
├── InvalidRecord (2)       a record, draft or event that breaks the format
├── RecordNotFound (1)      no such id for this user
├── StoreLocked (3)         another process held the lock for too long
├── StoreReadOnly (3)       the directory does not let us write
├── LeadsOut (3)            a link leads out of the store
├── StoreFull (3)           the disk did not take the line; nothing of it was kept
├── StoreClosed (3)         used after close()
├── NotAllowed (1)          only a person may do this
│   └── LongTermOff (1)     the store keeps nothing beyond a session
├── Refused (1)             the write gate did not take something
├── NoTombstoneKey (3)      an erased value cannot be barred without the store's key
└── NothingOfItsOwn (3)     a clone has no place that only its user's key can name
"""

import json
import os
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple, NoReturn, Protocol, TypeAlias


class ArchiveError(Exception):
    """Report an error of the memory room; ``exit_code`` is the exit code for a command, ``code`` its name.

    >>> try:
    ...     ArchivalStore().mark("retire", "01M8ZZZZZZZZZZZZZZZZZZZZZZ", Origin("user", "ada"))
    ... except ArchiveError as error:
    ...     error.code, error.exit_code
    ('not_found', 1)
    """

    exit_code: int = 3
    code: str = "archive"


class InvalidRecord(ArchiveError):
    """Name the field that breaks the record format."""

    exit_code = 2
    code = "invalid"


class RecordNotFound(ArchiveError):
    """Report that no record with this id is visible to this user."""

    exit_code = 1
    code = "not_found"


class StoreLocked(ArchiveError):
    """Report that another process held the store's lock longer than we were willing to wait."""

    code = "locked"


class StoreReadOnly(ArchiveError):
    """Report that the store's directory cannot be written."""

    code = "read_only"


class LeadsOut(ArchiveError):
    """Report that a link leads out of the store, where nothing is read or written."""

    code = "leads_out"


MAKE_ROOM = "Nothing was stored and nothing is lost; make room on the disk and retry."
"""What to do about StoreFull."""


class StoreFull(ArchiveError):
    """Report that the line could not be written whole; the shard is as it was before."""

    code = "full"


class StoreClosed(ArchiveError):
    """Report that the archive was used after it was closed."""

    code = "closed"


class NotAllowed(ArchiveError):
    """Report that only a person may do this."""

    exit_code = 1
    code = "not_allowed"


class NoTombstoneKey(ArchiveError):
    """Report that the store's key, which tombstones of erased values need, is not on this machine."""

    code = "no_key"


class NothingOfItsOwn(ArchiveError):
    """Report why this machine can keep nothing that it would recognise as its own later."""

    code = "nothing_of_its_own"


class Refused(ArchiveError):
    """Report why the write gate refused something; ``reasons`` holds codes and sentences.

    ```python
    from memkit import Refused

    try:
        store.add("the card is 4111 1111 1111 1111", user="ada")
    except Refused as refused:
        assert refused.codes == ("personal_data",)
    ```
    """

    exit_code = 1
    code = "refused"

    def __init__(self, reasons: "Sequence[Reason]") -> None:
        self.reasons = tuple(reasons)
        super().__init__("Not remembered. " + " ".join(f"{reason.message} ({reason.code})" for reason in reasons))

    @property
    def codes(self) -> tuple[str, ...]:
        """Return the codes of the reasons."""
        return tuple(reason.code for reason in self.reasons)


class LongTermOff(NotAllowed):
    """Report that the store keeps nothing beyond a session."""

    code = "long_term_off"


class Reason(NamedTuple):
    """A reason for the gate's decision: a code for scripts and a sentence for people.

    >>> archive = ArchivalStore()
    >>> decision = archive.offer(Draft("The password is hunter2-Xy9"), Origin("user", "ada"))
    >>> decision.reasons[0].code, decision.reasons[0].message
    ('secret', 'It contains a credential (password). Leave that out.')
    """

    code: str
    message: str


# Times and ids.

WEEK = re.compile(r"\d{4}-?W\d{2}(?!-?\d)")
DATE = r"\d{4}-\d{2}-\d{2}"
DURATION = r"(\d+(?:\.\d+)?)\s*([smhdw])"
DECAY = rf"(\d+(?:\.\d+)?) per ({DURATION}) unused"
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def utc_now() -> datetime:
    """Return the current time in UTC, timezone-aware."""
    return datetime.now(UTC)


def to_text(moment: datetime) -> str:
    """Return ``moment`` as the archive writes it; a naive time is taken as UTC."""
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return f"{aware.isoformat(timespec='microseconds')[:-6]}Z" if aware.year >= 1000 else aware.isoformat()


def parse_time(value: str | datetime) -> datetime:
    """Return the moment that ``value`` denotes; a bare date means the end of that day, in each of ISO's forms."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    try:
        is_whole = value[4:11:3] == "--T"  # the archive's own form: no bare date looks like that
        if not is_whole and (day := bare_date(value)) is not None:
            return datetime.combine(day, datetime.max.time(), UTC)
        return parse_time(datetime.fromisoformat(value))
    except (ValueError, OverflowError):
        raise InvalidRecord(
            f"{value!r:.60} is not a time. Write an RFC 3339 time such as 2026-11-21T09:00:00Z, or a date."
        ) from None


def bare_date(value: str) -> date | None:
    """Return the day that ``value`` is, None if it is no date; a week raises ``ValueError``, since no day is guessed.

    >>> bare_date("20261122") == bare_date("2026-W47-7") == bare_date("2026-11-22") == date(2026, 11, 22)
    True
    """
    if WEEK.match(value):
        raise ValueError(value)
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None


def normal_time(value: str | datetime) -> str:
    """Return ``value`` in the form that sorts as text."""
    return to_text(parse_time(value))


def kept_time(value: str) -> str:
    """Return ``value`` as a record stores it: a bare date unchanged, because it means its end, anything else in UTC."""
    moment, day = normal_time(value), bare_date(value)
    return moment if day is None else day.isoformat()


def parse_duration(value: str | int | float) -> float:
    """Return the seconds denoted by ``7d``, ``1h`` or a bare number of seconds."""
    if isinstance(value, int | float) and 0 <= value < float("inf"):
        return float(value)
    match = re.fullmatch(DURATION, str(value).strip())
    if match is None:
        raise InvalidRecord(f"{value!r:.60} is not a duration. Write a number and one of s, m, h, d, w, such as 7d.")
    return float(match[1]) * SECONDS[match[2]]


def seconds_before(moment: datetime, seconds: float) -> datetime:
    """Return the moment that many seconds earlier, but not before the first year, whatever a setting says."""
    try:
        return moment - timedelta(seconds=seconds)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


class Decay(NamedTuple):
    """How fast an unused record loses confidence."""

    step: float
    """The amount subtracted from the confidence."""
    seconds: float
    """The length of the period after each of which it is subtracted."""

    def after(self, unused: float) -> float:
        """Return the confidence lost after this many seconds without use.

        >>> Decay(0.02, 30 * 86400).after(65 * 86400)
        0.04
        """
        return self.step * int(max(0.0, unused) // self.seconds)


def parse_decay(value: str) -> Decay:
    """Return the meaning of ``0.02 per 30d unused``; a step beyond 1 or an empty period is not a decay."""
    match = re.fullmatch(DECAY, value.strip())
    decay = Decay(float(match[1]), parse_duration(match[2])) if match else None
    if decay is None or decay.step > 1 or decay.seconds <= 0:
        raise InvalidRecord(
            f"{value!r:.60} is not a decay. Write a share from 0 to 1 and a time, such as '0.02 per 30d unused'."
        )
    return decay


ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
CHANCE_BITS = 80


def encode(number: int) -> str:
    """Return the 26 letters that encode ``number``."""
    return "".join(ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))


class IdSource:
    """Mint ids that only increase within this process, even if the clock goes backwards."""

    def __init__(self, clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._clock_ms = clock_ms
        self._last = 0
        self._lock = threading.Lock()
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        # A forked child would otherwise continue from its parent's last id, and so would its siblings.
        self._last = 0
        self._lock = threading.Lock()

    def __call__(self) -> str:
        """Return an id greater than every earlier one."""
        with self._lock:
            fresh = self._clock_ms() << CHANCE_BITS | int.from_bytes(os.urandom(CHANCE_BITS // 8))
            if fresh <= self._last or fresh >> CHANCE_BITS == self._last >> CHANCE_BITS:
                fresh = self._last + 1 + int.from_bytes(os.urandom(4))
            self._last = fresh
            return encode(fresh)


new_id = IdSource()


JSON: TypeAlias = bool | int | float | str | Sequence["JSON"] | Mapping[str, "JSON"] | None
EMPTY: Mapping[str, JSON] = MappingProxyType({})
"""The immutable default of fields that hold a mapping."""
MAX_LINE_BYTES = 256 * 1024
"""Upper limit of a written line, including extra keys."""


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
        raise InvalidRecord(f"The record has {len(line):,} bytes with all its fields; the limit is {MAX_LINE_BYTES:,}.")
    return line


def decode_line(line: bytes) -> dict[str, JSON]:
    """Return the object on a line; raise InvalidRecord with the reason if there is none."""
    if len(line) > 4 * MAX_LINE_BYTES:
        raise InvalidRecord(f"The line has {len(line):,} bytes; the limit is {4 * MAX_LINE_BYTES:,}.")
    try:
        data = DECODER.decode(line.decode())
        if HALF.search(line):
            ENCODER.encode(data).encode()
    except UnicodeDecodeError:
        raise InvalidRecord("The line is not UTF-8.") from None
    except UnicodeEncodeError:
        raise InvalidRecord("The line contains half of a surrogate pair, which is not valid Unicode.") from None
    except (ValueError, RecursionError) as error:
        raise InvalidRecord(f"The line is not JSON: {error}.") from None
    if not isinstance(data, dict):
        raise InvalidRecord("The line is JSON but not an object.")
    return data


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _each_once(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    """Return an object without duplicate keys: a reader that takes the first one would read another text."""
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("a key occurs twice in an object")
    return data


DECODER = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_each_once)
ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
HALF = re.compile(rb"\\u[dD][89a-fA-F]")
"""The escape of half of a surrogate pair, which nothing here could be looked up or written by."""

SEALED = "[sealed]"
"""The text of a record whose line is sealed with a key that is not here."""


def is_sealed(data: Mapping[str, JSON]) -> bool:
    """Return whether a line keeps its text under a key; a line with a text is clear, whatever else it holds."""
    return "text" not in data and isinstance(data.get("sealed"), str)


def legible(data: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """Return a line with a text in any case: a sealed one gets a placeholder."""
    return {**data, "text": SEALED} if is_sealed(data) else data


NO_KEY = "none"
"""The state of a user whose key is not here."""


class SealDamaged(InvalidRecord):
    """Report that a sealed line was changed after it was written: its key is here and does not open it."""


class Sealer(Protocol):
    """Encrypts and decrypts data about one user, with keys that the store does not hold."""

    def seal(self, data: Mapping[str, JSON], *, create: bool = True) -> Mapping[str, JSON]:
        """Return ``data`` as it is to be written: sealed if the store seals, unchanged if there is nothing to hide.

        Args:
            data: The line's data about one user.
            create: Whether a user without a key gets one; otherwise only the clear part of ``data`` is returned.
        """

    def open(self, data: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """Return what was given to ``seal``, or ``data`` unchanged if its key is not here; raise SealDamaged."""

    def state(self, user_id: str) -> str:
        """Return a text that changes when the key of a user is added, removed or replaced."""


class NoSealer:
    """Seals and opens nothing: a store without keys."""

    def seal(self, data: Mapping[str, JSON], *, create: bool = True) -> Mapping[str, JSON]:
        """Return ``data`` unchanged."""
        return data

    def open(self, data: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """Return ``data`` unchanged."""
        return data

    def state(self, user_id: str) -> str:
        """Return the state without a key."""
        return NO_KEY


def shown(data: Mapping[str, JSON], sealer: Sealer) -> Mapping[str, JSON]:
    """Return a line decrypted as far as possible; a tampered one stays sealed and is reported by ``examined``."""
    if not is_sealed(data):
        return data
    try:
        return sealer.open(data)
    except SealDamaged:
        return data
