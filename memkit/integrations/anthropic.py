"""Anthropic's memory tool ``memory_20250818``: ``/memories`` is a view of a user's core memory, records and notes.

```python
from memkit.integrations.anthropic import MemkitMemoryTool

client.beta.messages.tool_runner(tools=[MemkitMemoryTool("my-memory", user="ada")], …)
```

``/memories/core/SECTION.md`` is a section of core memory, ``/memories/records/TOPIC.md`` the records on a topic, one
per line, and any other path a note, which is stored whole and found by its text. What the gate holds back or
refuses is an error that tells the model why.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from memkit.errors import MemkitError, MissingExtra
from memkit.integrations.interface import Plug, draft_of, text_of, value_of
from memkit.library import Place, Store, twin
from memkit.runtime.memory.archive.keeping import KeptDocument
from memkit.runtime.memory.record.lines import ArchiveError, Refused
from memkit.runtime.memory.record.record import Record, item_of

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types.beta import (
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )
except ImportError as error:  # pragma: no cover - the extra is installed where this is tested
    raise MissingExtra(
        "MemkitMemoryTool needs Anthropic's SDK: pip install anthropic (the extra memkit-agent[anthropic])"
    ) from error

if TYPE_CHECKING:
    from claude_agent_sdk import SdkMcpTool

__all__ = ["MemkitAsyncMemoryTool", "MemkitMemoryTool", "agent_sdk_tool"]

NAME = "anthropic-memory"
KIND = "note"
ROOT = "/memories"
CORE, RECORDS = "core", "records"
UNSORTED = "unsorted"
"""The topic of records without a tag."""
MOST_LINES = 999_999
LONGEST = 512
DEPTH = 2
ESCAPED = re.compile(r"%(?:2[eEfF]|5[cC]|00)")
LINE = re.compile(r"^\[(?P<id>[0-9A-Z]{26})\] (?P<text>.*)$", re.DOTALL)
NOTHING_THERE = "The path {} does not exist. Please provide a valid path."
COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")
TEXTS = ("path", "file_text", "old_str", "new_str", "insert_text", "old_path", "new_path")
PARAMETERS: Mapping[str, Any] = {
    "command": {"type": "string", "enum": list(COMMANDS)},
    **{name: {"type": "string"} for name in TEXTS},
    "insert_line": {"type": "integer", "minimum": 0},
    "view_range": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
}
"""The fields of the vendor's tool, for clients that do not know it by its type."""
TOLD = (
    f"Long-term memory as files below {ROOT}: look there first (view {ROOT}), and keep what lasts. view: path, "
    "view_range. create: path, file_text. str_replace: path, old_str, new_str. insert: path, insert_line, insert_text. "
    "delete: path. rename: old_path, new_path."
)
CONTEXT = 2
"""Lines of context shown around a change."""


class Memories:
    """The files of one user, for reading and changing."""

    def __init__(self, door: Plug, user: str) -> None:
        self.plug = door
        self.user = user

    def files(self) -> dict[str, str]:
        """Return the text of every file by its path below ``/memories``."""
        archive = self.plug.store.workspace.archive
        sections = archive.core_sections(self.user)
        found = {f"{CORE}/{name}.md": sections.get(name, "") for name in self.plug.store.workspace.core_sections}
        topics: dict[str, list[Record]] = {}
        for record in archive.records(user_id=self.user):
            if record.user_id == self.user and not _is_note(record):
                topics.setdefault(_topic(record), []).append(record)
        for topic, records in topics.items():
            lines = [f"[{one.id}] {' '.join(one.text.splitlines())}" for one in records]
            found[f"{RECORDS}/{topic}.md"] = "\n".join(lines)
        notes = self.plug.ask(self.user, lambda documents: list(documents.newest(KIND)))
        found |= {one.name: str(text_of(value_of(one)) or value_of(one).get("text", "")) for one in notes}
        return {path: text for path, text in sorted(found.items()) if text or not path.startswith(CORE)}

    def write(self, path: str, before: str | None, text: str) -> None:
        """Replace the text of a file; raise ``Refused`` for what the gate does not admit at once."""
        place, _, name = path.partition("/")
        stem = name.removesuffix(".md")
        if place == CORE and name:
            if stem not in self.plug.store.workspace.core_sections:
                known = ", ".join(f"{ROOT}/{CORE}/{one}.md" for one in self.plug.store.workspace.core_sections)
                raise ToolError(f"There is no core section {stem!r}. There are {known}.")
            self.plug.edit_core(self.user, stem, text.strip())
        elif place == RECORDS and name:
            self._write_records(stem, before or "", text)
        else:
            self.plug.keep(self.user, [_note(path, text)])

    def move(self, texts: Mapping[str, str], places: Mapping[str, str]) -> None:
        """Move notes, all of them or none; raise ``Refused`` for what the gate does not admit at once."""
        pairs = ((KeptDocument(KIND, "", old, None), _note(new, texts[old])) for old, new in places.items())
        self.plug.keep(self.user, [one for pair in pairs for one in pair])

    def tell_seen(self, path: str, text: str) -> None:
        """Record that the model saw the records in a file."""
        note = self.plug.ask(self.user, lambda documents: documents.get(KIND, "", path))
        ids = [id for id, _ in _records(text)] if path.startswith(f"{RECORDS}/") else [note.record if note else None]
        self.plug.tell("injected", self.user, [id for id in ids if id], f"{ROOT}/{path}")

    def remove(self, path: str, text: str) -> None:
        """Remove a file: its records are retired, its note or section is emptied."""
        place, _, name = path.partition("/")
        if place == CORE and name:
            self.plug.edit_core(self.user, name.removesuffix(".md"), "")
        elif place == RECORDS and name:
            self._write_records(name.removesuffix(".md"), text, "")
        else:
            self.plug.keep(self.user, [KeptDocument(KIND, "", path, None)])

    def _write_records(self, topic: str, before: str, text: str) -> None:
        old, new = dict(_records(before)), list(_records(text))
        kept = {id for id, _ in new}
        for id, said in new:
            if id in old and said != old[id]:
                self.plug.supersede(self.user, id, said)
            elif id not in old:
                self.plug.add(self.user, said, () if topic == UNSORTED else (topic,))
        for id in old:
            if id not in kept:
                self.plug.forget(self.user, id)


