"""LangGraph's checkpoints in a memkit store: among this machine's unfinished work, in one file per thread.

A line on the disk counts; one that a kill cut short never did, and the next write removes it. The files are
sealed if the store seals, and are exported and erased with their user.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)

from memkit.integrations.interface import Plug, refusal
from memkit.library import Place, Store, twin
from memkit.runtime.memory.gate.gate import WriteGate
from memkit.runtime.memory.log.clone import open_regular
from memkit.runtime.memory.record.lines import shown
from memkit.runtime.memory.tiers.sessions import session_digest

Answer = TypeVar("Answer")
FOLDER = "langgraph"
DELTA = "_DeltaSnapshot"
"""The class that LangGraph stores instead of a channel's value if the channel is kept as its changes."""
MOST_SCANNED = 100_000
"""Texts remembered as already scanned for secrets: a checkpoint repeats what the previous one held."""


@dataclass
class _Thread:
    """The contents of one thread's file."""

    checkpoints: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """By namespace, then by id."""
    writes: dict[tuple[str, str], dict[tuple[str, int], dict[str, Any]]] = field(default_factory=dict)
    """By namespace and checkpoint, then by task and place."""
    inode: int = 0
    read: int = 0
    """Bytes read so far."""

    def take(self, line: Mapping[str, Any]) -> None:
        """Add the contents of one line."""
        place = str(line["ns"]), str(line["id"])
        if line["kind"] == "checkpoint":
            self.checkpoints.setdefault(place[0], {})[place[1]] = dict(line)
            return
        here = self.writes.setdefault(place, {})
        for index, channel, type, blob in line["writes"]:
            key = str(line["task_id"]), int(index)
            if key[1] < 0 or key not in here:
                here[key] = {"channel": channel, "value": (type, blob), "task_path": line["task_path"]}


