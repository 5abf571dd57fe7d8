"""The appearance of the rooms: one set of templates, for a server that answers forms and for read-only files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from memkit import __version__
from memkit.review.text import parts, verdict_call
from memkit.runtime.host.terminal import counted, harmless, one_line
from memkit.serving.page.rooms import ROOMS
from memkit.serving.page.visits import Visit

HERE = Path(__file__).resolve().parent / "templates"
CHARTS = Path(__file__).resolve().parents[2] / "evolution"
ASSETS: Mapping[str, str] = {"page.css": "text/css", "page.js": "text/javascript", "graph.js": "text/javascript"}

Link = Callable[..., str]
"""Returns the address of a room, or of one thing in it: ``link("memory", id, q="tea")``."""


@cache
def environment() -> Environment:
    """Return the templates; every value is escaped, whatever a file is called."""
    made = Environment(
        loader=FileSystemLoader([HERE, CHARTS]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"safe_text": harmless, "line": one_line, "parts": parts, "call": verdict_call}
    made.globals |= {"counted": counted, "version": __version__}
    return made


def asset(name: str) -> bytes:
    """Return one of the files that the page loads."""
    return (HERE / name).read_bytes()


@cache
def asset_version(name: str) -> str:
    """Return a file's version for its address, so that a browser with an older copy requests it anew."""
    return hashlib.sha256(asset(name)).hexdigest()[:12]


def served_link(room: str, id: str | None = None, **asked: Any) -> str:
    """Return an address on the server.

    >>> served_link("memory", "a/b", q="tea & milk"), served_link("today")
    ('/memory/a%2Fb?q=tea+%26+milk', '/')
    """
    path = "/" if room == "today" and id is None else f"/{room}" + (f"/{quote(id, safe='')}" if id is not None else "")
    query = urlencode({key: value for key, value in asked.items() if value})
    return f"{path}?{query}" if query else path


def render(
    template: str, visit: Visit | None, shown: Mapping[str, Any], *, link: Link = served_link, **more: Any
) -> str:
    """Return a page as HTML; ``more`` has the room, a message, and for files ``is_file``."""
    is_file = bool(more.pop("is_file", False))
    rooms = [room for room in ROOMS.values() if visit and (visit.is_operator or not room.operators)]
    common: dict[str, Any] = {"visit": visit, "rooms": rooms, "link": link, "is_file": is_file, "room": None}
    common |= {"message": "", "fault": "", "may": lambda scope: visit is not None and not is_file and visit.may(scope)}
    common |= {"asset": (lambda name: link("static", name)) if is_file else _asset_address}
    page: str = environment().get_template(f"{template}.html").render(**{**common, **more, **shown})
    return page


def _asset_address(name: str) -> str:
    return f"/static/{name}?v={asset_version(name)}"
