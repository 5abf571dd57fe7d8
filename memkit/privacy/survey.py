"""Survey everything held on a person, before anything is changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

from memkit.privacy.belonging import ARCHIVE, Belonging, Subject, holds_lines
from memkit.privacy.filed import FiledLines
from memkit.privacy.local_state import LocalState, StateChange
from memkit.privacy.needles import Census, KeptNeedles, Needles, Shipped, needles_of
from memkit.privacy.repository import Repository
from memkit.privacy.scan import Place, Remainder, Scanner, files_below
from memkit.runtime.memory.log.clone import CACHE, MACHINE, cache_folder, state_folder
from memkit.runtime.memory.log.log import Witness, shard_writer
from memkit.store.chain_history import HEADS
from memkit.store.layout import MANIFEST

_SHARD_IN_TREE = re.compile(rb" ([^\0/ ]+\.jsonl)\0")
OUTPUTS = "outputs"
"""Where memkit writes output for people to review."""
ToolFiles = Callable[[Path], Iterable[Path]]
"""Returns the files that the tools of a store write, as it declares them."""


@dataclass(frozen=True)
class FileChange:
    """One file of the work tree that changes."""

    path: Path
    content: Callable[[], bytes] | None
    """Returns its new content, made on demand because all files together may exceed memory; None to remove it."""


class Survey:
    """What one store holds on one person; ``take`` reads it."""

    def __init__(
        self, store: Path, repository: Repository | None, subject: Subject, *, shipped: Shipped,
        redact_files: bool, tools: ToolFiles, kept: KeptNeedles | None = None,
    ) -> None:  # fmt: skip
        self.store = store
        self.repository = repository
        self.subject, self.user_id = subject, subject.user_id
        self.stores = [store, *stores_inside(store, self.top)]
        """This store, and those inside it, such as projects generated there."""
        self.states = [LocalState(each, subject) for each in self.stores]
        own_state = state_folder(store)
        self.folder = own_state if own_state.is_dir() else None
        """The folder for files with data too large for memory."""
        self.census = Census(subject, lines=FiledLines(self.folder))
        self.redacts_files = redact_files
        self._tools = {path for each in self.stores for path in tools(each)}
        for line in shipped.served:
            self.census.take(line)
        writers = self._read_lines()
        self.belonging: Belonging = self.census.close(Witness(store).relinking(writers))
        self.sessions = self.census.sessions.union(*(state.session_ids() for state in self.states))
        self.needles: Needles = needles_of(
            self.census,
            self.belonging,
            chain.from_iterable(state.texts() for state in self.states),
            chain(
                # What was read of another clone is tainted by its writer, whom its shards and heads name as well.
                (f"writer:{name}" for name in {*writers, *(path.stem for path in (store / HEADS).glob("*.json"))}),
                chain.from_iterable(state.texts_of_others() for state in self.states),
            ),
            shipped,
            kept,
        )
        self.scanner = Scanner(self.needles)
        inside = (path for path in self._tools if path.is_relative_to(self.top))
        of_tools = frozenset(path.relative_to(self.top).as_posix() for path in inside)
        self.remainder = Remainder(self.belonging, self.needles, redact_files, of_tools)

    @cached_property
    def top(self) -> Path:
        """Return the root of everything that is searched."""
        return self.repository.top if self.repository else self.store

    @cached_property
    def _own_cache(self) -> Path:
        return cache_folder(self.store)

    @cached_property
    def state_changes(self) -> list[StateChange]:
        """Return the changes under ``.memkit``; every erasure removes the cache of the store itself."""
        found = []
        for store, state in zip(self.stores, self.states, strict=True):
            changes = list(state.changes(self.belonging, self.scanner, self.sessions))
            caches = [cache for cache in sorted((store / MACHINE / CACHE).glob("*")) if cache != self._own_cache]
            if changes or any(change.path.is_relative_to(store) for change in self.file_changes) or self._finds(caches):
                changes += [StateChange(cache, None, "caches") for cache in caches]
            found += changes
        return found

    def _finds(self, folders: list[Path]) -> bool:
        files = chain.from_iterable(files_below(folder) if folder.is_dir() else [folder] for folder in folders)
        return self.scanner.files(Place("cache"), self.top, files).traces > 0

    @cached_property
    def file_changes(self) -> list[FileChange]:
        """Return the changes in the work tree: to files with lines that git tracks or that are in an archive."""
        return [change for path in self._own_files() for change in self._changes_of(path)]

    @cached_property
    def tracked(self) -> list[Path]:
        """Return the files that git tracks."""
        entries = self.repository.index() if self.repository else []
        return [self.top / entry.path for entry in entries if entry.mode != "160000"]

    @cached_property
    def quoting(self) -> list[str]:
        """Return the people's files in the work tree that quote the person's texts, if these are not redacted."""
        if self.redacts_files:
            return []
        gone = {change.path for change in self.file_changes}
        kept = (path for path in self.files() if path not in gone and path.is_file() and not path.is_symlink())
        return [str(path.relative_to(self.top)) for path in kept if self.scanner.finds(path.read_bytes())]

    def is_empty(self) -> bool:
        """Return whether nothing is held on the person."""
        return not (self.census.records or self.census.events or self.state_changes)

    def removed(self) -> dict[str, int]:
        """Return how much is removed, by kind."""
        counted = {"records": self.census.records, "events": self.census.events, "files": len(self.file_changes)}
        for change in self.state_changes:
            counted[change.kind] = counted.get(change.kind, 0) + 1
        return counted

    def told(self) -> tuple[str, ...]:
        """Return the texts to be removed about a person in a user's memory, records first; empty for a user."""
        if not self.subject.called:
            return ()
        elsewhere = self.census.told.union(*(state.told() for state in self.states))
        values = set(self.census.values)
        return (*sorted(values), *sorted(elsewhere - values))

    def files(self) -> Iterator[Path]:
        """Yield every file of the work tree outside of ``.git`` and ``.memkit``."""
        return files_below(self.top, without=(self.top / ".git", self.store / ".memkit"))

    def is_own(self, path: Path) -> bool:
        """Return whether memkit, or a tool on its behalf, wrote a file of the work tree, and no person did."""
        inner = path.relative_to(self.top)
        if holds_lines(path.name) or ARCHIVE in inner.parts or MACHINE in inner.parts or path in self._tools:
            return True
        project = next((store for store in self.stores[1:] if path.is_relative_to(store)), None)
        return project is None and path.is_relative_to(self.store / OUTPUTS)

    def tools_elsewhere(self) -> Iterator[Path]:
        """Yield the files that tools write outside the searched places."""
        return (path for path in sorted(self._tools) if not path.is_relative_to(self.top))

    def _read_lines(self) -> set[str]:
        """Note the lines of all files, and return the writers of shards."""
        names = {path.name for path in self.store.glob(f"{ARCHIVE}/*/*.jsonl")}
        for found in self.repository.git.all_objects() if self.repository else ():
            if found.kind == "blob":
                self.census.take(found.data)
            elif found.kind == "tree":
                names.update(name.decode("utf-8", "replace") for name in _SHARD_IN_TREE.findall(found.data))
        for path in self._own_files():
            self.census.take(path.read_bytes())
        return {shard_writer(name)[0] for name in names}

    def _own_files(self) -> list[Path]:
        found = {*self.tracked, *(path for path in self._tools if path.is_relative_to(self.top))}
        found.update(path for path in self.files() if self.redacts_files or self.is_own(path))
        state = tuple(store / ".memkit" for store in self.stores)
        own = (path for path in found if path.is_file() and not path.is_symlink())
        return sorted(path for path in own if not any(map(path.is_relative_to, state)))

    def _changes_of(self, path: Path) -> Iterator[FileChange]:
        relative = path.relative_to(self.top).as_posix()
        new_path = self.top / self.remainder.path(relative)
        if new_path == path and not self.remainder.reads(relative):
            return
        content = path.read_bytes()
        rest = self.remainder.content(content, relative)
        if rest == content and new_path == path:
            return
        is_gone = bool(content) and not rest
        if new_path != path or is_gone:
            yield FileChange(path, None)
        if not is_gone:
            yield FileChange(new_path, lambda: self.remainder.content(path.read_bytes(), relative))


def stores_inside(store: Path, top: Path) -> list[Path]:
    """Return the other stores below ``top``."""
    places = files_below(top, without=(top / ".git", store / ".memkit"))
    return [path.parent for path in places if path.name == MANIFEST and path.parent != store]
