"""What the lint room promises: rules, what they found, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Rule:
    """Something that lint looks for, with everything its page says."""

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


@dataclass(frozen=True)
class Edit:
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
    edit: Edit | None = None
    end: tuple[int, int] = (0, 0)
    """Line and column behind the last character, where that is known."""
    anchor: int = 0
    """The line on which the value begins that the place is in; a comment there speaks for all of it."""


@dataclass(frozen=True)
class Source:
    """A file to check."""

    path: Path
    kind: str
    """``manifest``, ``skill``, ``policy``, ``table`` (of tests), ``domain``, ``hddl``, ``learned`` (methods),
    ``problem``, ``archive`` or ``other``."""
    root: Path
    """The store that it belongs to."""


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

    def edit_of(self, finding: Finding) -> Edit | None:
        """Return the edit that --fix makes of a finding."""
        edit = finding.edit
        return edit if edit and (edit.is_safe or self.unsafe_fixes) else None

    def shown(self, path: Path) -> str:
        """Return ``path`` as people and machines are told it: relative, with forward slashes."""
        return path.relative_to(self.base).as_posix() if path.is_relative_to(self.base) else path.as_posix()
