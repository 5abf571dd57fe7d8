"""The name of a clone, which its shards bear, and which no copy of its folder may go on using.

``cp -r`` copies the name with everything else, and two folders would append to shards of one name. So each name is kept
with the place where it was minted: the folder's device and inode, which survive a move, and its path, which survives
what has no lasting inodes. A folder that is at none of the places known to it is a copy, and mints a name of its own.
"""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from .errors import InvalidRecord
from .lines import encode_data
from .log import Observe
from .regular_files import whole_file


class Place(NamedTuple):
    """Where a name is used."""

    name: str
    device: int
    inode: int
    path: str

    def is_at(self, other: "Place") -> bool:
        """Return whether both are one folder, perhaps moved."""
        return self.path == other.path or (self.device, self.inode) == (other.device, other.inode)


def clone_name(state: Path, checked: Callable[[str], str], observe: Observe) -> str:
    """Return the name of the clone whose state folder this is, minted on first use and in a copy of another clone.

    The store's lock is held.
    """
    known, here = _known(state, checked), _here(state)
    for place in known:
        if place.path == "" or place.is_at(here):
            if place != here._replace(name=place.name):
                _write(state, [here._replace(name=place.name), *(one for one in known if one != place)])
            return place.name
    made = here._replace(name=os.urandom(6).hex())
    _write(state, [made, *known])
    if known:
        observe({"event": "writer", "reason": f"copied from {known[0].path}", "name": made.name})
    return made.name


def copied_from(state: Path, checked: Callable[[str], str]) -> str | None:
    """Return the path of the store that this one is a copy of, as long as it has no name of its own."""
    known = _known(state, checked)
    if not known or any(place.path == "" or place.is_at(_here(state)) for place in known):
        return None
    return known[0].path


def _here(state: Path) -> Place:
    status = state.stat()
    return Place("", status.st_dev, status.st_ino, os.path.realpath(state.parent.parent))


def _known(state: Path, checked: Callable[[str], str]) -> list[Place]:
    """Return the names and places that are noted, the latest first; a name noted without a place has no path."""
    try:
        lines = whole_file(state / "writer").decode("utf-8", "surrogateescape").splitlines()
    except FileNotFoundError:
        return []
    places = []
    for line in filter(str.strip, lines):
        with suppress(InvalidRecord):  # a line that somebody damaged; a new name costs nothing but a shard
            places.append(_place(line, checked))
    return places


def _place(line: str, checked: Callable[[str], str]) -> Place:
    try:
        noted = json.loads(line)
        return Place(checked(noted["name"]), int(noted["device"]), int(noted["inode"]), str(noted["path"]))
    except (ValueError, TypeError, KeyError):
        return Place(checked(line.strip()), 0, 0, "")


def _write(state: Path, places: list[Place]) -> None:
    path = state / "writer"
    beside = path.with_name(f"writer.{os.urandom(6).hex()}")
    text = "".join(encode_data(place._asdict()) + "\n" for place in places)
    beside.write_text(text, encoding="utf-8", errors="surrogateescape")
    beside.replace(path)
