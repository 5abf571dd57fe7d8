"""Opens back ends by address, loading their code only then."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .interface import ARCHIVES, LIBRARIES, WORKING, BackendAddress, BackendAway, Instance

if TYPE_CHECKING:
    from ..memory.log.log import Log
    from .redis_state import RedisState


def open_archive(where: BackendAddress, instance: Instance) -> Log:
    """Return the log of an archive on a server, which is not contacted yet."""
    log: Log = loaded(ARCHIVES, where)(where.url, instance)
    return log


def open_working(where: BackendAddress, **more: Any) -> RedisState:
    """Return the server of the short-lived tiers, with ``RedisState``'s options; it is not contacted yet."""
    state: RedisState = loaded(WORKING, where)(where.url, **more)
    return state


def loaded(known: Mapping[str, str], where: BackendAddress) -> Any:
    """Return the class that serves an address; raise ``BackendAway`` if its library is not installed."""
    module, _, name = known[where.url.partition("://")[0].lower()].partition(":")
    try:
        return getattr(import_module(f".{module}", __package__), name)
    except ImportError as error:
        library, extra = LIBRARIES[module]  # a project has no memkit
        raise BackendAway(
            f"{where.kind} needs a library that is not installed ({error.name}): pip install {library} (the extra "
            f"memkit-agent[{extra}])."
        ) from None
