"""Where the model is, and what its failures mean to the person who started the agent."""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import anthropic

from agent.errors import EnvironmentFault
from agent.settings import Settings

KEY = "ANTHROPIC_API_KEY"
URL = "ANTHROPIC_BASE_URL"
ANTHROPIC = "https://api.anthropic.com"
RETRIES = 1
"""A busy server gets one more chance; a dead one is reported at once."""
BROKEN_STREAM: tuple[type[Exception], ...] = (
    json.JSONDecodeError,
    *(importlib.import_module(name).HTTPError for name in ("httpx", "httpx2") if importlib.util.find_spec(name)),
)
"""A stream that ends half-way or is no JSON; the HTTP library of ``anthropic`` changed with a major version."""


@dataclass(frozen=True)
class Endpoint:
    """A server that speaks the Messages protocol, and the model to ask there."""

    api_key: str
    base_url: str | None
    """None stands for Anthropic itself."""
    model: str
    timeout: float

    @property
    def name(self) -> str:
        """Return how a message calls the server."""
        return self.base_url or "Anthropic"

    @property
    def address(self) -> str:
        """Return where to ask; a client that is not told takes an empty variable for an address."""
        return self.base_url or ANTHROPIC


def endpoint_of(settings: Settings) -> Endpoint:
    """Return the endpoint that the environment names; raises ``EnvironmentFault`` without a key or for no address."""
    key = settings.environment.get(KEY, "").strip()
    if not key:
        raise EnvironmentFault(f"{KEY} is not set. Put the vendor's key into the environment or into .env.")
    if not (key.isascii() and key.isprintable()):
        raise EnvironmentFault(f"{KEY} holds characters that no key has. Copy it again.")
    address = settings.environment.get(URL, "").strip()
    if address and not _is_address(address):
        raise EnvironmentFault(f"{URL}={address!r} is no address. Write one like http://127.0.0.1:8080.")
    return Endpoint(key, address.rstrip("/").removesuffix("/v1") or None, settings.model, settings.timeout)


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


@contextmanager
def clear_faults(endpoint: Endpoint) -> Iterator[None]:
    """Turn a failure of the server into an ``EnvironmentFault`` that says what to do."""
    try:
        yield
    except ImportError as error:
        # Which packages the HTTP library needs depends on the environment: a proxy that speaks SOCKS, for example.
        raise EnvironmentFault(f"{endpoint.name} cannot be asked: {error}") from error
    except anthropic.APITimeoutError as error:
        raise EnvironmentFault(
            f"The model at {endpoint.name} did not answer within {endpoint.timeout:g} s. Try again, or raise MODEL_TIMEOUT."
        ) from error
    except anthropic.AuthenticationError as error:
        raise EnvironmentFault(f"{endpoint.name} does not accept the key in {KEY}.") from error
    except anthropic.APIStatusError as error:
        raise EnvironmentFault(f"{endpoint.name} answered with HTTP {error.status_code}: {_one_line(error)}") from error
    except anthropic.APIConnectionError as error:
        raise EnvironmentFault(
            f"{endpoint.name} cannot be reached, or the connection broke off. Check {URL} and that the server runs."
        ) from error
    except anthropic.AnthropicError as error:
        raise EnvironmentFault(f"{endpoint.name} failed: {_one_line(error)}") from error
    except BROKEN_STREAM as error:
        raise broke_off(endpoint, type(error).__name__) from error


def broke_off(endpoint: Endpoint, what: str) -> EnvironmentFault:
    """Return the fault of an answer that cannot be used."""
    return EnvironmentFault(f"The answer of {endpoint.name} broke off or is malformed ({what}). Try again.")


def _one_line(error: Exception) -> str:
    return " ".join(str(getattr(error, "message", error)).split())[:500]
