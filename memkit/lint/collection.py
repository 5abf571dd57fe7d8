"""All files of one store, for the rules that look at more than one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from memkit.lint.checked import Checked


class Collection:
    """The files of a store, and what git's commit has in their place."""

    def __init__(
        self,
        root: Path,
        files: Iterable[Checked],
        committed: Mapping[str, Any] | None = None,
        since: str = "",
        stood_before: Callable[[str, bytes], bool] | None = None,
    ) -> None:
        self.root = root
        self.files = list(files)
        self.committed = committed or {}
        """What the commit to compare with holds, by path, of the files that are otherwise now."""
        self.since = since or "the last commit"
        self._stood_before = stood_before

    @cached_property
    def skills(self) -> dict[str, Checked]:
        """Return the skills that can be used, by name."""
        return self._of("skill")

    @cached_property
    def policies(self) -> dict[str, Checked]:
        """Return the policies that can be used, by name."""
        return self._of("policy")

    @cached_property
    def domains(self) -> dict[str, Checked]:
        """Return the domains that can be used, by name."""
        return self._of("domain")

    @cached_property
    def tables(self) -> list[Checked]:
        """Return the tables of policy tests that can be read."""
        return [file for file in self.files if file.source.kind == "table" and file.is_usable]

    @property
    def tools(self) -> list[str]:
        """Return the tools that ``memkit.yaml`` declares."""
        for file in self.files:
            if file.source.kind == "manifest" and file.is_usable:
                return [tool["name"] for tool in file.data.get("tools", ())]
        return []

    def names(self, kind: str) -> set[str]:
        """Return every name of a kind, of files that cannot be used as well."""
        return {file.name for file in self.files if file.source.kind == kind}

    def changed(self) -> Iterator[tuple[Checked, Mapping[str, Any]]]:
        """Yield each usable file that the commit has otherwise, with what the commit holds."""
        for file in self.files:
            before = self.committed.get(file.source.path.relative_to(self.root).as_posix())
            if file.is_usable and isinstance(before, Mapping):
                yield file, before

    def is_rolled_back(self, file: Checked) -> bool:
        """Return whether a file is, to the byte, what it was in a commit before the one to compare with."""
        path = file.source.path.relative_to(self.root).as_posix()
        return self._stood_before is not None and self._stood_before(path, file.content)

    def _of(self, kind: str) -> dict[str, Checked]:
        return {file.name: file for file in self.files if file.source.kind == kind and file.is_usable}
