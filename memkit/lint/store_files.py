"""Check all YAML files of one store, each by itself and then together, and do nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memkit.lint import cache
from memkit.lint.interface import Finding, Source
from memkit.lint.sources import lies_inside
from memkit.lint.suppressions import Suppression
from memkit.store.file_bytes import file_bytes, why_not
from memkit.store.git_folder import known_git_folder

if TYPE_CHECKING:
    from memkit.lint.checked import Checked

_REPORT, _FILES = "report", "files"


@dataclass
class Result:
    """What was found in one file, with its comments."""

    findings: list[Finding]
    comments: tuple[Suppression, ...] = ()


class StoreFiles:
    """The YAML files of one store."""

    def __init__(
        self,
        root: Path,
        sources: Iterable[Source],
        *,
        since: str = "",
        earlier: Mapping[str, bytes] | None = None,
        cached: bool = True,
    ) -> None:
        self.root = root
        self._sources = [source for source in sources if source.kind != "archive"]
        self._since = since
        self._earlier = earlier
        self._cache = cache.LintCache(root) if cached else None

    def results(self) -> dict[Path, Result]:
        """Return what is found in each file; suppressions are not applied yet.

        Raises:
            StoreFault: The store is of a newer format.
            UsageError: There is no commit to compare with, of those that a person named.
        """
        contents, results = self._read()
        program, repository = cache.program_key(), known_git_folder(self.root)
        head = repository.head_id if repository else None
        keys = {path: cache.digest(content) for path, content in contents.items()}
        named = sorted((str(path), key) for path, key in keys.items())
        key = cache.digest(repr((program, self._since, head, sorted(map(str, results)), named)).encode())
        kept = self._load(_REPORT) or {}
        if kept.get("key") == key and not self._since:
            return results | {path: Result(found, comments) for path, found, comments in self._unpacked(kept["found"])}
        files = self._checked(contents, keys, program)
        found = {file.source.path: Result(list(file.findings), file.comments) for file in files}
        for finding in self._together(files, contents, head):
            found.setdefault(finding.path, results.get(finding.path, Result([]))).findings.append(finding)
        self._keep(_REPORT, {"key": key, "found": self._packed(found)})
        return results | found

    def _read(self) -> tuple[dict[Path, bytes], dict[Path, Result]]:
        """Return the content of each file that can be read, and a finding for each other one."""
        contents: dict[Path, bytes] = {}
        results: dict[Path, Result] = {}
        for source in self._sources:
            fault = _not_to_read(source)
            try:
                content = b"" if fault else file_bytes(source.path)
            except (OSError, ValueError) as error:
                fault = Finding("MKY001", why_not(error), source.path, 1)
            if fault:
                results[source.path] = Result([fault])
            else:
                contents[source.path] = content
        return contents, results

    def _checked(self, contents: dict[Path, bytes], keys: dict[Path, str], program: str) -> list[Checked]:
        """Return each file, checked by itself now or by an earlier run."""
        from memkit.lint.checked import Checked
        from memkit.lint.yaml_files import check_file

        kept = self._load(_FILES) or {}
        known = kept.get("files", {}) if kept.get("program") == program else {}
        files, seen = [], {}
        for source in self._sources:
            if source.path not in contents:
                continue
            content = contents[source.path]
            key = f"{keys[source.path]} {source.kind} {source.path.relative_to(self.root)}"
            if key in known:
                data, found, comments = known[key]
                file = Checked(source, content, data, [cache.unpacked_finding(each, source.path) for each in found])
                file.comments = tuple(map(cache.unpacked_comment, comments))
            else:
                file = check_file(source, content)
            files.append(file)
            packed = map(cache.packed_finding, file.findings), map(cache.packed_comment, file.comments)
            seen[key] = known.get(key) or [file.data, *map(list, packed)]
        if seen.keys() != known.keys():
            self._keep(_FILES, {"program": program, "files": seen})
        return files

    def _together(self, files: Sequence[Checked], contents: dict[Path, bytes], head: str | None) -> Iterator[Finding]:
        from memkit.lint.collection import Collection
        from memkit.lint.together import STORE_RULES

        commit = self._since or head
        before: dict[str, Any] = {}
        stood: Callable[[str, bytes], bool] | None = None
        if commit or self._earlier is not None:
            from memkit.lint.committed import committed_data, earlier_data, stood_before

            named = {path.relative_to(self.root).as_posix(): content for path, content in contents.items()}
            if self._earlier is not None:
                before = earlier_data(self._earlier, named)
            elif commit:
                before = committed_data(self.root, named, commit)
                stood = partial(stood_before, self.root, commit)
        collection = Collection(self.root, files, before, self._since, stood)
        for rule in STORE_RULES:
            yield from rule(collection)

    def _load(self, name: str) -> Any:
        return self._cache.load(name) if self._cache else None

    def _keep(self, name: str, content: Any) -> None:
        if self._cache:
            self._cache.keep(name, content)

    def _packed(self, found: dict[Path, Result]) -> list[Any]:
        return [
            [
                str(path.relative_to(self.root)),
                [cache.packed_finding(finding) for finding in result.findings],
                [cache.packed_comment(comment) for comment in result.comments],
            ]
            for path, result in found.items()
            if result.findings or result.comments
        ]

    def _unpacked(self, data: list[Any]) -> Iterator[tuple[Path, list[Finding], tuple[Suppression, ...]]]:
        for name, findings, comments in data:
            path = self.root / name
            found = [cache.unpacked_finding(each, path) for each in findings]
            yield path, found, tuple(map(cache.unpacked_comment, comments))


def _not_to_read(source: Source) -> Finding | None:
    """Return why a file is not even opened."""
    if not lies_inside(source):
        return Finding("MKY009", "This is a symbolic link to something outside of the store.", source.path, 1)
    if source.kind == "other":
        message = "This file is not read. Name it *.yaml and put it directly into its folder."
        return Finding("MKY010", message, source.path, 1)
    return None
