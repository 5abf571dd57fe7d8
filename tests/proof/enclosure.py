"""Run a command on a machine that holds nothing but loopback, and write down who asked for more.

``python enclosure.py REPORT COMMAND …`` needs a network namespace of its own, which ``unshare -rn`` gives to anybody.
In there every address leads back to the machine itself, so that a connection to another one is refused at once, and
each first packet of one, each datagram and each question for a name is seen on its way. That holds for whatever the
command starts, in any language, which a hook in Python does not.
"""

from __future__ import annotations

import ctypes
import functools
import ipaddress
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

_TCP, _UDP, _NAMES = 6, 17, 53
_SYN, _ACK = 0x02, 0x10
_EVERY_PROTOCOL = 0x0003
_SENT = 4
"""The kind of a packet that leaves; each is seen a second time where it arrives."""
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
"""Flags of ``unshare(2)``."""
_SETTLED = 0.05
"""Seconds without a packet after which none is on its way any more."""


@functools.cache
def is_possible() -> bool:
    """Return whether this machine gives a network namespace to the user who runs the tests."""
    if not shutil.which("unshare") or not shutil.which("ip"):
        return False
    return (
        subprocess.run(["unshare", "-rn", "ip", "link", "set", "lo", "up"], capture_output=True, check=False).returncode
        == 0
    )


def enclosed(command: Sequence[str | Path], report: Path) -> list[str]:
    """Return the command line that runs ``command`` without a network and writes what it asked for to ``report``."""
    return ["unshare", "-rn", sys.executable, str(Path(__file__).resolve()), str(report), *map(str, command)]


def asked_for(report: Path) -> list[str]:
    """Return every place outside of the machine that the command of ``report`` wanted to reach."""
    places: list[str] = json.loads(report.read_text(encoding="utf-8"))
    return places


def main(report: str, *command: str) -> int:
    """Run ``command`` in the namespace that this process was started in, and return its exit code."""
    watch = Watch()
    watch.start()
    code = subprocess.run(command, check=False).returncode
    Path(report).write_text(json.dumps(watch.end()), encoding="utf-8")
    return code


def shut_off(report: str) -> None:
    """Go on in a child without a network, as ``enclosed`` runs a command; this process reports and ends as it did.

    Only for a process with one thread. Raises OSError where the machine gives no network namespace.
    """
    ids = {"setgroups": "deny", "uid_map": f"0 {os.getuid()} 1", "gid_map": f"0 {os.getgid()} 1"}
    if ctypes.CDLL(None, use_errno=True).unshare(_NEW_USER | _NEW_NETWORK):
        raise OSError(ctypes.get_errno(), "unshare gives no network namespace")
    for name, text in ids.items():
        Path("/proc/self", name).write_text(text)
    watch = Watch()
    if (child := os.fork()) == 0:
        watch.close()
        return
    watch.start()
    _, status = os.waitpid(child, 0)
    Path(report).write_text(json.dumps(watch.end()), encoding="utf-8")
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


class Watch(threading.Thread):
    """Leads every address to loopback, reads each packet there, and keeps the places that are not this machine."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        for step in ("link set lo up", "route add local default dev lo", "-6 route add local default dev lo"):
            subprocess.run(["ip", *step.split()], check=True)
        self._seen: dict[str, None] = {}
        self._over = threading.Event()
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_EVERY_PROTOCOL))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        self._socket.bind(("lo", 0))
        self._socket.settimeout(_SETTLED)

    def run(self) -> None:
        """Read until the end was asked for and nothing comes any more."""
        while True:
            try:
                packet, address = self._socket.recvfrom(65535)
            except TimeoutError:
                if self._over.is_set():
                    return
                continue
            if address[2] == _SENT and (place := outside(packet)):
                self._seen[place] = None

    def close(self) -> None:
        """Leave the reading to another process."""
        self._socket.close()

    def end(self) -> list[str]:
        """Return the places that were asked for, each once, in the order of the first time."""
        self._over.set()
        self.join()
        return list(self._seen)


def outside(packet: bytes) -> str | None:
    """Return the place that an IP packet is for, where it opens a way to another machine or asks for a name."""
    if packet[0] >> 4 == 4:
        protocol, target, rest = packet[9], packet[16:20], packet[(packet[0] & 15) * 4 :]
    else:
        protocol, target, rest = packet[6], packet[24:40], packet[40:]
    if protocol not in (_TCP, _UDP) or len(rest) < 8:
        return None
    if protocol == _TCP and rest[13] & (_SYN | _ACK) != _SYN:
        return None
    (port,) = struct.unpack("!H", rest[2:4])
    if port == _NAMES and protocol == _UDP:
        return f"the name {name_in(rest[8:])}"
    address = ipaddress.ip_address(target)
    return None if address.is_loopback else f"{'TCP' if protocol == _TCP else 'UDP'} {address} port {port}"


def name_in(question: bytes) -> str:
    r"""Return the first name that a DNS message asks for.

    >>> name_in(bytes(12) + b"\x07example\x03com\x00")
    'example.com'
    """
    labels: list[str] = []
    place = 12
    while place < len(question) and (length := question[place]):
        labels.append(question[place + 1 : place + 1 + length].decode("ascii", "replace"))
        place += 1 + length
    return ".".join(labels)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
