"""Keep a process of the tests from reaching beyond this machine, and from leaning on memkit."""

from __future__ import annotations

import ipaddress
import ssl
import sys
from collections.abc import Sequence


class NoMemkit:
    """Refuses to import memkit: the project has to stand alone."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> None:
        """Raise ``ImportError`` for memkit and leave everything else to others."""
        if name.partition(".")[0] == "memkit":
            raise ImportError("memkit must not be needed here")


def stay_offline() -> None:
    """Refuse every connection that leaves this machine, and memkit, for the rest of the process."""
    sys.addaudithook(_watch)
    sys.meta_path.insert(0, NoMemkit())
    # Every client reads all certificates when it is made, which is slow, and nothing here speaks TLS.
    ssl.SSLContext.load_verify_locations = _read_none  # type: ignore[method-assign]


def _read_none(*_: object, **__: object) -> None:
    """Take no certificates."""


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.connect" and not _is_local(arguments[1]):
        raise ConnectionRefusedError(f"The tests stay on this machine; somebody wanted {arguments[1]!r}.")
    if (
        event == "socket.getaddrinfo"
        and arguments[0] not in (None, "localhost", b"localhost")
        and not _is_loopback(arguments[0])
    ):
        raise ConnectionRefusedError(f"The tests ask no name server; somebody wanted {arguments[0]!r}.")


def _is_local(address: object) -> bool:
    return not isinstance(address, tuple) or _is_loopback(address[0])


def _is_loopback(host: object) -> bool:
    try:
        return ipaddress.ip_address(str(host)).is_loopback
    except ValueError:
        return False
