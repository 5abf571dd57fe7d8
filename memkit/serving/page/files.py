"""Write the page as files: the same rooms and templates, read-only, and with nothing about the machine in them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.serving.page.room import SHOWN, brief
from memkit.serving.page.rooms import ROOMS
from memkit.serving.page.templates import ASSETS, asset, render
from memkit.serving.page.visits import Visit
from memkit.store.files import write_whole
from memkit.workspace import Workspace

LEFT_OUT = ("changes", "settings", "people", "time", "talks", "evolution")
"""Rooms that concern every user, or that only make sense with a server."""
MARK = "index.html"


@dataclass
class WrittenPage:
    """The files written."""

    files: list[str] = field(default_factory=list)
    left_out: bool = False
    """Whether some records have no page of their own."""


def write_page(workspace: Workspace, user: str, out: Path, *, limit: int = 1000) -> WrittenPage:
    """Write what ``user`` may see into the folder ``out``, which is new or holds an earlier page.

    Raises:
        UsageError: The folder holds something else.
    """
    if out.exists() and any(out.iterdir()) and "· memkit</title>" not in _head(out / MARK):
        raise UsageError(f"{out} has other content. Name a new folder.")
    visit = Visit(user, "read", token="file")  # with a reader's rights, not those of the server's operator
    written = WrittenPage()
    found = workspace.archive.browse(user, limit=limit + 1)
    written.left_out = len(found) > limit
    known = {record.id for record in found[:limit]}
    for status in ("quarantined", "superseded", "retired", "rejected"):
        known |= {record.id for record in workspace.archive.browse(user, status=status, limit=limit)}

    def write(path: str, room: str, shown: dict[str, Any], template: str = "") -> None:
        link = partial(file_link, known, path.count("/"))
        page = render(template or room, visit, shown, link=link, is_file=True, room=ROOMS[room])
        _written(out, path, page.encode("utf-8", "backslashreplace"), written)

    for name in (name for name in ROOMS if name not in LEFT_OUT):
        write(_file_of(name), name, ROOMS[name].look(workspace, visit, {"all": "1"}, None))
    hits = found[:limit]
    for start in range(0, len(hits), SHOWN):
        more = hits[start + SHOWN - 1].id if len(hits) > start + SHOWN else None
        shown = {"q": "", "type": "", "tag": "", "status": "live", "types": (), "statuses": (), "abstained": False}
        shown |= {"hits": [brief(one, workspace.clock()) for one in hits[start : start + SHOWN]], "more": more}
        write(_file_of("memory") if start == 0 else f"memory-{_stem(hits[start - 1].id)}.html", "memory", shown)
    for id in sorted(known):
        write(f"memory/{_stem(id)}.html", "memory", ROOMS["memory"].look(workspace, visit, {}, id), "record")
    for room in ("skills", "plans"):
        for name in _names(workspace, visit, room):
            write(f"{room}/{_stem(name)}.html", room, ROOMS[room].look(workspace, visit, {}, name))
    _written(out, "static/page.css", asset("page.css"), written)
    return written


def _names(workspace: Workspace, visit: Visit, room: str) -> Iterable[str]:
    shown = ROOMS[room].look(workspace, visit, {}, None)
    return [one.name for one in shown["skills" if room == "skills" else "domains"]]


def _file_of(room: str) -> str:
    return MARK if room == "today" else f"{room}.html"


def file_link(known: set[str], depth: int, room: str, id: str | None = None, **asked: Any) -> str:
    """Return the address of another file; a record without one leads to the list.

    >>> file_link({"a"}, 1, "memory", "a"), file_link(set(), 0, "memory", "b"), file_link(set(), 1, "today")
    ('../memory/a.html', 'memory.html', '../index.html')
    """
    up = "../" * depth
    if room == "static" and id in ASSETS:
        return f"{up}static/{id}"
    if room in LEFT_OUT:
        return f"{up}{MARK}"
    if room == "memory" and id is None and asked.get("before"):
        return f"{up}memory-{_stem(str(asked['before']))}.html"
    if id is None or (room == "memory" and id not in known):
        return up + _file_of(room)
    return f"{up}{room}/{_stem(id)}.html"


def _stem(id: str) -> str:
    """Return an id as a file name; an id that could lead elsewhere becomes its digest."""
    return id if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", id) else hashlib.sha256(id.encode()).hexdigest()[:26]


def _written(out: Path, path: str, data: bytes, written: WrittenPage) -> None:
    place = out / path
    place.parent.mkdir(parents=True, exist_ok=True)
    write_whole(place, data)
    written.files.append(path)


def _head(path: Path) -> str:
    try:
        return path.read_text("utf-8")[:4000]
    except (OSError, UnicodeDecodeError):
        return ""
