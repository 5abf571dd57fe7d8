"""What the vendors' models share: an SDK that may be missing, a key in the environment, and faults in plain words."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from memkit.errors import EnvironmentFault, MissingExtra, UsageError

RETRIES = 1
"""A busy server gets one more chance; a dead one is reported at once."""
SECONDS = 120.0
UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError)
"""What an SDK raises over an answer of another shape than its protocol's."""


@dataclass(frozen=True)
class Vendor:
    """Where one vendor's models are, and what the environment says about them."""

    provider: str
    """Also the name of the SDK's package and of the extra that brings it."""
    key: str
    address: str
    home: str
    """Where the vendor itself serves."""

    @property
    def where(self) -> str:
        """Return the address to ask; raises ``EnvironmentFault`` where the environment names none that can be."""
        given = os.environ.get(self.address, "").strip()
        try:
            parts = urlsplit(given)
            usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if given and not usable:
            raise EnvironmentFault(f"{self.address}={given!r:.80} is no address. Write one like https://host/v1.")
        return given or self.home

    def client(self, name: str) -> Any:
        """Return the SDK's client class ``name``, made with the key and the address of the environment.

        Raises:
            MissingExtra: The SDK is not installed.
            EnvironmentFault: There is no key, or the address is none.
        """
        key = os.environ.get(self.key, "").strip()
        if not key:
            raise EnvironmentFault(f"{self.key} is not set. Put the vendor's key into the environment.")
        if not (key.isascii() and key.isprintable()):
            raise EnvironmentFault(f"{self.key} holds characters that no key has. Copy it again.")
        with self.clear_faults():
            made = getattr(self.sdk, name)
            return made(api_key=key, base_url=self.where, timeout=SECONDS, max_retries=RETRIES)

    @property
    def sdk(self) -> Any:
        """Return the vendor's package; raises ``MissingExtra`` where it is not installed."""
        try:
            return importlib.import_module(self.provider)
        except ImportError as error:
            raise MissingExtra(
                f"The provider {self.provider} needs its SDK: pip install 'memkit-agent[{self.provider}]' ({error})."
            ) from error

    @contextmanager
    def clear_faults(self) -> Iterator[None]:
        """Turn a failure of the server or of its answer into an ``EnvironmentFault`` that says what to do."""
        sdk, where = self.sdk, self.where
        try:
            yield
        except sdk.APITimeoutError as error:
            raise EnvironmentFault(f"{where} did not answer within {SECONDS:g} s. Try again.") from error
        except (sdk.AuthenticationError, sdk.PermissionDeniedError) as error:
            raise EnvironmentFault(f"{where} does not accept the key in {self.key}.") from error
        except sdk.NotFoundError as error:
            said = f"{where} answered with HTTP 404: {_reason(error)} Check {self.address} and --model."
            raise EnvironmentFault(said) from error
        except sdk.APIStatusError as error:
            raise EnvironmentFault(f"{where} answered with HTTP {error.status_code}: {_reason(error)}") from error
        except sdk.APIConnectionError as error:
            said = f"{where} cannot be reached, or the connection broke off. Check {self.address} and the network."
            raise EnvironmentFault(said) from error
        except (json.JSONDecodeError, sdk.APIResponseValidationError) as error:
            raise self.malformed(type(error).__name__) from error

    @contextmanager
    def readable(self) -> Iterator[None]:
        """Turn what is raised over an answer's shape into an ``EnvironmentFault``; only reading belongs inside."""
        try:
            yield
        except UNREADABLE as error:
            raise self.malformed(type(error).__name__) from error

    def malformed(self, what: str) -> EnvironmentFault:
        """Return what is told of an answer that is not of the protocol."""
        return EnvironmentFault(f"{self.where} answered in a form that is not its protocol's ({what}).")


def no_argument(provider: str, argument: str) -> None:
    """Raise ``UsageError`` where something follows the colon of a provider that takes nothing there."""
    if argument:
        raise UsageError(f"The provider {provider} takes no argument, and got {argument!r}. Name a model with --model.")


def _reason(error: Any) -> str:
    """Return the server's own words on one short line."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    said = inner.get("message") if isinstance(inner, dict) else None
    text = " ".join(str(said or error).split())
    return text if len(text) <= 200 else f"{text[:199]}…"
