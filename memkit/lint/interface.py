"""The concepts of linting: rules, what they examine, their findings, and what to do about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memkit.store.yaml import Document, KeyPath


@dataclass(frozen=True)
class Rule:
    """Something that lint looks for: all text on its page, and the check that finds it.

    Rules found in one pass over a file share a check, which then runs once.
    """

    code: str
    name: str
    what: str
    """One sentence, completed by the words of the finding itself."""
    why: str
    bad: str
    """The smallest text for ``example`` in which the rule finds something, or a description of one."""
    good: str
    example: str
    """The path in a store of ``bad`` and ``good``."""
    extra: Mapping[str, str] = field(default_factory=dict)
    """Other files of the store that both examples need, by path."""
    severity: str = "error"
    """``error``: memkit cannot use the file or would misread it; ``warning``: it works, and a person should look;
    ``note``: it is as intended, and a person should know. Notes alone are no failure."""
    fix: str = ""
    """What ``--fix`` does, empty if nothing."""
    unsafe_fix: str = ""
    """What ``--unsafe-fixes`` adds to that."""
    kinds: tuple[str, ...] = ()
    """The kinds of files that ``check`` examines; by default that of the example."""
    check: Callable[[Checked], Iterable[Finding]] | None = None
    """Finds it in one YAML file. None if it is found earlier, while files are located and read."""
    together: Callable[[Collection], Iterable[Finding]] | None = None
    """Finds it in all files of a store."""
    spoils: bool = False
    """Whether rules that examine several files skip a file with such a finding."""

    def told(self) -> dict[str, Any]:
        """Return the content of the rule's page, as plain data."""
        said = (each.name for each in fields(self) if each.name not in ("kinds", "check", "together", "spoils"))
        return {name: getattr(self, name) for name in said}


@dataclass(frozen=True)
class RuleSelection:
    """The rules that count, by prefixes of their codes."""

    select: tuple[str, ...] = ()
    """Empty for all rules."""
    ignore: tuple[str, ...] = ()

    def __contains__(self, code: str) -> bool:
        return (not self.select or code.startswith(self.select)) and not code.startswith(self.ignore)


@dataclass(frozen=True)
class TextEdit:
    """A replacement in a file's text, by offset in characters."""

    start: int
    end: int
    text: str
    is_safe: bool = True
    """Whether the file's meaning stays unchanged."""


@dataclass(frozen=True)
class Finding:
    """One place where a rule found something."""

    code: str
    message: str
    path: Path
    line: int
    column: int = 1
    edit: TextEdit | None = None
    end: tuple[int, int] = (0, 0)
    """Line and column after the last character, if known."""
    anchor: int = 0
    """The first line of the value that contains the place; a comment there applies to all of it."""


@dataclass(frozen=True)
class SourceFile:
    """A file to check."""

    path: Path
    kind: str
    """``manifest``, ``skill``, ``policy``, ``table`` (of tests), ``domain``, ``hddl``, ``learned`` (methods),
    ``problem``, ``archive``, ``package`` (beside a skill) or ``other``."""
    root: Path
    """The store that it belongs to."""


@dataclass(frozen=True)
class Suppression:
    """One comment."""

    codes: tuple[str, ...]
    reason: str
    line: int
    column: int
    covers: int
    """The line whose findings it switches off."""
    start: int
    """Offsets of everything that is removed with the comment."""
    end: int


def value_at(data: Any, path: KeyPath) -> Any:
    """Return the value at a path in the data of a document."""
    for part in path:
        data = data[part]
    return data


@dataclass
class FileFindings:
    """The findings in one file, with its comments."""

    findings: list[Finding]
    comments: tuple[Suppression, ...] = ()