class MemkitSaver(BaseCheckpointSaver[int]):
    """A checkpointer on a memkit store, which every process on this machine shares and a kill does not harm.

    ```python
    from langgraph.graph import END, START, MessagesState, StateGraph

    from memkit.integrations.langgraph import MemkitSaver

    graph = StateGraph(MessagesState)
    graph.add_node("answer", lambda state: {"messages": [("ai", "Hello!")]})
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    app = graph.compile(checkpointer=MemkitSaver("my-memory", user="ada", consent=True))
    thread = {"configurable": {"thread_id": "holiday"}}
    app.invoke({"messages": [("user", "Hi!")]}, thread)
    assert len(app.get_state(thread).values["messages"]) == 2
    ```
    """

    def __init__(
        self, store: Store | Place | None = None, *, user: str | None = None, consent: bool | None = None
    ) -> None:
        """Open the checkpoints of ``store``, a folder or an open ``memkit.Store``.

        Args:
            store: Where they are stored; by default the nearest store, as ``open_store`` finds it.
            user: Whose conversations they are; by default ``user_id`` of a run's ``configurable``, else the store's.
            consent: True if the host states that its users agreed to be remembered.
        """
        super().__init__()
        self.plug = Plug(store, "langgraph", user=user, consent=consent)
        self._threads: dict[Path, _Thread] = {}
        self._scanned: set[int] = set()
        self._thread: ThreadPoolExecutor | None = None

    # LangGraph's interface.

    def setup(self) -> None:
        """Do nothing: the store exists. LangGraph's own checkpointers want this call before the first use."""

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that a config names, or the thread's latest."""
        asked = config["configurable"]
        with self.plug.writing():
            thread, namespace = self._read(self._path(config)), asked.get("checkpoint_ns", "")
            held = thread.checkpoints.get(namespace, {})
            id = get_checkpoint_id(config) or max(held, default=None)
            return self._tuple(thread, str(asked["thread_id"]), namespace, held[id]) if id in held else None

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield the checkpoints that fit, newest first within each thread and namespace."""
        found = self._fitting(config, filter or {}, get_checkpoint_id(before) if before else None)
        for count, one in enumerate(found):
            if limit is not None and count >= limit:
                return
            yield one

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint, and return the config that names it once it is on the disk.

        Raises:
            Refused: The user did not agree to be remembered, or the checkpoint holds a secret.
        """
        asked = config["configurable"]
        type, content = self.serde.dumps_typed(checkpoint)
        noted = get_checkpoint_metadata(config, metadata)
        line = {
            "kind": "checkpoint", "ns": asked.get("checkpoint_ns", ""), "id": checkpoint["id"],
            "parent": asked.get("checkpoint_id"), "value": [type, b64encode(content).decode()],
            "metadata": _typed(self.serde.dumps_typed(noted)), "run_id": noted.get("run_id"),
        }  # fmt: skip
        self._append(config, line, (checkpoint["channel_values"], noted))
        named = {"thread_id": asked["thread_id"], "checkpoint_ns": line["ns"], "checkpoint_id": checkpoint["id"]}
        return {"configurable": named}

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote on the way to the next checkpoint."""
        asked = config["configurable"]
        kept = [
            (WRITES_IDX_MAP.get(channel, place), channel, *_typed(self.serde.dumps_typed(value)))
            for place, (channel, value) in enumerate(writes)
        ]
        line = {
            "kind": "writes", "ns": asked.get("checkpoint_ns", ""), "id": asked["checkpoint_id"], "task_id": task_id,
            "task_path": task_path, "writes": kept,
        }  # fmt: skip
        self._append(config, line, [value for _, value in writes])

    def delete_thread(self, thread_id: str) -> None:
        """Remove every checkpoint and write of a thread."""
        with self.plug.writing():
            for path in self._paths(thread_id):
                path.unlink(missing_ok=True)
                self._threads.pop(path, None)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a whole thread, including its parents and writes, to another one."""
        with self.plug.writing():
            for path in self._paths(source_thread_id):
                lines = self._lines(path)
                if lines:
                    user = str(lines[0]["user_id"])
                    self._require_harmless(user, (), target_thread_id)
                    there = self._folder / f"{session_digest(user, target_thread_id)}.jsonl"
                    copied = [{**line, "session_id": target_thread_id} for line in lines]
                    self._rewrite(there, lambda known, copied=copied: [*known, *copied])  # type: ignore[misc]

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints of runs with their writes, in every thread."""
        runs = set(run_ids)

        def left(lines: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
            gone = {_place(line) for line in lines if line["kind"] == "checkpoint" and line.get("run_id") in runs}
            return [line for line in lines if _place(line) not in gone]

        with self.plug.writing():
            for path in self._files():
                self._rewrite(path, left)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep each namespace's latest checkpoint and what it is rebuilt from; or nothing (``delete``)."""
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"Unknown strategy {strategy!r:.40}: use keep_latest or delete.")
        for thread_id in thread_ids:
            if strategy == "delete":
                self.delete_thread(thread_id)
                continue
            with self.plug.writing():
                for path in self._paths(thread_id):
                    self._rewrite(path, self._needed)

    def _needed(self, lines: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """Return the lines of the latest checkpoints, and of those that they are rebuilt from."""
        thread = _Thread()
        for line in lines:
            thread.take(line)
        kept: set[tuple[str, str]] = set()
        for namespace, held in thread.checkpoints.items():
            values = {id: self._value(line)["channel_values"] for id, line in held.items()}
            told = {key for one in values.values() for key, value in one.items() if type(value).__name__ == DELTA}
            id: str | None = max(held)
            while id in held:
                kept.add((namespace, id))
                told -= {key for key, value in values[id].items() if type(value).__name__ == DELTA}
                id = held[id]["parent"] if told else None
        return [line for line in lines if _place(line) in kept]

    # The asynchronous interface.

    aget_tuple = twin(get_tuple)
    aput = twin(put)
    aput_writes = twin(put_writes)
    adelete_thread = twin(delete_thread)
    acopy_thread = twin(copy_thread)
    adelete_for_runs = twin(delete_for_runs)
    aprune = twin(prune)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield the checkpoints that fit, as ``list`` does."""

        def found(self: MemkitSaver) -> Sequence[CheckpointTuple]:
            return [*self.list(config, filter=filter, before=before, limit=limit)]

        for one in await self._beside(found):
            yield one

    async def _beside(self, call: Callable[..., Answer], *given: Any, **named: Any) -> Answer:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="memkit")
        work = partial(call, self, *given, **named)
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def close(self) -> None:
        """Release the store if it was opened here."""
        self.plug.close()

    def __enter__(self) -> Self:
        """Return the saver."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    # Files.

    @property
    def _folder(self) -> Path:
        from memkit.runtime.memory.log.clone import state_folder

        return state_folder(self.plug.store.path) / FOLDER

    def _user(self, config: RunnableConfig) -> str:
        return self.plug.of(config["configurable"].get("user_id"))

    def _path(self, config: RunnableConfig) -> Path:
        thread = str(config["configurable"]["thread_id"])
        return self._folder / f"{session_digest(self._user(config), thread)}.jsonl"

    def _paths(self, thread_id: str) -> Sequence[Path]:
        """Return the files of a thread, whichever user it belongs to."""
        if self.plug.user is not None:
            return [self._folder / f"{session_digest(self.plug.user, str(thread_id))}.jsonl"]
        return [path for path in self._files() if _first(path).get("session_id") == str(thread_id)]

    def _files(self) -> Sequence[Path]:
        """Return the files of all threads; for a bound user, theirs alone."""
        user, found = self.plug.user, sorted(self._folder.glob("*.jsonl"))
        return found if user is None else [path for path in found if _first(path).get("user_id") == user]

    def _read(self, path: Path) -> _Thread:
        """Return the contents of a thread's file, reading only what was added since."""
        thread = self._threads.setdefault(path, _Thread())
        try:
            file = path.open("rb")
        except FileNotFoundError:
            thread = self._threads[path] = _Thread()
            return thread
        with file:
            found = os.fstat(file.fileno())
            if found.st_ino != thread.inode or found.st_size < thread.read:
                thread = self._threads[path] = _Thread(inode=found.st_ino)
            file.seek(thread.read)
            content = file.read()
        whole = content[: content.rfind(b"\n") + 1]
        for line in self._opened(whole):
            thread.take(line)
        thread.read += len(whole)
        return thread

    def _lines(self, path: Path) -> Sequence[dict[str, Any]]:
        content = path.read_bytes() if path.exists() else b""
        return [dict(line) for line in self._opened(content[: content.rfind(b"\n") + 1])]

    def _opened(self, content: bytes) -> Iterator[Mapping[str, Any]]:
        sealer = self.plug.store.workspace.sealer
        for line in content.split(b"\n"):
            if line:
                data = shown(json.loads(line), sealer)
                if "kind" in data:  # else it is sealed, and the key is gone
                    yield data

    def _append(self, config: RunnableConfig, line: Mapping[str, Any], said: object) -> None:
        """Judge the contents of a line, write it, and return when it is on the disk."""
        user = self._user(config)
        with self.plug.writing():
            thread = str(config["configurable"]["thread_id"])
            self._require_harmless(user, said, thread)
            path = self._path(config)
            with self._held(path) as handle:
                _cut_off_torn_line(handle)
                whole = {"user_id": user, "session_id": thread, **line}
                written = json.dumps(self.plug.store.workspace.sealer.seal(whole), ensure_ascii=False)
                with os.fdopen(os.dup(handle), "ab") as file:
                    file.write(f"{written}\n".encode("utf-8", "surrogatepass"))
                os.fdatasync(handle)

    def _require_harmless(self, user: str, said: object, thread: str) -> None:
        fresh = [text for text in dict.fromkeys(_texts(said)) if hash(text) not in self._scanned]
        gate = WriteGate(
            self.plug.store.workspace.memory_settings.write,
            long_term=self.plug.store.workspace.settings["privacy.long_term"] != "off",
        )
        reasons, _ = gate.judge_document(fresh, self.plug.origin(user), (thread,), consented=self.plug.agreed(user))
        if reasons:
            raise refusal(reasons, user)
        if len(self._scanned) > MOST_SCANNED:
            self._scanned.clear()
        self._scanned.update(map(hash, fresh))

    def _rewrite(self, path: Path, changed: Callable[[Sequence[dict[str, Any]]], Sequence[Mapping[str, Any]]]) -> None:
        """Replace the lines of a file atomically, as ``changed`` answers while nobody else can write any."""
        seal = self.plug.store.workspace.sealer.seal
        with self._held(path):
            before = self._lines(path)
            lines = changed(before)
            if lines == before:
                return
            sealed = [
                line for line in path.read_bytes().split(b"\n")[:-1] if not any(self._opened(line + b"\n"))
            ]  # no key is here
            fresh = path.with_suffix(".new")
            with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
                file.writelines(line + b"\n" for line in sealed)
                for line in lines:
                    file.write(f"{json.dumps(seal(line), ensure_ascii=False)}\n".encode("utf-8", "surrogatepass"))
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        self._threads.pop(path, None)

    @contextmanager
    def _held(self, path: Path) -> Iterator[int]:
        """Lock a file against writes by other processes, creating it if necessary."""
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        while True:
            handle = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                if os.fstat(handle).st_nlink and os.fstat(handle).st_ino == path.stat().st_ino:
                    yield handle
                    return
            except FileNotFoundError:
                pass  # another process replaced it while this one waited
            finally:
                os.close(handle)

    # Values.

    def _fitting(
        self, config: RunnableConfig | None, filter: Mapping[str, Any], before: str | None
    ) -> Iterator[CheckpointTuple]:
        asked = config["configurable"] if config else {}
        wanted = get_checkpoint_id(config) if config else None
        with self.plug.writing():
            paths = [self._path(config)] if config else self._files()
            threads = [self._read(path) for path in paths]
        for thread in threads:
            for namespace, held in thread.checkpoints.items():
                if asked.get("checkpoint_ns", namespace) != namespace:
                    continue
                for id in sorted(held, reverse=True):
                    if wanted not in (None, id) or (before is not None and id >= before):
                        continue
                    name = str(asked["thread_id"]) if asked else str(held[id]["session_id"])
                    found = self._tuple(thread, name, namespace, held[id])
                    if all(found.metadata.get(key) == value for key, value in filter.items()):
                        yield found

    def _tuple(self, thread: _Thread, name: str, namespace: str, line: Mapping[str, Any]) -> CheckpointTuple:
        def named(id: str) -> RunnableConfig:
            return {"configurable": {"thread_id": name, "checkpoint_ns": namespace, "checkpoint_id": id}}

        writes = thread.writes.get((namespace, str(line["id"])), {})
        ordered = sorted(writes.items(), key=lambda one: (one[1]["task_path"], *one[0]))
        return CheckpointTuple(
            config=named(str(line["id"])),
            checkpoint=self._value(line),
            metadata=self._loaded(line["metadata"]),
            parent_config=named(str(line["parent"])) if line.get("parent") else None,
            pending_writes=[(task, one["channel"], self._loaded(one["value"])) for (task, _), one in ordered],
        )

    def _value(self, line: Mapping[str, Any]) -> Checkpoint:
        found: Checkpoint = self._loaded(line["value"])
        return found

    def _loaded(self, typed: Sequence[str]) -> Any:
        return self.serde.loads_typed((typed[0], b64decode(typed[1])))


def _typed(value: tuple[str, bytes]) -> tuple[str, str]:
    return value[0], b64encode(value[1]).decode()


def _first(path: Path) -> Mapping[str, Any]:
    """Return a file's first line, whose user and thread are never sealed; empty if a kill cut it short."""
    with path.open("rb") as file:
        line = file.readline()
    found: Mapping[str, Any] = json.loads(line) if line.endswith(b"\n") else {}
    return found


def _place(line: Mapping[str, Any]) -> tuple[str, str]:
    return str(line["ns"]), str(line["id"])


def _cut_off_torn_line(handle: int) -> None:
    """Remove a line that a killed process left unfinished: nobody was told that it was written."""
    size = os.fstat(handle).st_size
    if size == 0 or os.pread(handle, 1, size - 1) == b"\n":
        return
    content = os.pread(handle, size, 0)
    os.ftruncate(handle, content.rfind(b"\n") + 1)


def _texts(value: object) -> Iterator[str]:
    """Yield the texts in a graph's values, including messages and other models."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(key)
            yield from _texts(inner)
    elif isinstance(value, tuple | set | frozenset) or type(value) is type([]):
        for inner in value:
            yield from _texts(inner)
    elif hasattr(value, "model_dump") or hasattr(value, "__dataclass_fields__"):
        yield from _texts(vars(value))
