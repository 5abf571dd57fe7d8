"""Show a shard as sentences, one a line, for ``git diff`` and ``git log -p``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from memkit.runtime.memory.record.errors import InvalidRecord
from memkit.runtime.memory.record.lines import JSON, decode_line, encode_data
from memkit.terminal import one_line

Open = Callable[[Mapping[str, JSON]], Mapping[str, JSON]]
"""Gives a sealed line with what was sealed in it, or as it is where the key is not here."""

_SHOWN = {
    "scope": "user", "trust": "verified", "confidence": 1.0, "source": "explicit", "session_id": None,
    "supersedes": None, "valid_from": None, "valid_until": None, "source_url": None, "agent_id": None,
}  # fmt: skip
"""What is worth a word when it is not this."""


def as_it_is(data: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """Open nothing."""
    return data


def readable(shard: bytes, open_line: Open = as_it_is) -> Iterator[str]:
    """Yield one line for each line of a shard, without anything that a terminal would obey."""
    for raw in shard.split(b"\n"):
        if not raw.strip():
            continue
        try:
            data = open_line(decode_line(raw.removeprefix(b"\xef\xbb\xbf")))
        except InvalidRecord:
            yield f"? {one_line(raw.decode('utf-8', 'replace'))}"
            continue
        yield one_line(_event(data) if "op" in data else _record(data))


def _record(line: Mapping[str, JSON]) -> str:
    data: dict[str, JSON] = {"trust": "candidate", **line}  # a line that does not say so is not vouched for
    tags = data.get("tags")
    labels = "".join(f" #{tag}" for tag in tags) if isinstance(tags, list) else ""
    shown = "(sealed)" if "sealed" in data else str(data.get("text"))
    notes = [f"{key} {data[key]}" for key, usual in _SHOWN.items() if data.get(key, usual) != usual]
    about = f" ({', '.join(notes)})" if notes else ""
    kind = data.get("type", "fact")
    return f"{data.get('created_at')} {data.get('user_id')} {kind}: {shown}{labels}{about} [{data.get('id')}]"


def _event(data: Mapping[str, JSON]) -> str:
    fields, reason = data.get("fields"), data.get("reason")
    what = f" {encode_data(fields)}" if isinstance(fields, Mapping) and fields else ""
    why = f": {reason}" if reason else ""
    sealed = " (sealed)" if "sealed" in data else ""
    by = f"{data.get('op')} {data.get('target')} by {data.get('actor', 'import')}"
    return f"{data.get('at')} {data.get('user_id')} {by}{why}{what}{sealed} [{data.get('id')}]"
