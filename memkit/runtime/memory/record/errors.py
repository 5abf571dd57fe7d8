"""Errors that somebody can act on, as one tree.

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

from collections.abc import Sequence
from typing import NamedTuple


class ArchiveError(Exception):
    """Say what went wrong in the memory room; ``exit_code`` is what a command should end with, ``code`` its name.

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
    """Say that no record with this id is visible to this user."""

    exit_code = 1
    code = "not_found"


class StoreLocked(ArchiveError):
    """Say that another process held the store's lock longer than we were willing to wait."""

    code = "locked"


class StoreReadOnly(ArchiveError):
    """Say that the store's directory cannot be written."""

    code = "read_only"


class LeadsOut(ArchiveError):
    """Say that a link leads out of the store, where nothing is read or written."""

    code = "leads_out"


MAKE_ROOM = "Nothing was stored and nothing is lost; make room on the disk and retry."
"""What to do about StoreFull."""


class StoreFull(ArchiveError):
    """Say that the line could not be written whole; the shard is as it was before."""

    code = "full"


class StoreClosed(ArchiveError):
    """Say that the archive was used after it was closed."""

    code = "closed"


class NotAllowed(ArchiveError):
    """Say that only a person may do this."""

    exit_code = 1
    code = "not_allowed"


class NoTombstoneKey(ArchiveError):
    """Say that the store's key, which tombstones of erased values need, is not on this machine."""

    code = "no_key"


class NothingOfItsOwn(ArchiveError):
    """Say why this machine can keep nothing that it could know again as its own."""

    code = "nothing_of_its_own"


class Refused(ArchiveError):
    """Say why the write gate did not take something; ``reasons`` holds codes and sentences.

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
    """Say that the store keeps nothing beyond a session."""

    code = "long_term_off"


class Reason(NamedTuple):
    """Why the gate decided so: a code to script against and a sentence to read.

    >>> archive = ArchivalStore()
    >>> decision = archive.offer(Draft("The password is hunter2-Xy9"), Origin("user", "ada"))
    >>> decision.reasons[0].code, decision.reasons[0].message
    ('secret', 'It holds a credential (password). Leave that out.')
    """

    code: str
    message: str
