"""Shared by the vendors' models: an SDK that may be missing, and a key and an address in the environment."""

from __future__ import annotations

import importlib
import os
import queue
import re
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from memkit.errors import EnvironmentFault, MissingExtra, UsageError
from memkit.llm.providers import ModelAddress, Patience

SECRET_PARTS = re.compile(r"(?<=//)[^/@\s]*@|[?#]\S*")
"""In an address: user name and password, and parts that may hold a key."""
NO_KEY = "none"
"""Sent instead of a key if none is wanted: the SDKs do not start without one."""


@dataclass(frozen=True)
class ModelVendor:
    """The address and key of one vendor's models, according to settings and environment."""

    provider: str
    """Also the name of the SDK's package."""
    key: str
    """The variable that holds the key; empty if none is sent."""
    address: str
    """The source of the address: a variable, or the setting ``base_url``."""
    home: str
    """The vendor's own address."""
    base_url: str | None = None
    """The address in the setting."""

    def at(self, chosen: ModelAddress) -> ModelVendor:
        """Return the vendor's protocol at another address, or with the key in another variable.

        A server of one's own never receives the vendor's key unless told so.
        """
        if chosen.base_url is None:
            return replace(self, key=chosen.key_variable or self.key)
        return replace(self, key=chosen.key_variable or "", address="base_url", base_url=chosen.base_url)

    @property
    def where(self) -> str:
        """Return the address to call; raise ``EnvironmentFault`` if the configured one is invalid."""
        given = (os.environ.get(self.address, "") if self.base_url is None else self.base_url).strip()
        try:
            parts = urlsplit(given)
            usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if given and not (usable and given.isascii() and given.isprintable()):
            shown = SECRET_PARTS.sub("", given)
            raise EnvironmentFault(f"{self.address}={shown!r:.80} is not an address. Write one like https://host/v1.")
        return given or self.home

    @property
    def shown(self) -> str:
        """Return the address as messages show it."""
        return SECRET_PARTS.sub("", self.where)

    @property
    def secret(self) -> str:
        """Return the key in the environment, which no message may show; empty if there is none."""
        return os.environ.get(self.key, "").strip() if self.key else ""

    def masked(self, text: str) -> str:
        """Return ``text`` without the key."""
        return text.replace(self.secret, "…") if self.secret else text

    def client(self, name: str, patience: Patience) -> Any:
        """Return the SDK's client class ``name``, instantiated with the key and the address of the environment.

        Raises:
            MissingExtra: The SDK is not installed.
            EnvironmentFault: There is no key, the address is invalid, or the environment names an invalid proxy.
        """
        if self.key and not self.secret:
            raise EnvironmentFault(
                f"{self.key} is not set. Put the vendor's key in the environment, or name your own server: memkit "
                "setup."
            )
        if not (self.secret.isascii() and self.secret.isprintable()):
            raise EnvironmentFault(f"{self.key} contains characters that no key has. Copy it again.")
        made = getattr(self.sdk, name)
        check_proxies()
        return made(
            api_key=self.secret or NO_KEY,
            base_url=self.where,
            timeout=self.timeout(patience, stream=False),
            max_retries=0,
        )

    def timeout(self, patience: Patience, *, stream: bool) -> Any:
        """Return the time-outs of one request in the SDK's form."""
        return self.sdk.Timeout(patience.read_timeout(stream=stream), connect=patience.connect)

    @property
    def sdk(self) -> Any:
        """Return the vendor's package; raise ``MissingExtra`` if it is not installed."""
        try:
            return importlib.import_module(self.provider)
        except ImportError as error:
            raise MissingExtra(
                f"The provider {self.provider} needs its SDK: pip install {self.provider} ({error})."
            ) from error

    @property
    def base_error(self) -> type[Exception]:
        """Return the base class of all errors of the SDK."""
        error: type[Exception] = self.sdk.APIError.__base__
        return error


def check_proxies() -> None:
    """Raise ``EnvironmentFault`` for a proxy in the environment that would break the HTTP library."""
    from urllib.request import getproxies  # loads all of HTTP and TLS, which only a vendor's model needs

    for scheme, address in getproxies().items():
        if scheme not in ("http", "https", "all"):
            continue
        kind = urlsplit(address if "://" in address else f"http://{address}").scheme
        if kind not in ("http", "https", "socks5", "socks5h"):
            raise EnvironmentFault(f"The proxy in {scheme.upper()}_PROXY has the unknown scheme {kind!r:.20}.")
        if kind.startswith("socks") and find_spec("socksio") is None:
            raise MissingExtra(f"The proxy in {scheme.upper()}_PROXY uses SOCKS: pip install socksio, or unset it.")


def no_argument(provider: str, argument: str) -> None:
    """Raise ``UsageError`` if an argument follows the colon of a provider that takes none."""
    if argument:
        raise UsageError(f"The provider {provider} takes no argument, but got {argument!r}. Name a model with --model.")


# A timer that nothing delays, neither a slow name server nor a server that only sends keep-alives.

T = TypeVar("T")


class TooSlow(Exception):
    """Report an exceeded limit; the first argument is its name in the settings, the second its seconds."""


class _End(Generic[T]):
    """Marks the end of the queue, with the error that ended it if there was one."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def timed(begin: Callable[[], Iterator[T]], patience: Patience, *, stream: bool) -> Generator[T]:
    """Yield the items of ``begin()``, fetched in a separate thread; raise ``TooSlow`` if that takes too long.

    A caller that stops, by an error or an interrupt, returns at once; the thread closes the connection with the next
    part that arrives.
    """
    arrived: queue.SimpleQueue[T | _End[T]] = queue.SimpleQueue()
    left = threading.Event()
    threading.Thread(target=_fetch, args=(begin, arrived, left), name="model", daemon=True).start()
    over = time.monotonic() + patience.whole
    bound, seconds = ("first_token", patience.first_token) if stream else ("whole", patience.whole)
    try:
        while True:
            item = _next(arrived, bound, seconds, over, patience)
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item
            bound, seconds = "between_tokens", patience.between_tokens
    finally:
        left.set()


def _fetch(begin: Callable[[], Iterator[T]], arrived: queue.SimpleQueue[T | _End[T]], left: threading.Event) -> None:
    try:
        parts = begin()
        for part in parts:
            arrived.put(part)
            if left.is_set():
                break
        close = getattr(parts, "close", None)
        if close is not None:
            close()
    except BaseException as error:  # noqa: BLE001 - raised again where somebody waits for it
        arrived.put(_End(error))
    else:
        arrived.put(_End())


def _next(
    arrived: queue.SimpleQueue[T | _End[T]], bound: str, seconds: float, over: float, patience: Patience
) -> T | _End[T]:
    left = over - time.monotonic()
    if left < seconds:
        bound, seconds = "whole", left
    try:
        return arrived.get(timeout=max(seconds, 0.001))
    except queue.Empty:
        raise TooSlow(bound, getattr(patience, bound)) from None
