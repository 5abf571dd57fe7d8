"""LangGraph: items as JSON, also from LangMem, or the table ``store`` of SQLite or of a Postgres dump."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from memkit.errors import UsageError
from memkit.interchange.containers import Line, is_sqlite, objects, opened_table, parsed_object
from memkit.interchange.interface import ImportSource, Item, Unfit, Wishes, foreign
from memkit.runtime.memory.record.lines import JSON, Reason

COLUMNS = frozenset({"prefix", "key", "value"})
TEXTS = ("content", "text", "memory", "data", "fact")
"""Keys of a value that may hold its text; ``--map text=KEY`` names another."""


def read_langgraph(source: ImportSource, wishes: Wishes) -> Iterator[Item]:
    """Yield one memory per item of a store.

    Raises:
        UsageError: Nobody said whose items these are.
    """
    if wishes.user is None and wishes.user_label is None:
        raise UsageError(
            "The user of these items is unknown. Give --user-label N if a label of their namespace is the user (the "
            "first is 1), or --user if they all belong to one."
        )
    labelled = wishes.user_label is None and _names_users(source, str(wishes.user))
    for number, entry in _items(source):
        if isinstance(entry, Reason):
            yield Unfit(number, (entry,))
        else:
            yield _memory(number, entry, wishes, labelled=labelled)


def _items(source: ImportSource) -> Iterator[Line]:
    if is_sqlite(source):
        yield from _rows(source)
    elif _is_dump(source):
        yield from _dumped(source)
    else:
        yield from objects(source, "items", "results")


def _names_users(source: ImportSource, user: str) -> bool:
    """Return whether namespaces name this user, so that an item that does not is another's."""
    entries = (entry for _, entry in _items(source) if not isinstance(entry, Reason))
    return any(user in _labels(entry) for entry in entries)


def _memory(number: int, entry: Mapping[str, JSON], wishes: Wishes, *, labelled: bool) -> Item:
    labels, value = _labels(entry), entry.get("value")
    owner = _owner(labels, wishes, labelled=labelled)
    if owner is None:
        message = "Its namespace does not name the user it is imported for."
        if wishes.user_label is not None:
            message = f"Its namespace has {len(labels)} labels, so no label {wishes.user_label}."
        return Unfit(number, (Reason("other_user", message),))
    text, rest = _text_of(value, wishes)
    if text is None:
        message = "No text was found in its value. Name its key with --map text=KEY."
        return Unfit(number, (Reason("schema", message),))
    data: dict[str, Any] = {
        "text": text, "user_id": owner, "created_at": entry.get("created_at"), "valid_until": entry.get("expires_at"),
        "source_url": f"langgraph:{'.'.join(labels)}/{entry.get('key')}",
        "tags": [label for label in labels if label != owner],
    }  # fmt: skip
    if rest:
        data["langgraph"] = rest
    return foreign(number, data, wishes, replaces=True)


def _labels(entry: Mapping[str, JSON]) -> list[str]:
    namespace = entry.get("namespace")
    if isinstance(namespace, str):
        return namespace.split(".")
    return [str(label) for label in namespace] if isinstance(namespace, list) else []


def _owner(labels: list[str], wishes: Wishes, *, labelled: bool) -> str | None:
    if wishes.user_label is not None:
        return labels[wishes.user_label - 1] if wishes.user_label <= len(labels) else None
    return wishes.user if not labelled or wishes.user in labels else None


def _text_of(value: JSON, wishes: Wishes) -> tuple[str | None, JSON]:
    """Return the text of a value and the rest of the value."""
    if isinstance(value, str):
        return value, None
    if not isinstance(value, Mapping):
        return None, None
    keys = (wishes.names["text"],) if "text" in wishes.names else TEXTS
    for key in keys:
        inner = value.get(key)
        rest = {name: other for name, other in value.items() if name != key}
        if isinstance(inner, str):
            return inner, rest
        if isinstance(inner, Mapping) and isinstance(text := inner.get("content"), str):
            return text, rest | {name: other for name, other in inner.items() if name != "content"}
    return None, None


def _rows(source: ImportSource) -> Iterator[Line]:
    with opened_table(source, "store", COLUMNS) as (sql, columns):
        times = [name if name in columns else f"NULL AS {name}" for name in ("created_at", "updated_at", "expires_at")]
        rows = sql.execute(f"SELECT prefix, key, value, {', '.join(times)} FROM store ORDER BY prefix, key")
        for number, (prefix, key, value, created, updated, expires) in enumerate(rows, 1):
            inner = parsed_object(value if isinstance(value, bytes) else str(value).encode())
            if isinstance(inner, Reason):
                yield number, inner
                continue
            yield number, {
                "namespace": prefix, "key": key, "value": inner, "created_at": created, "updated_at": updated,
                "expires_at": expires,
            }  # fmt: skip


COPY = re.compile(rb"COPY (?:\w+\.)?store \((?P<columns>[^)]*)\) FROM stdin;")
UNESCAPED = {b"\\n": b"\n", b"\\t": b"\t", b"\\r": b"\r", b"\\\\": b"\\", b"\\b": b"\b", b"\\f": b"\f", b"\\v": b"\v"}


def _is_dump(source: ImportSource) -> bool:
    """Return whether a file was written by ``pg_dump``."""
    with source.opened() as file:
        start = file.read(4096)
    return b"PostgreSQL database dump" in start or COPY.search(start) is not None


def _dumped(source: ImportSource) -> Iterator[Line]:
    """Yield the items of the table ``store`` in a dump of PostgreSQL; the rest of it is ignored."""
    columns: list[str] | None = None
    found = False
    with source.opened() as file:
        for number, line in enumerate(file, 1):
            if columns is None:
                if match := COPY.match(line):
                    columns, found = [one.strip().strip('"') for one in match["columns"].decode().split(",")], True
            elif line.startswith(b"\\."):
                columns = None
            else:
                values = [_unescaped(one) for one in line.rstrip(b"\n").split(b"\t")]
                row = dict(zip(columns, values, strict=False))
                value = parsed_object((row.get("value") or "").encode())
                if isinstance(value, Reason):
                    yield number, value
                    continue
                yield number, {
                    "namespace": row.get("prefix"), "key": row.get("key"), "value": value,
                    "created_at": row.get("created_at"), "expires_at": row.get("expires_at"),
                }  # fmt: skip
    if not found:
        raise UsageError(f"{source.name} is a dump without a table named store.")


def _unescaped(value: bytes) -> str | None:
    if value == b"\\N":
        return None
    plain = re.sub(rb"\\[ntrbfv\\]", lambda match: UNESCAPED[match[0]], value)
    return plain.decode("utf-8", "replace")