@dataclass
class Checked:
    """One YAML file: its content, its findings, and which of them its comments switch off."""

    source: SourceFile
    content: bytes
    data: Any = None
    """Its content, if it is what its folder says it is; each ``check`` reads ``document``, and ``together`` this."""
    findings: list[Finding] = field(default_factory=list)
    """Before suppressions, and without those that only the whole store shows."""
    comments: tuple[Suppression, ...] = ()

    @property
    def name(self) -> str:
        """Return the name of the skill, policy or domain."""
        return self.source.path.stem

    @property
    def is_usable(self) -> bool:
        """Return whether the file is what its folder says it is."""
        return isinstance(self.data, Mapping)

    @cached_property
    def document(self) -> Document:
        """Return the document; a file taken from the cache is read only if something is found in it."""
        from memkit.store.yaml import load_yaml

        return load_yaml(self.content, name=str(self.source.path))

    def found(
        self,
        code: str,
        message: str,
        path: KeyPath = (),
        *,
        at_key: bool = False,
        part: tuple[int, int] | None = None,
        edit: TextEdit | None = None,
    ) -> Finding:
        """Return a finding about the value (or the key) at ``path``, or about some characters of the text there."""
        document = self.document
        if path in document.spans and not at_key:
            offsets = document.offsets(path) if part else []
            begin, end = (offsets[part[0]], offsets[part[1]]) if part else document.spans[path]
            return self.between(code, message, begin, end, path, edit)
        line, column = document.key_position(path) if at_key else document.position(path)
        return Finding(code, message, self.source.path, line, column, edit, anchor=line)

    def between(
        self, code: str, message: str, begin: int, end: int, path: KeyPath = (), edit: TextEdit | None = None
    ) -> Finding:
        """Return a finding about the text between two offsets of the file, in the value at ``path``."""
        document = self.document
        line, column = document.place(begin)
        anchor = document.position(path)[0] if path else line
        return Finding(code, message, self.source.path, line, column, edit, document.place(end), anchor)


class Collection:
    """The files of a store, and their content in git's commit."""

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
        """The content, by path, of the files that differ in the commit to compare with."""
        self.since = since or "the last commit"
        self._stood_before = stood_before

    @cached_property
    def skills(self) -> dict[str, Checked]:
        """Return the usable skills, by name."""
        return self._of("skill")

    @cached_property
    def policies(self) -> dict[str, Checked]:
        """Return the usable policies, by name."""
        return self._of("policy")

    @cached_property
    def domains(self) -> dict[str, Checked]:
        """Return the usable domains, by name."""
        return self._of("domain")

    @cached_property
    def tables(self) -> list[Checked]:
        """Return the readable tables of policy tests."""
        return [file for file in self.files if file.source.kind == "table" and file.is_usable]

    @property
    def tools(self) -> list[str]:
        """Return the tools that ``memkit.yaml`` declares."""
        for file in self.files:
            if file.source.kind == "manifest" and file.is_usable:
                return [tool["name"] for tool in file.data.get("tools", ())]
        return []

    def names(self, kind: str) -> set[str]:
        """Return every name of a kind, including those of unusable files."""
        return {file.name for file in self.files if file.source.kind == kind}

    def changed(self) -> Iterator[tuple[Checked, Mapping[str, Any]]]:
        """Yield each usable file that differs in the commit, with the commit's content."""
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


@dataclass(frozen=True)
class LintReport:
    """The outcome of one run."""

    files: tuple[Path, ...]
    findings: tuple[Finding, ...]
    base: Path
    """The folder that shown paths are relative to."""
    fixed: int = 0
    known: int = 0
    """Number of findings that a baseline left out."""
    gone: int = 0
    """Number of findings in the baseline that are resolved."""
    unsafe_fixes: bool = False
    """Whether edits that a person must review are included."""
    diff: str = ""
    """The changes that ``--fix`` would make, on request."""
    lines: Mapping[tuple[Path, int], str] = field(default_factory=dict)
    """The source lines that findings point at."""

    def edit_of(self, finding: Finding) -> TextEdit | None:
        """Return the edit that --fix makes for a finding."""
        edit = finding.edit
        return edit if edit and (edit.is_safe or self.unsafe_fixes) else None

    def shown(self, path: Path) -> str:
        """Return ``path`` as shown to people and machines: relative, with forward slashes."""
        return path.relative_to(self.base).as_posix() if path.is_relative_to(self.base) else path.as_posix()
