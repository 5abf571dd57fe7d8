"""Run the rules over the files of stores, without repeating work.

The cache is in the clone's own state; it can be deleted, and nobody else can name it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from memkit import __version__
from memkit.errors import MemkitError, StoreFault, UsageError
from memkit.lint.accepted import apply_suppressions
from memkit.lint.files import lies_inside, opened_shard, shards_of, sources_of_store
from memkit.lint.interface import (
    Checked,
    Collection,
    FileFindings,
    Finding,
    LintReport,
    RuleSelection,
    SourceFile,
    Suppression,
    TextEdit,
)
from memkit.lint.parts import in_parts
from memkit.runtime.memory.log.clone import cache_folder
from memkit.store.files import whole_file
from memkit.store.layout import MANIFEST, file_bytes, known_git_folder, why_not

_PACKAGE = Path(__file__).resolve().parents[1]
_UNDECIDING = frozenset(
    """__pycache__ cli drawing embeddings equivalence evolution evolve generate interchange llm loop pytest_plugin
    review sandbox templates testing use_cases""".split()  # noqa: SIM905
)
"""Folders whose code lint does not run; code in any other one may affect the findings, wherever it moves."""


class LintCache:
    """The results of earlier runs for one store."""

    def __init__(self, root: Path | None) -> None:
        """Open the cache of the store at ``root``; without a store nothing is cached."""
        self._folder = None if root is None else cache_folder(root) / "lint"

    def load(self, name: str) -> Any:
        """Return the cached content of a name, or None if there is none."""
        if self._folder is None:
            return None
        try:
            return json.loads((self._folder / f"{name}.json").read_bytes())
        except (OSError, ValueError):
            return None

    def keep(self, name: str, content: Any) -> None:
        """Cache ``content`` under a name; if it cannot be written, the next run repeats the work."""
        if self._folder is None:
            return
        body = json.dumps(content, separators=(",", ":")).encode()
        with suppress(OSError, MemkitError), whole_file(self._folder / f"{name}.json") as file:
            file.write(body)


def digest(content: bytes) -> str:
    """Return a short digest of a content."""
    return hashlib.blake2b(content, digest_size=20).hexdigest()


def program_key() -> str:
    """Return a key that changes with every release and every edit of the code that may affect the findings."""
    parts = [__version__]
    folders = [_PACKAGE]
    for folder in folders:
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.name.endswith((".py", ".json")):
                    about = entry.stat()
                    parts.append(f"{entry.path}:{about.st_size}:{about.st_mtime_ns}")
                elif entry.name not in _UNDECIDING and entry.is_dir():
                    folders.append(Path(entry.path))
    return digest("\n".join(parts).encode())


def packed_file(file: FileFindings | Checked) -> list[Any]:
    """Return the findings and comments of one file as JSON data."""
    return [list(map(_packed_finding, file.findings)), list(map(_packed_comment, file.comments))]


def unpacked_file(data: list[Any], path: Path) -> FileFindings:
    """Return the findings in the file at ``path``."""
    findings, comments = data
    return FileFindings(
        [_unpacked_finding(each, path) for each in findings],
        tuple(Suppression(tuple(codes), *rest) for codes, *rest in comments),
    )


def packed(found: Mapping[Path, FileFindings], root: Path) -> dict[str, list[Any]]:
    """Return the findings by the path of their file in the store, without files that have none."""
    return {
        str(path.relative_to(root)): packed_file(file) for path, file in found.items() if file.findings or file.comments
    }


def unpacked(data: Mapping[str, list[Any]], root: Path) -> dict[Path, FileFindings]:
    """Return the findings, by file."""
    return {root / name: unpacked_file(file, root / name) for name, file in data.items()}


def _packed_finding(finding: Finding) -> list[Any]:
    edit = finding.edit
    packed_edit = [edit.start, edit.end, edit.text, edit.is_safe] if edit else None
    place = [finding.line, finding.column, *finding.end, finding.anchor]
    return [finding.code, finding.message, place, packed_edit]


def _unpacked_finding(data: list[Any], path: Path) -> Finding:
    code, message, (line, column, end_line, end_column, anchor), edit = data
    return Finding(code, message, path, line, column, TextEdit(*edit) if edit else None, (end_line, end_column), anchor)


def _packed_comment(comment: Suppression) -> list[Any]:
    place = [comment.line, comment.column, comment.covers, comment.start, comment.end]
    return [list(comment.codes), comment.reason, *place]


def chosen_rules(select: Iterable[str] = (), ignore: Iterable[str] = ()) -> RuleSelection:
    """Return the rules whose codes begin with one of ``select`` (all if empty) and with none of ``ignore``.

    Raises:
        UsageError: No rule matches a given prefix, or no rule is left.
    """
    chosen = RuleSelection(_beginnings(select), _beginnings(ignore))
    if chosen != RuleSelection():
        from memkit.lint.rules import RULES, check_beginnings

        check_beginnings([*chosen.select, *chosen.ignore])
        if not any(code in chosen for code in RULES):
            raise UsageError("No rule is left: --ignore removes everything in --select.")
    return chosen


def _beginnings(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(part.strip().upper() for text in texts for part in text.split(","))


def lint(
    sources: Sequence[SourceFile],
    chosen: RuleSelection,
    base: Path,
    *,
    since: str = "",
    earlier: Mapping[str, bytes] | None = None,
    cached: bool = True,
) -> LintReport:
    """Return what the ``chosen`` rules find in ``sources``, sorted by path and place.

    Rules that examine several files see all of the store, even if only a part of it is checked.

    Args:
        sources: The files to check.
        chosen: The rules to apply.
        base: The folder that shown paths are relative to.
        since: The commit that versions are compared with; by default the last one.
        earlier: The files to compare them with instead, by path in the store; then ``since`` only names these.
        cached: Whether to use and store cached results.

    Raises:
        StoreFault: There is nothing to check, or a store has a newer format.
        UsageError: There is no commit ``since``.
    """
    if not sources:
        raise StoreFault("Nothing to check: no skill, policy, domain, archive or memkit.yaml in the given paths.")
    findings: list[Finding] = []
    for root in dict.fromkeys(source.root for source in sources):
        given = [source for source in sources if source.root == root]
        findings += _in_store(root, given, chosen, since=since, earlier=earlier, cached=cached)
    ordered = in_places(findings)
    files = tuple(sorted(source.path for source in sources))
    return LintReport(files, ordered, base, lines=_source_lines(ordered, sources))


def in_places(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings sorted by path and place."""
    return tuple(sorted(findings, key=lambda finding: (finding.path, finding.line, finding.column, finding.code)))


