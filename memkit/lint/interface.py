"""What the lint room promises: rules, what they look at, what they found, and what to do about it."""

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
    """Something that lint looks for: everything its page says, and the check that finds it.

    Rules that are found on one way through a file share a check, which then runs once.
    """

    code: str
    name: str
    what: str
    """One sentence, finished in the words of the finding itself."""
    why: str
    bad: str
    """The smallest text of ``example`` that the rule finds something in, or a description of one."""
    good: str
    example: str
    """Where in a store ``bad`` and ``good`` stand."""
    extra: Mapping[str, str] = field(default_factory=dict)
    """Other files of the store that both examples need, by path."""
    severity: str = "error"
    """``error``: memkit cannot use the file or would misread it; ``warning``: it works, and a person should look;
    ``note``: it is as it should be, and a person should know. Notes alone are no failure."""
    fix: str = ""
    """What ``--fix`` does, empty when it does nothing."""
    unsafe_fix: str = ""
    """What ``--unsafe-fixes`` adds to that."""
    kinds: tuple[str, ...] = ()
    """The kinds of files that ``check`` looks at; that of the example where none is named."""
    check: Callable[[Checked], Iterable[Finding]] | None = None
    """Finds it in one file that is YAML. None where it is found earlier, while files are found and read."""
    together: Callable[[Collection], Iterable[Finding]] | None = None
    """Finds it in all files of a store."""
    spoils: bool = False
    """Whether no rule that looks at several files reads a file with such a finding."""

    def told(self) -> dict[str, Any]:
        """Return what the rule's page says, as plain data."""
        said = (each.name for each in fields(self) if each.name not in ("kinds", "check", "together", "spoils"))
        return {name: getattr(self, name) for name in said}


@dataclass(frozen=True)
class RuleSelection:
    """Which rules count, by the beginnings of their codes."""

    select: tuple[str, ...] = ()
    """All rules where none is given."""
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
    """Whether what the file means stays unchanged."""


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
    """Line and column behind the last character, where that is known."""
    anchor: int = 0
    """The line on which the value begins that the place is in; a comment there speaks for all of it."""


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
    """Offsets of all that goes when the comment goes."""
    end: int


def value_at(data: Any, path: KeyPath) -> Any:
    """Return what stands at a path in the data of a document."""
    for part in path:
        data = data[part]
    return data


@dataclass
class FileFindings:
    """What was found in one file, with its comments."""

    findings: list[Finding]
    comments: tuple[Suppression, ...] = ()


@dataclass
class Checked:
    """One YAML file: what it holds, what was found in it, and which findings its comments switch off."""

    source: SourceFile
    content: bytes
    data: Any = None
    """What it holds, where it is what its folder says it is."""
    findings: list[Finding] = field(default_factory=list)
    """Before suppressions, and without what only the whole store shows."""
    comments: tuple[Suppression, ...] = ()

    @property
    def name(self) -> str:
        """Return what the skill, policy or domain is called."""
        return self.source.path.stem

    @property
    def is_usable(self) -> bool:
        """Return whether the file is what its folder says it is."""
        return isinstance(self.data, Mapping)

    @cached_property
    def document(self) -> Document:
        """Return the document; a file that was taken from the cache is read only when something is found in it."""
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
        """Return a finding about what stands between two offsets of the file's text, in the value at ``path``."""
        document = self.document
        line, column = document.place(begin)
        anchor = document.position(path)[0] if path else line
        return Finding(code, message, self.source.path, line, column, edit, document.place(end), anchor)


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


@dataclass(frozen=True)
class LintReport:
    """The outcome of one run."""

    files: tuple[Path, ...]
    findings: tuple[Finding, ...]
    base: Path
    """What shown paths are relative to."""
    fixed: int = 0
    known: int = 0
    """How many findings a baseline left out."""
    gone: int = 0
    """How many findings of the baseline are not there any more."""
    unsafe_fixes: bool = False
    """Whether edits count that a person must look at."""
    diff: str = ""
    """What ``--fix`` would change, when that was asked for."""
    lines: Mapping[tuple[Path, int], str] = field(default_factory=dict)
    """The source lines that findings point at."""

    def edit_of(self, finding: Finding) -> TextEdit | None:
        """Return the edit that --fix makes of a finding."""
        edit = finding.edit
        return edit if edit and (edit.is_safe or self.unsafe_fixes) else None

    def shown(self, path: Path) -> str:
        """Return ``path`` as people and machines are told it: relative, with forward slashes."""
        return path.relative_to(self.base).as_posix() if path.is_relative_to(self.base) else path.as_posix()
