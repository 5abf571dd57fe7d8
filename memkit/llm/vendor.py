"""What the vendors' models share: an SDK that may be missing, and a key and an address in the environment."""

from __future__ import annotations

import importlib
import os
import re
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from memkit.errors import EnvironmentFault, MissingExtra, UsageError
from memkit.llm.patience import Patience

SECRET_PARTS = re.compile(r"(?<=//)[^/@\s]*@|[?#]\S*")
"""Of an address: a name with a password, and what may hold a key."""


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
        if given and not (usable and given.isascii() and given.isprintable()):
            shown = SECRET_PARTS.sub("", given)
            raise EnvironmentFault(f"{self.address}={shown!r:.80} is no address. Write one like https://host/v1.")
        return given or self.home

    @property
    def shown(self) -> str:
        """Return the address as a message shows it."""
        return SECRET_PARTS.sub("", self.where)

    @property
    def secret(self) -> str:
        """Return the key that the environment holds, which no message may show."""
        return os.environ.get(self.key, "").strip()

    def client(self, name: str, patience: Patience) -> Any:
        """Return the SDK's client class ``name``, made with the key and the address of the environment.

        Raises:
            MissingExtra: The SDK is not installed.
            EnvironmentFault: There is no key, the address is none, or the environment names a proxy that cannot be one.
        """
        if not self.secret:
            raise EnvironmentFault(
                f"{self.key} is not set. Put the vendor's key into the environment "
                f"(any text where a server of your own asks for none)."
            )
        if not (self.secret.isascii() and self.secret.isprintable()):
            raise EnvironmentFault(f"{self.key} holds characters that no key has. Copy it again.")
        made = getattr(self.sdk, name)
        check_proxies()
        return made(
            api_key=self.secret, base_url=self.where, timeout=self.timeout(patience, stream=False), max_retries=0
        )

    def timeout(self, patience: Patience, *, stream: bool) -> Any:
        """Return the time-outs of one request in the SDK's form."""
        return self.sdk.Timeout(patience.read_timeout(stream=stream), connect=patience.connect)

    @property
    def sdk(self) -> Any:
        """Return the vendor's package; raises ``MissingExtra`` where it is not installed."""
        try:
            return importlib.import_module(self.provider)
        except ImportError as error:
            raise MissingExtra(
                f"The provider {self.provider} needs its SDK: pip install 'memkit-agent[{self.provider}]' ({error})."
            ) from error

    @property
    def base_error(self) -> type[Exception]:
        """Return what every error of the SDK is."""
        error: type[Exception] = self.sdk.APIError.__base__
        return error


def check_proxies() -> None:
    """Raise ``EnvironmentFault`` for a proxy in the environment that the HTTP library would stumble over."""
    for scheme, address in getproxies().items():
        if scheme not in ("http", "https", "all"):
            continue
        kind = urlsplit(address if "://" in address else f"http://{address}").scheme
        if kind not in ("http", "https", "socks5", "socks5h"):
            raise EnvironmentFault(f"The proxy in {scheme.upper()}_PROXY is of the kind {kind!r:.20}, which is none.")
        if kind.startswith("socks") and find_spec("socksio") is None:
            raise MissingExtra(f"The proxy in {scheme.upper()}_PROXY speaks SOCKS: pip install socksio, or unset it.")


def no_argument(provider: str, argument: str) -> None:
    """Raise ``UsageError`` where something follows the colon of a provider that takes nothing there."""
    if argument:
        raise UsageError(f"The provider {provider} takes no argument, and got {argument!r}. Name a model with --model.")