_APART = ("archive", "package")
"""Kinds of files that are not YAML and have rules of their own."""


def _in_store(
    root: Path,
    given: Sequence[SourceFile],
    chosen: RuleSelection,
    *,
    since: str,
    earlier: Mapping[str, bytes] | None,
    cached: bool,
) -> Iterator[Finding]:
    everything = {source.path: source for source in (*sources_of_store(root), *given) if source.kind not in _APART}
    paths = {source.path for source in given}
    if any(source.kind not in _APART for source in given):
        results = StoreFiles(root, everything.values(), since=since, earlier=earlier, cached=cached).results()
        for path, result in results.items():
            if path in paths:
                found = [finding for finding in result.findings if finding.code in chosen]
                yield from _unsuppressed(found, result.comments, path, chosen)
    if root / MANIFEST in paths:
        from memkit.lint.families.archive import tracked_machine_folder

        yield from (finding for finding in tracked_machine_folder(root) if finding.code in chosen)
    beside = {source.path.relative_to(root).parts[1] for source in given if source.kind == "package"}
    for name in sorted(beside):
        from memkit.lint.families.packages import package_findings

        for finding in package_findings(root / "skills" / name):
            if finding.code in chosen and finding.path in paths:
                yield finding
    shards = [source for source in given if source.kind == "archive"]
    if shards:
        yield from (finding for finding in _archive_findings(shards, cached=cached) if finding.code in chosen)


def _unsuppressed(
    found: list[Finding], comments: Sequence[Suppression], path: Path, chosen: RuleSelection
) -> Sequence[Finding]:
    if not comments:
        return found
    from memkit.lint.rules import RULES

    return apply_suppressions(found, comments, path, chosen, list(RULES))


def _source_lines(findings: Iterable[Finding], sources: Sequence[SourceFile]) -> dict[tuple[Path, int], str]:
    """Return the text of the lines that findings point at.

    Memory stays out of logs, and so do files outside the store.
    """
    wanted: dict[Path, set[int]] = {}
    for finding in findings:
        wanted.setdefault(finding.path, set()).add(finding.line)
    shown = {
        source.path for source in sources if source.path in wanted and source.kind != "archive" and lies_inside(source)
    }
    return {
        (path, number): text
        for path, numbers in wanted.items()
        if path in shown
        for number, text in _numbered(path, max(numbers))
        if number in numbers
    }


def _numbered(path: Path, last: int) -> Iterable[tuple[int, str]]:
    try:
        if not path.is_file():
            return
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            for number, line in enumerate(file, start=1):
                if number > last:
                    return
                yield number, line.rstrip("\r\n")
    except OSError:
        # The finding itself says that the file cannot be read.
        return


def _archive_findings(sources: Sequence[SourceFile], *, cached: bool) -> list[Finding]:
    """Return the faults in the given shards of one store; an id may conflict with a line of any other shard."""
    root = sources[0].root
    paths = sorted({source.path for source in sources} | shards_of(root))
    key = digest(repr((program_key(), [(str(path), _shard_digest(path)) for path in paths])).encode())
    kept = LintCache(root if cached else None)
    known = kept.load("archive") or {}
    if known.get("key") == key:
        found = unpacked(known["found"], root)
    else:
        from memkit.lint.families.archive import check_archive

        found = {path: FileFindings([]) for path in paths}
        for finding in check_archive([SourceFile(path, "archive", root) for path in paths]):
            found[finding.path].findings.append(finding)
        kept.keep("archive", {"key": key, "found": packed(found, root)})
    return [finding for source in sources if source.path in found for finding in found[source.path].findings]


