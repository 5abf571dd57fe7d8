"""Everything the archive holds on one user, as lines that another archive takes in as they are."""

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .errors import InvalidRecord
from .index import Index
from .index_catalogue import SHARED, corpus_of
from .interface import Reason
from .lines import encode_data
from .record import JSON, Record
from .replay import Event
from .tombstones import Tombstones


class Brought(NamedTuple):
    """What restoring a line would mean."""

    is_here: bool = False
    """Whether the archive has this very line already."""
    reason: Reason | None = None
    """Why it cannot be restored."""


def held_lines(index: Index, user_id: str) -> Iterator[str]:
    """Yield the lines about a user as they were written: their own, and those on what they shared."""
    yield from index.user(user_id).lines()
    shared: set[str] = set()
    for line in index.shared().lines():
        data = json.loads(line)
        if "op" not in data and data.get("user_id") == user_id:
            shared.add(str(data["id"]))
            yield line
        elif "op" in data and (data.get("user_id") == user_id or data["target"] in shared):
            yield line


def brought(index: Index, tombstones: Tombstones, user_id: str, data: Mapping[str, JSON], shared: set[str]) -> Brought:
    """Return what restoring a line of ``user_id`` would mean.

    Args:
        index: What the archive has.
        tombstones: The values that were erased from it; what was rejected comes back as rejected.
        user_id: Whose export it is.
        data: The line.
        shared: The ids of what this user shared, as far as the export was read; added to.
    """
    try:
        id = Event.from_data(data).id if "op" in data else Record.from_data(data).id
        name = corpus_of(data)
        line = encode_data(data)
    except (InvalidRecord, ValueError) as error:
        return Brought(reason=Reason("schema", str(error)))
    if "op" not in data and name == SHARED:
        shared.add(id)
    if data.get("user_id") != user_id and not (name == SHARED and data.get("target") in shared):
        return Brought(reason=Reason("other_user", f"The line is about another user than {user_id!r:.60}."))
    known = index.corpus(name).line(id)
    if known == line:
        return Brought(is_here=True)
    if known is not None or index.catalogue.corpora_of_id(id):
        return Brought(reason=Reason("id_conflict", f"The id {id:.60} stands in the archive with other content."))
    if "op" not in data and any(bar.kind == "erased" for bar in tombstones.of(user_id, str(data["text"]))):
        return Brought(reason=Reason("tombstone", "This value was erased for this user. A person can allow it again."))
    return Brought()