class RefusedFile(ToolError, Refused):
    """Report a refused write to the model as the client's own tools do, and to the host with its ``reasons``."""

    def __init__(self, refused: Refused) -> None:
        Refused.__init__(self, refused.reasons)
        self.content = str(refused)


class MemkitMemoryTool(BetaAbstractMemoryTool):
    """The vendor's memory tool on a memkit store, for the plain client's ``tool_runner``.

    ```python
    from memkit.integrations.anthropic import MemkitMemoryTool

    tool = MemkitMemoryTool("my-memory", user="ada", consent=True)  # client.beta.messages.tool_runner(tools=[tool], …)
    tool.call({"command": "create", "path": "/memories/trip.md", "file_text": "Ada flies to Oslo."})
    assert "Oslo" in str(tool.call({"command": "view", "path": "/memories/trip.md"}))
    ```
    """

    def __init__(
        self, store: Store | Place | None = None, *, user: str | None = None, consent: bool | None = None,
        taint: str | None = None,
    ) -> None:  # fmt: skip
        """Open the memories of a user.

        Args:
            store: A folder, or an open ``memkit.Store``; by default the nearest store, as ``open_store`` finds it.
            user: Whose memory it is, by default the store's ``user``; no path can name another user's.
            consent: True if the host states that the user agreed to be remembered.
            taint: ``clean`` if the host's model reads nothing written by strangers.
        """
        super().__init__()
        self.plug = Plug(store, NAME, user=user, consent=consent, taint=taint)
        self._memories = Memories(self.plug, self.plug.of(user))

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return a file with line numbers, or the contents of a folder."""
        path, files = _checked(command.path), self._memories.files()
        if path in files:
            self._memories.tell_seen(path, files[path])
            return _numbered(command.path, files[path].split("\n"), command.view_range)
        below = {name: text for name, text in files.items() if not path or name.startswith(f"{path}/")}
        if not below and path:
            raise ToolError(NOTHING_THERE.format(command.path))
        return _listing(command.path.rstrip("/"), path, below)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file that does not exist yet."""
        path, files = _checked(command.path), self._memories.files()
        if path in files or not path:
            raise ToolError(f"File {command.path} already exists")
        if any(name.startswith(f"{path}/") for name in files) or any(path.startswith(f"{name}/") for name in files):
            raise ToolError(f"{command.path} cannot be a file: a folder of that name, or a file in its path, exists.")
        _require_text(file_text=command.file_text)
        self._carried_out(lambda: self._memories.write(path, None, command.file_text))
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs exactly once in a file."""
        path, text = self._file(command.path)
        _require_text(old_str=command.old_str, new_str=command.new_str or "")
        found = [match.start() for match in re.finditer(re.escape(command.old_str), text)] if command.old_str else []
        if not found:
            raise ToolError(
                f"No replacement was performed, old_str `{command.old_str}` did not appear verbatim in {command.path}."
            )
        if len(found) > 1:
            lines = ", ".join(str(text.count("\n", 0, place) + 1) for place in found)
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{command.old_str}` in lines: {lines}. "
                "Please ensure it is unique"
            )
        changed = text.replace(command.old_str, command.new_str or "")
        self._carried_out(lambda: self._memories.write(path, text, changed))
        line, edited = text.count("\n", 0, found[0]), changed.split("\n")
        around = range(max(0, line - CONTEXT), min(len(edited), line + CONTEXT + 1))
        shown = "\n".join(f"{place + 1:6d}\t{edited[place]}" for place in around)
        return "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n" + shown

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert a text after a line; 0 is the beginning."""
        path, text = self._file(command.path)
        _require_text(insert_text=command.insert_text)
        lines = text.split("\n")
        lines = lines[:-1] if lines[-1] == "" else lines
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        self._carried_out(lambda: self._memories.write(path, text, "\n".join(lines) + "\n"))
        return f"The file {command.path} has been edited."

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Remove a file, or a folder with everything in it."""
        path, files = _checked(command.path), self._memories.files()
        if not path:
            raise ToolError("Cannot delete the /memories directory itself")
        gone = {name: text for name, text in files.items() if name == path or name.startswith(f"{path}/")}
        if not gone:
            raise ToolError(f"The path {command.path} does not exist")
        for name, text in gone.items():
            self._carried_out(lambda name=name, text=text: self._memories.remove(name, text))
        return f"Successfully deleted {command.path}"

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a folder of notes, or the records of a topic to another one."""
        old, new, files = _checked(command.old_path), _checked(command.new_path), self._memories.files()
        if not old:
            raise ToolError("Cannot rename the /memories directory itself")
        if new in files or not new or any(name.startswith(f"{new}/") for name in files):
            raise ToolError(f"The destination {command.new_path} already exists")
        if new.startswith(f"{old}/"):
            raise ToolError(f"{command.old_path} cannot be moved into itself: {command.new_path}")
        moved = {name: text for name, text in files.items() if name == old or name.startswith(f"{old}/")}
        if not moved:
            raise ToolError(f"The path {command.old_path} does not exist")
        fixed = [name for name in (*moved, new) if name.partition("/")[0] in (CORE, RECORDS)]
        if fixed:
            raise ToolError(f"{ROOT}/{fixed[0]} is memkit's own view and cannot be moved. Edit its content.")
        self._carried_out(lambda: self._memories.move(moved, {name: new + name[len(old) :] for name in moved}))
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        """Remove every note; ``memkit memory erase`` clears core memory and records."""
        for name, text in self._memories.files().items():
            if name.partition("/")[0] not in (CORE, RECORDS):
                self._memories.remove(name, text)
        return "All notes cleared. Core memory and records stay" if self._memories.files() else "All memory cleared"

    def close(self) -> None:
        """Commit what was written, and release the store if it was opened here."""
        self.plug.close()

    def _file(self, said: str) -> tuple[str, str]:
        path, files = _checked(said), self._memories.files()
        place, _, name = path.partition("/")
        if place == CORE and name.removesuffix(".md") in self.plug.store.workspace.core_sections:
            return path, files.get(path, "")
        if path not in files:
            is_folder = not path or any(one.startswith(f"{path}/") for one in files)
            raise ToolError(f"The path {said} is not a file." if is_folder else NOTHING_THERE.format(said))
        return path, files[path]

    def _carried_out(self, change: Any) -> None:
        with self.plug.writing():
            try:
                change()
            except Refused as error:
                raise RefusedFile(error) from error
            except (ArchiveError, MemkitError) as error:
                raise ToolError(str(error)) from error


class MemkitAsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for the asynchronous client.

    ```python
    import asyncio

    from memkit.integrations.anthropic import MemkitAsyncMemoryTool

    tool = MemkitAsyncMemoryTool("my-memory", user="ada", consent=True)  # AsyncAnthropic().beta.messages.tool_runner
    assert asyncio.run(tool.call({"command": "view", "path": "/memories"}))
    ```
    """

    def __init__(
        self, store: Store | Place | None = None, *, user: str | None = None, consent: bool | None = None,
        taint: str | None = None,
    ) -> None:  # fmt: skip
        """Open the memories of a user, as ``MemkitMemoryTool`` does."""
        super().__init__()
        self.tool = MemkitMemoryTool(store, user=user, consent=consent, taint=taint)

    view = twin(MemkitMemoryTool.view)
    create = twin(MemkitMemoryTool.create)
    str_replace = twin(MemkitMemoryTool.str_replace)
    insert = twin(MemkitMemoryTool.insert)
    delete = twin(MemkitMemoryTool.delete)
    rename = twin(MemkitMemoryTool.rename)
    clear_all_memory = twin(MemkitMemoryTool.clear_all_memory)

    async def _beside(self, call: Callable[..., str], *given: Any) -> str:
        return await asyncio.to_thread(call, self.tool, *given)


def agent_sdk_tool(memory: MemkitMemoryTool) -> SdkMcpTool[Any]:
    """Return the memory tool for the Claude Agent SDK, whose tools are those of an in-process server.

    ```python
    from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server

    from memkit.integrations.anthropic import MemkitMemoryTool, agent_sdk_tool

    server = create_sdk_mcp_server("memkit", tools=[agent_sdk_tool(MemkitMemoryTool("my-memory", user="ada"))])
    options = ClaudeAgentOptions(mcp_servers={"memkit": server}, allowed_tools=["mcp__memkit__memory"])
    assert options.mcp_servers["memkit"]["type"] == "sdk"
    ```

    Raises:
        MissingExtra: The Claude Agent SDK is not installed.
    """
    try:
        from claude_agent_sdk import tool
    except ImportError as error:  # pragma: no cover - the extra is installed where this is tested
        raise MissingExtra(
            "agent_sdk_tool needs the Claude Agent SDK: pip install claude-agent-sdk (the extra memkit-agent[claude])"
        ) from error

    @tool("memory", TOLD, {"type": "object", "required": ["command"], "properties": PARAMETERS})
    async def called(command: dict[str, Any]) -> dict[str, Any]:
        told = await asyncio.to_thread(memory.call, command)  # the SDK passes exceptions to the model
        return {"content": [{"type": "text", "text": str(told)}]}

    return called


def _note(path: str, text: str) -> KeptDocument:
    draft = draft_of(text_of({"text": text}), tags=path.removesuffix(".md").split("/"))
    return KeptDocument(KIND, "", path, {"text": text}, draft)


def _is_note(record: Record) -> bool:
    item = item_of(record)
    return item is not None and item[0] == KIND


def _topic(record: Record) -> str:
    """Return the name of the file that holds a record."""
    tag = record.tags[0] if record.tags else UNSORTED
    return re.sub(r"[^\w-]+", "-", tag).strip("-")[:80] or UNSORTED


def _records(text: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of a topic: the id of a record, or a placeholder for a new one, and the text."""
    for place, line in enumerate(text.split("\n")):
        match = LINE.match(line.strip())
        if match and match["text"].strip():
            yield match["id"], match["text"].strip()
        elif not match and line.strip():
            yield f"new {place}", line.strip().removeprefix("- ")


