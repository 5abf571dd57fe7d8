"""Where the model is, and what its failures mean to the person who started the agent."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import openai

from agent.errors import EnvironmentFault
from agent.settings import Settings

BROKEN_STREAM: tuple[type[Exception], ...] = (
    json.JSONDecodeError,
    *(importlib.import_module(name).HTTPError for name in ("httpx", "httpx2") if importlib.util.find_spec(name)),
)
"""A stream that ends half-way or is no JSON; the HTTP library of ``openai`` changed with a major version."""
UNREADABLE = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)
"""What the packages in between raise over an answer of another shape than the protocol's."""
OPENAI = "https://api.openai.com/v1"
RETRIES = 1
"""A busy server gets one more chance; a dead one is reported at once."""


@dataclass(frozen=True)
class Endpoint:
    """A server that speaks the OpenAI protocols, and the model to ask there."""

    api_key: str
    base_url: str | None
    """None stands for OpenAI itself."""
    model: str
    timeout: float

    @property
    def name(self) -> str:
        """Return how a message calls the server."""
        return self.base_url or "OpenAI"

    @property
    def address(self) -> str:
        """Return where to ask; a client that is not told looks into variables that nothing here speaks of."""
        return self.base_url or OPENAI


def endpoint_of(settings: Settings) -> Endpoint:
    """Return the endpoint that the environment names; raises ``EnvironmentFault`` without a key."""
    environment: Mapping[str, str] = settings.environment
    key = environment.get("OPENAI_API_KEY", "").strip()
    if not key:
        raise EnvironmentFault(
            "OPENAI_API_KEY is not set. Put the vendor's key into the environment or into .env "
            "(any text where a local server asks for none)."
        )
    if not (key.isascii() and key.isprintable()):
        raise EnvironmentFault("OPENAI_API_KEY holds characters that no key has. Copy it again.")
    return Endpoint(key, _base_url(environment.get("OPENAI_BASE_URL", "").strip()), settings.model, settings.timeout)


def _base_url(text: str) -> str | None:
    """Return the address of the server, or None for OpenAI; raises ``EnvironmentFault`` where it is none."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if text and not usable:
        raise EnvironmentFault(f"OPENAI_BASE_URL={text!r} is no address. Write one like http://127.0.0.1:11434/v1.")
    return text or None


def too_slow(endpoint: Endpoint) -> EnvironmentFault:
    """Return what is told of a model that takes too long."""
    return EnvironmentFault(
        f"The model at {endpoint.name} did not answer within {endpoint.timeout:g} s. Try again, or raise MODEL_TIMEOUT."
    )


@contextmanager
def clear_faults(endpoint: Endpoint) -> Iterator[None]:
    """Turn a failure of the server into an ``EnvironmentFault`` that says what to do."""
    where = endpoint.name
    try:
        yield
    except ImportError as error:
        # Which packages the HTTP library needs depends on the environment: a proxy that speaks SOCKS, for example.
        raise EnvironmentFault(f"{where} cannot be asked: {error}") from error
    except openai.APITimeoutError as error:
        raise too_slow(endpoint) from error
    except openai.AuthenticationError as error:
        raise EnvironmentFault(f"{where} does not accept the key in OPENAI_API_KEY.") from error
    except openai.NotFoundError as error:
        raise EnvironmentFault(
            f"{where} answered with HTTP 404: {_reason(error)} Check OPENAI_BASE_URL, which ends in /v1, and MODEL."
        ) from error
    except openai.APIStatusError as error:
        raise EnvironmentFault(f"{where} answered with HTTP {error.status_code}: {_reason(error)}") from error
    except openai.APIConnectionError as error:
        raise EnvironmentFault(
            f"{where} cannot be reached, or the connection broke off. Check OPENAI_BASE_URL and that the server runs."
        ) from error
    except openai.OpenAIError as error:
        raise EnvironmentFault(f"{where} failed: {_reason(error)}") from error
    except BROKEN_STREAM as error:
        raise malformed(endpoint, type(error).__name__) from error


@contextmanager
def readable(endpoint: Endpoint) -> Iterator[None]:
    """Turn what is raised over an answer's shape into an ``EnvironmentFault``; nothing but reading belongs inside."""
    try:
        yield
    except UNREADABLE as error:
        raise malformed(endpoint, type(error).__name__) from error


def malformed(endpoint: Endpoint, what: str) -> EnvironmentFault:
    """Return the fault of an answer that cannot be used."""
    return EnvironmentFault(
        f"The answer of {endpoint.name} broke off or is malformed ({what}). Try again, or check OPENAI_BASE_URL."
    )


def _reason(error: Exception) -> str:
    said = " ".join(str(getattr(error, "message", error)).split())
    return re.sub(r"^Error code: \d+ - ", "", said)[:500]
