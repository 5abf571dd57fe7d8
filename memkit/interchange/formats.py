"""The formats that can be imported, and their detection."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.interchange.containers import BOM, is_json_lines, is_sqlite, numbered_objects, tables, whole_document
from memkit.interchange.interface import ImportSource, Reader
from memkit.runtime.memory.record.lines import Reason

FORMATS: Mapping[str, str] = {
    "memkit": "memkit.interchange.memkit:read_memkit",
    "mem0": "memkit.interchange.mem0:read_mem0",
    "letta": "memkit.interchange.letta:read_letta",
    "langgraph": "memkit.interchange.langgraph:read_langgraph",
    "claude": "memkit.interchange.markdown:read_claude",
    "markdown": "memkit.interchange.markdown:read_markdown",
    "basic-memory": "memkit.interchange.plain:read_basic_memory",
    "chatgpt": "memkit.interchange.transcripts:read_chatgpt",
    "claude-export": "memkit.interchange.transcripts:read_claude_export",
    "csv": "memkit.interchange.plain:read_csv",
    "text": "memkit.interchange.plain:read_text",
}
"""Name → ``module:function``, imported on request."""
OWNERLESS = ("letta", "claude", "markdown", "basic-memory", "chatgpt", "claude-export", "text")
"""Formats that never say whose memories they hold."""
LINES = (".jsonl", ".ndjson")
LOOKED_AT = 100
"""Number of lines among which the first object is looked for."""


def open_reader(name: str) -> Reader:
    """Return the reader of a format of ``FORMATS``."""
    module, _, attribute = FORMATS[name].partition(":")
    reader: Reader = getattr(import_module(module), attribute)
    return reader


def format_of(source: ImportSource) -> str:
    """Return the detected format of a file or folder; raise ``UsageError`` if there is none."""
    found = _by_shape(source)
    if found is None:
        raise UsageError(
            f"The format of {source.name} was not recognised. Name it with --format: {', '.join(FORMATS)}."
        )
    return found


def _by_shape(source: ImportSource) -> str | None:
    if source.path is not None and source.path.is_dir():
        if (source.path / "system").is_dir():
            return "letta"
        if (source.path / "MEMORY.md").is_file():
            return "claude"
        if (source.path / "conversations.json").is_file():
            conversations = source.path / "conversations.json"
            return _by_shape(ImportSource(str(conversations), conversations))
        return "basic-memory" if _holds_notes(source.path) else None
    if is_sqlite(source):
        names = tables(source)
        return "mem0" if "history" in names else "langgraph" if "store" in names else None
    with source.opened() as file:
        start = file.read(4096).removeprefix(BOM).lstrip()
    suffix = source.path.suffix.lower() if source.path else ""
    if suffix in LINES or not start:
        return _by_keys(_first_object(source)) or "memkit"
    if start[:1] in (b"{", b"["):
        return _by_keys(_first_object(source) if is_json_lines(source) else whole_document(source))
    if suffix in (".csv", ".tsv"):
        return "csv"
    if start.startswith(b"--\n-- PostgreSQL database dump") or b"COPY public.store " in start:
        return "langgraph"
    if source.path is not None and suffix in (".md", ".markdown"):
        if b"\npermalink:" in start.partition(b"\n---")[0]:
            return "basic-memory"
        ours = source.path.name in ("MEMORY.md", "CLAUDE.md", "CLAUDE.local.md")
        return "claude" if ours or start.startswith(b"---") else "markdown"
    return None


def _holds_notes(folder: Path) -> bool:
    """Return whether the first Markdown file of a folder is a note of basic-memory."""
    from memkit.interchange.plain import shows_notes

    first = next(iter(sorted(folder.rglob("*.md"))), None)
    if first is None or first.is_symlink():
        return False
    with first.open("rb") as file:
        return shows_notes(file.read(4096).decode("utf-8", "replace"))


def _first_object(source: ImportSource) -> Any:
    with source.opened() as file:
        lines = islice(numbered_objects(file), LOOKED_AT)
        return next((data for _, data in lines if not isinstance(data, Reason)), None)


def _by_keys(document: Any) -> str | None:
    if isinstance(document, Mapping) and {"agents", "core_memory"} & document.keys():
        return "letta"
    if isinstance(document, Mapping) and isinstance(document.get("results"), list):
        document = document["results"]
    entry = document[0] if isinstance(document, list) and document else document
    if not isinstance(entry, Mapping):
        return None
    keys = entry.keys()
    if "chat_messages" in keys:
        return "claude-export"
    if "mapping" in keys:
        return "chatgpt"
    if {"namespace", "key", "value"} <= keys:
        return "langgraph"
    if "memory" in keys:
        return "mem0"
    return "memkit" if {"text", "op"} & keys else None
