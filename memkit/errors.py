"""The errors that a user can act on, and the exit code of each kind.

MemkitError
├── UsageError           2   bad usage or invalid input
├── NegativeAnswer       1   the work was done and the answer is no
│   └── NotFound         1
└── EnvironmentFault     3   the store or the environment cannot do it
    ├── StoreFault       3   damaged, locked too long, not trustworthy
    │   └── StoreNotFound      3   no store here
    ├── NotTrusted       3   the store would run or contact something, and nobody trusted it here
    ├── MissingExtra     3   a program, library or server is not installed
    └── Unserved         3   a model did not answer

The runtime's rooms cannot import this module. They define errors of their own that also carry ``exit_code``; the
command line treats any exception with an integer ``exit_code`` as an answer to the user and all others as bugs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class MemkitError(Exception):
    """Say in one line what happened, where, and what to do next.

    ```python
    from memkit import MemkitError

    try:
        store.search("tea", user="ada", as_of="yesterday")
    except MemkitError as error:
        assert "yesterday" in str(error)
    ```
    """

    exit_code = 2
    code = "error"

    def __init__(self, message: str, *, path: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.line = line


class UsageError(MemkitError):
    """Report bad usage or invalid input."""

    code = "usage"


class NegativeAnswer(MemkitError):
    """Report that the work was done and the answer is no."""

    exit_code = 1
    code = "negative"


class NotFound(NegativeAnswer):
    """Report that what was asked for does not exist.

    ```python
    from memkit import NotFound

    try:
        store.get("no-such-id", user="ada")
    except NotFound as error:
        assert "no-such-id" in str(error)
    ```
    """

    code = "not_found"


class EnvironmentFault(MemkitError):
    """Report that the environment cannot do what was asked."""

    exit_code = 3
    code = "environment"


class StoreFault(EnvironmentFault):
    """Report that there is no usable store here."""

    code = "store"


class StoreNotFound(StoreFault):
    """Report that there is no store at the place where one was expected.

    ```python
    from memkit import StoreNotFound, open_store

    try:
        open_store("no-such-folder")
    except StoreNotFound as error:
        assert "memkit.yaml" in str(error)
    ```
    """


class NotTrusted(EnvironmentFault):
    """Report that a store would run or contact something, and nobody trusted it here."""

    code = "not_trusted"

    def __init__(self, message: str, trust: Any, demands: Any) -> None:
        super().__init__(message)
        self.trust = trust
        """The ``Trust`` that could be given."""
        self.demands = demands
        """The ``Demands`` that the trust would cover."""


class MissingExtra(EnvironmentFault):
    """Report a program, library or server that is not installed."""

    code = "missing"


class Unserved(EnvironmentFault):
    """Report that a model did not answer, what to do, and whether asking again may help."""

    def __init__(self, message: str, *, again: bool = False, wait: float | None = None) -> None:
        super().__init__(message)
        self.again = again
        self.wait = wait
        """Seconds after which the server asks to be tried again, if it says so."""
        self.status: int | None = None
        """The HTTP status of a refusal."""
        self.usage: Mapping[str, int] = {}
        """What the request cost nevertheless."""


def no_record(id: str) -> NotFound:
    """Return the error for an id that is unknown or somebody else's, without revealing which."""
    return NotFound(f"No record {id!r:.60} here, or it is another user's. 'memkit memory list' shows the ids.")
