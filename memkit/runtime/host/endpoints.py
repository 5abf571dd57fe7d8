"""Where the model is served, and what its failures mean to the person who started the agent."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from .sessions import CannotServe
from .settings import ProjectSettings

_SECRET_PARTS = re.compile(r"(?<=//)[^/@\s]*@|[?#]\S*")
UNREADABLE = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)
"""What the client packages raise for an answer that does not follow the protocol."""


@dataclass(frozen=True)
class Vendor:
    """The server asked when no address is given, and the variables that change it."""

    name: str
    key: str
    url: str
    home: str
    """The vendor's own address."""
    example: str
    """Example address of a self-hosted server."""


OPENAI = Vendor("OpenAI", "OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1", "http://127.0.0.1:11434/v1")
ANTHROPIC = Vendor(
    "Anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com", "http://127.0.0.1:8080"
)


@dataclass(frozen=True)
class Endpoint:
    """A server that speaks a vendor's protocol, and the model to request there."""

    api_key: str
    base_url: str | None
    """None stands for the vendor itself."""
    model: str
    timeout: float
    vendor: Vendor = OPENAI
    retries: int = 1
    """How often a request that failed for a passing reason is made again."""

    @property
    def name(self) -> str:
        """Return the server's name for use in messages."""
        return _SECRET_PARTS.sub("", self.base_url or self.vendor.name)

    @property
    def address(self) -> str:
        """Return the address to use; without one, a client would read environment variables not documented here."""
        return self.base_url or self.vendor.home


def endpoint_of(settings: ProjectSettings, vendor: Vendor = OPENAI) -> Endpoint:
    """Return the endpoint that the environment names; raise ``CannotServe`` if there is no key."""
    environment = settings.environment
    key = environment.get(vendor.key, "").strip()
    if not key:
        raise CannotServe(
            f"{vendor.key} is not set. Put the vendor's key in the environment or in .env (any text if a local server "
            "needs none)."
        )
    if not (key.isascii() and key.isprintable()):
        raise CannotServe(f"{vendor.key} contains characters that no key has. Copy it again.")
    url = _base_url(environment.get(vendor.url, "").strip(), vendor)
    return Endpoint(key, url, settings.model, settings.timeout, vendor, settings.retries)


def _base_url(text: str, vendor: Vendor) -> str | None:
    """Return the address of the server, or None for the vendor; raise ``CannotServe`` if it is not an address."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if text and not (usable and text.isascii() and text.isprintable()):
        shown = _SECRET_PARTS.sub("", text)
        raise CannotServe(f"{vendor.url}={shown!r:.80} is not an address. Write one like {vendor.example}.")
    if not vendor.home.endswith("/v1"):  # its clients append that themselves, but documents of other servers include it
        text = text.rstrip("/").removesuffix("/v1")
    return text or None


def too_slow(endpoint: Endpoint) -> CannotServe:
    """Return the error for a model that takes too long."""
    return CannotServe(
        f"The model at {endpoint.name} did not answer within {endpoint.timeout:g} s. Try again, or raise MODEL_TIMEOUT."
    )


def malformed(endpoint: Endpoint, what: str) -> CannotServe:
    """Return the error for an answer that cannot be used."""
    return CannotServe(
        f"The answer of {endpoint.name} broke off or is malformed ({what}). Try again, or check {endpoint.vendor.url}."
    )


@contextmanager
def readable(endpoint: Endpoint) -> Iterator[None]:
    """Turn errors raised while reading an answer into ``CannotServe``; only reading belongs in the block."""
    try:
        yield
    except UNREADABLE as error:
        raise malformed(endpoint, type(error).__name__) from error


@contextmanager
def clear_faults(endpoint: Endpoint, sdk: ModuleType) -> Iterator[None]:
    """Turn a failure of the server into a ``CannotServe`` that says what to do.

    Args:
        endpoint: The server named in the messages.
        sdk: The vendor's package, ``openai`` or ``anthropic``, whose errors have the same names. It is passed in,
            because the runtime requires neither.
    """
    kinds: Any = sdk
    anything: type[Exception] = getattr(sdk, "OpenAIError", None) or kinds.AnthropicError
    broken: tuple[type[Exception], ...] = (json.JSONDecodeError, *_broken_streams())
    where, vendor = endpoint.name, endpoint.vendor
    try:
        yield
    except ImportError as error:
        # The HTTP library's own requirements depend on the environment, for example a proxy that speaks SOCKS.
        raise CannotServe(f"The request to {where} failed: {error}") from error
    except kinds.APITimeoutError as error:
        raise too_slow(endpoint) from error
    except kinds.AuthenticationError as error:
        raise CannotServe(f"{where} does not accept the key in {vendor.key}.") from error
    except kinds.NotFoundError as error:
        end = ", which ends in /v1," if vendor.home.endswith("/v1") else ""
        raise CannotServe(
            f"{where} answered with HTTP 404: {_reason(error)} Check {vendor.url}{end} and MODEL."
        ) from error
    except kinds.APIStatusError as error:
        raise CannotServe(f"{where} answered with HTTP {error.status_code}: {_reason(error)}") from error
    except kinds.APIConnectionError as error:
        raise CannotServe(
            f"{where} cannot be reached, or the connection broke off. Check {vendor.url} and that the server runs."
        ) from error
    except anything as error:
        raise CannotServe(f"{where} failed: {_reason(error)}") from error
    except broken as error:
        raise malformed(endpoint, type(error).__name__) from error


@cache
def _broken_streams() -> tuple[type[Exception], ...]:
    """Return the errors of a stream that breaks off; the vendors' HTTP library changed with a major version."""
    names = [name for name in ("httpx", "httpx2") if importlib.util.find_spec(name)]
    return tuple(importlib.import_module(name).HTTPError for name in names)


def _reason(error: Exception) -> str:
    said = " ".join(str(getattr(error, "message", error)).split())
    return re.sub(r"^Error code: \d+ - ", "", said)[:500]