def _require_text(**given: object) -> None:
    """Raise ``ToolError`` for an argument that a model left out or gave another type: the SDK checks none of them."""
    for name, value in given.items():
        if not isinstance(value, str):
            raise ToolError(f"`{name}` has to be a string.")


def _checked(path: str) -> str:
    """Return a path below ``/memories``; raise ``ToolError`` for one that leads, even covertly, elsewhere."""
    _require_text(path=path)
    plain = unicodedata.normalize("NFKC", path)
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with {ROOT}, got: {path[:80]!r}")
    parts = plain.removeprefix(ROOT).strip("/").split("/")
    hidden = ESCAPED.search(plain) or "\\" in plain or any(unicodedata.category(char)[0] == "C" for char in path)
    if hidden or any(part in (".", "..") for part in parts) or "" in parts[1:] or len(path) > LONGEST:
        raise ToolError(
            f"Path {path[:80]!r} is not a path below {ROOT} without '..', escapes, backslashes or hidden characters."
        )
    return "/".join(parts)


def _numbered(path: str, lines: list[str], wanted: list[int] | None) -> str:
    if len(lines) > MOST_LINES:
        raise ToolError(f"File {path} exceeds maximum line limit of 999,999 lines.")
    first, last = 1, len(lines)
    if wanted and len(wanted) == 2:
        first, last = max(1, wanted[0]), len(lines) if wanted[1] == -1 else wanted[1]
    shown = (f"{place:6d}\t{line}" for place, line in enumerate(lines, 1) if first <= place <= last)
    return f"Here's the content of {path} with line numbers:\n" + "\n".join(shown)


def _listing(said: str, path: str, files: Mapping[str, str]) -> str:
    start = f"{path}/" if path else ""
    sizes: dict[str, int] = {}
    for name, text in files.items():
        parts = name.removeprefix(start).split("/")
        if any(part.startswith(".") for part in parts):
            continue
        for depth in range(1, min(len(parts), DEPTH) + 1):
            shown = "/".join(parts[:depth]) + ("/" if depth < len(parts) else "")
            sizes[shown] = sizes.get(shown, 0) + len(text.encode())
    lines = [f"{_size(sum(len(text.encode()) for text in files.values()))}\t{said}"]
    lines += [f"{_size(size)}\t{said}/{name}" for name, size in sorted(sizes.items())]
    header = f"Here're the files and directories up to 2 levels deep in {said}, excluding hidden items:"
    return "\n".join([header, *lines])


def _size(size: float) -> str:
    unit = 0
    while size >= 1024 and unit < 3:
        size, unit = size / 1024, unit + 1
    return f"{size:.1f}".removesuffix(".0") + "BKMG"[unit]