def _shard_digest(path: Path) -> str:
    """Return the digest of a shard, read in pieces, because it may be large; a link is not followed."""
    if path.is_symlink():
        return "link"
    with opened_shard(path) as file:
        return hashlib.file_digest(file, hashlib.blake2b).hexdigest()


_REPORT, _FILES = "report", "files"


class StoreFiles:
    """The YAML files of one store."""

    def __init__(
        self,
        root: Path,
        sources: Iterable[SourceFile],
        *,
        since: str = "",
        earlier: Mapping[str, bytes] | None = None,
        cached: bool = True,
    ) -> None:
        self.root = root
        self._sources = [source for source in sources if source.kind not in _APART]
        self._since = since
        self._earlier = earlier
        self._cache = LintCache(root if cached else None)

    def results(self) -> dict[Path, FileFindings]:
        """Return the findings in each file; suppressions are not applied yet.

        Raises:
            StoreFault: The store has a newer format.
            UsageError: A commit named by a person does not exist.
        """
        contents, results = self._read()
        program, repository = program_key(), known_git_folder(self.root)
        head = repository.head_id if repository else None
        keys = {path: digest(content) for path, content in contents.items()}
        named = sorted((str(path), key) for path, key in keys.items())
        key = digest(repr((program, self._since, head, sorted(map(str, results)), named)).encode())
        kept = self._cache.load(_REPORT) or {}
        if kept.get("key") == key and not self._since:
            return results | unpacked(kept["found"], self.root)
        files = self._checked(contents, keys, program)
        found = {file.source.path: FileFindings(list(file.findings), file.comments) for file in files}
        for finding in self._together(files, contents, head):
            found.setdefault(finding.path, results.get(finding.path, FileFindings([]))).findings.append(finding)
        self._cache.keep(_REPORT, {"key": key, "found": packed(found, self.root)})
        return results | found

    def _read(self) -> tuple[dict[Path, bytes], dict[Path, FileFindings]]:
        """Return the content of each readable file, and a finding for each other one."""
        contents: dict[Path, bytes] = {}
        results: dict[Path, FileFindings] = {}
        for source in self._sources:
            fault = _not_to_read(source)
            try:
                content = b"" if fault else file_bytes(source.path)
            except (OSError, ValueError) as error:
                fault = Finding("MKY001", why_not(error), source.path, 1)
            if fault:
                results[source.path] = FileFindings([fault])
            else:
                contents[source.path] = content
        return contents, results

    def _checked(self, contents: dict[Path, bytes], keys: dict[Path, str], program: str) -> list[Checked]:
        """Return each file, checked by itself now or by an earlier run."""
        kept = self._cache.load(_FILES) or {}
        known = kept.get("files", {}) if kept.get("program") == program else {}
        named = {
            f"{keys[source.path]} {source.kind} {source.path.relative_to(self.root)}": source
            for source in self._sources
            if source.path in contents
        }
        fresh = {name: source for name, source in named.items() if name not in known}
        results = in_parts(
            list(fresh.values()),
            [len(contents[source.path]) for source in fresh.values()],
            lambda source: _checked_alone(source, contents[source.path]),
        )
        checked = known | dict(zip(fresh, results, strict=True))
        seen = {name: checked[name] for name in named}
        if seen.keys() != known.keys():
            self._cache.keep(_FILES, {"program": program, "files": seen})
        return [_file_of(source, contents[source.path], seen[name]) for name, source in named.items()]

    def _together(self, files: Sequence[Checked], contents: dict[Path, bytes], head: str | None) -> Iterator[Finding]:
        from memkit.lint.families.life_cycle import committed_data, earlier_data, stood_before
        from memkit.lint.rules import check_together

        commit = self._since or head
        before: dict[str, Any] = {}
        stood: Callable[[str, bytes], bool] | None = None
        if commit or self._earlier is not None:
            named = {path.relative_to(self.root).as_posix(): content for path, content in contents.items()}
            if self._earlier is not None:
                before = earlier_data(self._earlier, named)
            elif commit:
                before = committed_data(self.root, named, commit)
                stood = partial(stood_before, self.root, commit)
        collection = Collection(self.root, files, before, self._since, stood)
        yield from check_together(collection)


def _checked_alone(source: SourceFile, content: bytes) -> list[Any]:
    """Return a file's content and its own findings, in cached form."""
    from memkit.lint import rules

    file = rules.check_file(source, content)
    return [file.data, *packed_file(file)]


def _file_of(source: SourceFile, content: bytes, kept: list[Any]) -> Checked:
    """Return a file in checked form."""
    data, *found = kept
    findings = unpacked_file(found, source.path)
    return Checked(source, content, data, findings.findings, findings.comments)


def _not_to_read(source: SourceFile) -> Finding | None:
    """Return why a file is not even opened."""
    if not lies_inside(source):
        return Finding("MKY009", "This is a symbolic link to something outside the store.", source.path, 1)
    if source.kind == "other":
        message = "This file is not read. Name it *.yaml and put it directly in its folder."
        return Finding("MKY010", message, source.path, 1)
    return None
