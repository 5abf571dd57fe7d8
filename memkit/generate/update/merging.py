"""The fate of every path when a project's files meet two renders: the one it began as, and the new one.

The rules, which lose nothing of the owner's work: what only the template changed is taken; what only the
owner changed stays; what both changed is merged, wherever either side moved it; what the owner deleted stays deleted;
what the owner added is never touched; and if a rule cannot decide, the owner's file stays and a person is asked.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from memkit.errors import EnvironmentFault
from memkit.generate.content import SHEETS
from memkit.generate.manifest import MANIFEST
from memkit.generate.update.formatting import Wording, meaning_of
from memkit.store.git_process import Plumbing

_MEMKITS = ".memkit/"
_MOST_BYTES = 1_000_000
"""A larger file is not a template's."""


@dataclass(frozen=True)
class OwnFile:
    """A regular file."""

    content: bytes
    mode: int


@dataclass(frozen=True)
class UpdateObstacle:
    """Something at a path that is not a regular file, or is behind a link."""

    what: str


class OwnerFiles:
    """Reads the files of one project."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self._read: dict[str, OwnFile | UpdateObstacle | None] = {}

    def at(self, path: str) -> OwnFile | UpdateObstacle | None:
        """Return the object at a path of the project, None if there is none."""
        if path not in self._read:
            self._read[path] = look(self.project, path)
        return self._read[path]

    def small(self, path: str) -> bytes | None:
        """Return the content of a file that may have been a template's, wherever it is now; it is not cached."""
        try:
            if (self.project / path).lstat().st_size > _MOST_BYTES:
                return None
        except OSError:
            return None
        own = look(self.project, path)
        return own.content if isinstance(own, OwnFile) else None

    def not_ignored(self, git: Plumbing) -> frozenset[str]:
        """Return the paths of all files that the project's ``.gitignore`` files do not ignore, except memkit's.

        Git only lists them: its own folder is ``git``'s, so the configuration of the owner's repository has no effect.
        """
        printed = git.run("--work-tree", str(self.project), "ls-files", "-z", "--others", "--exclude-standard")
        paths = (os.fsdecode(path) for path in printed.split(b"\0") if path and not path.endswith(b"/"))
        return frozenset(path for path in paths if not path.startswith(_MEMKITS))


def look(project: Path, path: str) -> OwnFile | UpdateObstacle | None:
    """Return the object at ``path`` below a project, without following a link anywhere on the way."""
    place = project
    *folders, _ = path.split("/")
    for folder in folders:
        place = place / folder
        try:
            mode = place.lstat().st_mode
        except FileNotFoundError:
            return None
        if not stat.S_ISDIR(mode):
            return UpdateObstacle(f"{place.relative_to(project)} is {_kind(mode)}")
    return _at(project / path, path)


def _at(place: Path, path: str) -> OwnFile | UpdateObstacle | None:
    try:
        mode = place.lstat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        return UpdateObstacle(f"{path} is {_kind(mode)}")
    with os.fdopen(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        return OwnFile(file.read(), stat.S_IMODE(mode))


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a link"
    return "a folder" if stat.S_ISDIR(mode) else "a file" if stat.S_ISREG(mode) else "not a regular file"


_LOOKED_AT = 8_000
"""How far git looks for a zero byte to call a file binary."""
_MOST_CONFLICTS = 127
_OWN_LABEL = "yours"
_TEMPLATE = "template"
_BEGIN, _END = f"<<<<<<< {_OWN_LABEL}".encode(), f">>>>>>> {_TEMPLATE} ".encode()


@dataclass(frozen=True)
class Labels:
    """The names of the template's sides in conflict markers."""

    base: str
    theirs: str

    @classmethod
    def between(cls, before: str, after: str) -> Labels:
        """Return the labels for an update from one version of the templates to another, or to another content."""
        return cls(f"{_TEMPLATE} {before}", f"{_TEMPLATE} {after}{', rendered anew' if before == after else ''}")


@dataclass(frozen=True)
class MergedText:
    """The result of merging a content that two sides changed."""

    content: bytes
    marked: bool = False
    """Whether it contains conflict markers."""
    unmerged: bool = False
    """Whether it is the owner's side alone, because the two cannot be joined in one text."""


def merge_content(
    git: Plumbing, base: bytes | None, own: bytes, theirs: bytes, labels: Labels, *, python: bool
) -> MergedText:
    """Merge the owner's and the template's versions of ``base``, which is None if both added the file."""
    if own == theirs or theirs == base:
        return MergedText(own)
    if own == base or (base is not None and _is_same_json(own, base)):
        return MergedText(theirs)
    if is_binary(own) or is_binary(theirs):
        return MergedText(own, unmerged=True)
    merged = _merge(git, base, own, theirs, labels, python=python)
    if python and not merged.marked and _broken(merged.content, own, theirs):
        return MergedText(own, unmerged=True)
    return merged


def says_the_same(own: bytes, base: bytes, *, python: bool) -> bool:
    """Return whether the owner changed only the style of a file."""
    return (
        own == base
        or _is_same_json(own, base)
        or (not is_binary(own) and Wording(own, base, python=python).shown == base)
    )


def _is_same_json(own: bytes, base: bytes) -> bool:
    """Return whether two texts are JSON of the same value: memkit used to write compiled files on more lines."""
    if own[:1] not in (b"{", b"[") or base[:1] not in (b"{", b"["):
        return False
    try:
        # If only line ends differ, the merge keeps the owner's.
        return Wording(own, base, python=False).shown != base and _as_value(own) == _as_value(base)
    except (ValueError, RecursionError):
        return False


def _as_value(text: bytes) -> str:
    """Return JSON in one spelling; as text, because ``true`` and ``1`` are equal in Python, and not the same."""
    return json.dumps(json.loads(text), sort_keys=True)


def has_marks(content: bytes) -> bool:
    """Return whether a text still contains the conflict markers that an update left in it."""
    began = False
    for line in content.split(b"\n"):
        if began and line.startswith(_END):
            return True
        began = began or line.rstrip() == _BEGIN
    return False


def is_binary(content: bytes) -> bool:
    """Return whether git would take ``content`` for binary."""
    return b"\0" in content[:_LOOKED_AT]


def _merge(git: Plumbing, base: bytes | None, own: bytes, theirs: bytes, labels: Labels, *, python: bool) -> MergedText:
    like = theirs if base is None else base
    wording = Wording(own, like, python=python)
    content, marked = _merge_file(git, base, wording.shown, theirs, labels)
    restored = wording.restored(content)
    if python and not marked and _meaning(restored) != _meaning(content):
        # The owner's style does not fit the new content, for example with another width of indentation.
        return MergedText(Wording(own, like, python=False).restored(content))
    return MergedText(restored, marked)


def _merge_file(git: Plumbing, base: bytes | None, own: bytes, theirs: bytes, labels: Labels) -> tuple[bytes, bool]:
    with tempfile.TemporaryDirectory(prefix="memkit-merge-") as folder:
        sides = {"own": own, "base": base or b"", "theirs": theirs}
        for name, content in sides.items():
            Path(folder, name).write_bytes(content)
        names = [word for label in (_OWN_LABEL, labels.base, labels.theirs) for word in ("-L", label)]
        style = [] if base is None else ["--diff3"]
        done = git.finished("merge-file", "-p", "-q", *style, *names, *(str(Path(folder, name)) for name in sides))
    if not 0 <= done.status <= _MOST_CONFLICTS:
        raise EnvironmentFault(f"git merge-file failed: {done.errors.decode('utf-8', 'replace').strip()}")
    return done.output, done.status > 0


def _broken(merged: bytes, own: bytes, theirs: bytes) -> bool:
    """Return whether the merge of two parsable sides cannot be parsed."""
    return _meaning(merged) is None and None not in (_meaning(own), _meaning(theirs))


def _meaning(content: bytes) -> object:
    try:
        return meaning_of(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return None


_PERSON = "memkit <memkit@example.org> 0 +0000"
_MOST_CANDIDATES = 5_000
"""With more files than this, a renamed one is only looked for under its name."""


@dataclass(frozen=True)
class PlannedFile:
    """The intended state of a path."""

    content: bytes
    mode: int | None
    """None for that of any new file."""


@dataclass(frozen=True)
class FileAction:
    """What an update does about one path."""

    path: str
    action: str
    """add | update | merge | rename | delete | keep | conflict"""
    reason: str = ""
    """Why a file is kept, or what a person has to decide."""
    before: str | None = None
    """The former path, if it is renamed."""


@dataclass
class UpdatePlan:
    """Everything that an update will do."""

    actions: list[FileAction] = field(default_factory=list)
    changes: dict[str, PlannedFile | None] = field(default_factory=dict)
    """Path → its new state; None to delete it."""
    aside: dict[str, bytes] = field(default_factory=dict)
    """The template's side of conflicts without markers, by path."""

    @property
    def conflicts(self) -> list[FileAction]:
        """The paths that a person has to review."""
        return [action for action in self.actions if action.action == "conflict"]


@dataclass(frozen=True)
class Sides:
    """The two renders."""

    base: Mapping[str, bytes]
    """The project's original files, by path."""
    theirs: Mapping[str, bytes]
    """The files of a render made now."""
    labels: Labels


class Merging:
    """Decides path by path."""

    def __init__(self, git: Plumbing, owner: OwnerFiles, sides: Sides) -> None:
        self._git = git
        self._owner = owner
        self._base = {path: content for path, content in sides.base.items() if path != MANIFEST}
        self._theirs = {path: content for path, content in sides.theirs.items() if path != MANIFEST}
        self._labels = sides.labels
        self._plan = UpdatePlan()
        self._visible = owner.not_ignored(git)
        self._moved = {old: new for old, new in renames(git, self._base, self._theirs).items() if not _is_sheet(old)}
        self._moved_by_owner = self._owners_renames()

    def plan(self) -> UpdatePlan:
        """Return the plan, in the order of the paths."""
        for path in sorted(self._base):
            self._known(path)
        for path in sorted(self._theirs.keys() - self._base.keys() - set(self._moved.values())):
            self._added(path)
        said = {(action.path, action.action): action for action in reversed(self._plan.actions)}
        self._plan.actions[:] = sorted(said.values(), key=lambda action: action.path)
        return self._plan

    def _owners_renames(self) -> dict[str, str]:
        """Return where the owner moved the template's files, if a file there is still of its kind."""
        gone = {path: content for path, content in self._base.items() if self._owner.at(path) is None}
        kinds = {PurePosixPath(path).suffix for path in gone}
        new = [path for path in self._visible - self._base.keys() if PurePosixPath(path).suffix in kinds]
        if len(new) > _MOST_CANDIDATES:
            names = {PurePosixPath(path).name for path in gone}
            new = [path for path in new if PurePosixPath(path).name in names]
        candidates = {path: self._owner.small(path) for path in sorted(new)}
        return renames(self._git, gone, {path: content for path, content in candidates.items() if content is not None})

    def _known(self, path: str) -> None:
        base, new = self._base[path], self._moved.get(path, path)
        theirs = self._theirs.get(new)
        place = self._moved_by_owner.get(path, path)
        own = self._owner.at(place)
        untouched = theirs == base and new == path
        if untouched:
            return
        if own is None:
            if theirs is not None:
                self._say(path, "keep", "you deleted it, and it stays deleted")
        elif isinstance(own, UpdateObstacle):
            self._conflict(place, f"{own.what}, and the template changed the file", new, theirs)
        elif theirs is None:
            self._deleted(path, place, own, base)
        else:
            self._merged(place, own, path, new)

    def _deleted(self, path: str, place: str, own: OwnFile, base: bytes) -> None:
        if place == path and says_the_same(own.content, base, python=_is_python(path)):
            self._plan.changes[path] = None
            self._say(path, "delete")
        else:
            self._conflict(place, "the template deleted this file, and you changed it; it is kept")

    def _merged(self, place: str, own: OwnFile, path: str, new: str) -> None:
        target = new if place == path else place
        base, theirs = self._base[path], self._theirs[new]
        merged = merge_content(self._git, base, own.content, theirs, self._labels, python=_is_python(new))
        problem = self._in_the_way(place, target)
        if place != path and new not in (path, place):
            problem = f"the template renamed it to {new}, you to {place}"
        if problem:
            target = place
        if target != place:
            self._plan.changes[place] = None
        if target != place or merged.content != own.content:
            self._plan.changes[target] = PlannedFile(merged.content, own.mode)
        if merged.unmerged:
            self._conflict(target, "both changed it, and the versions cannot be merged", target, theirs)
        elif problem or merged.marked:
            self._conflict(target, problem or "both changed the same lines; they are marked in the file")
        elif target != place:
            self._say(target, "rename", before=place)
        elif merged.content == own.content:
            return
        else:
            self._say(target, "update" if own.content == base else "merge")

    def _in_the_way(self, place: str, target: str) -> str:
        """Return what prevents a file from moving to ``target``, empty if nothing does."""
        there = self._owner.at(target) if target != place else None
        if there is None:
            return ""
        what = there.what if isinstance(there, UpdateObstacle) else f"you already have a {target}"
        return f"the template renamed it to {target}, and {what}"

    def _added(self, path: str) -> None:
        own, theirs = self._owner.at(path), self._theirs[path]
        if own is None:
            self._plan.changes[path] = PlannedFile(theirs, None)
            self._say(path, "add")
        elif isinstance(own, UpdateObstacle):
            self._conflict(path, f"the template adds it, and {own.what}", path, theirs)
        elif own.content == theirs:
            return
        elif path in self._moved_by_owner.values() or path not in self._visible or is_binary(own.content):
            self._conflict(path, "the template adds it, and you have a file there", path, theirs)
        else:
            merged = merge_content(self._git, None, own.content, theirs, self._labels, python=_is_python(path))
            if merged.content != own.content:
                self._plan.changes[path] = PlannedFile(merged.content, own.mode)
            if merged.unmerged:
                self._conflict(path, "the template adds it, and you have a file there", path, theirs)
            elif merged.marked:
                self._conflict(path, "both added it; the differences are marked in the file")

    def _say(self, path: str, action: str, reason: str = "", *, before: str | None = None) -> None:
        self._plan.actions.append(FileAction(path, action, reason, before))

    def _conflict(self, path: str, reason: str, aside: str = "", theirs: bytes | None = None) -> None:
        if theirs is not None:
            self._plan.aside[aside] = theirs
        self._say(path, "conflict", reason)


def _is_python(path: str) -> bool:
    return PurePosixPath(path).suffix == ".py"


def _is_sheet(path: str) -> bool:
    """Return whether a path is a skill's, which never becomes another skill's however alike they are."""
    return path.startswith(tuple(f"{folder}/" for folder in SHEETS.values()))


# --- renames, as git detects them: by the share of common lines


def renames(git: Plumbing, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> dict[str, str]:
    """Return the path in ``before`` → the path in ``after`` of every file that was renamed, edited or not."""
    gone = {path: content for path, content in before.items() if path not in after}
    new = {path: content for path, content in after.items() if path not in before}
    if not gone or not new:
        return {}
    trees = [_tree(git, files) for files in (gone, new)]
    words = git.run("diff-tree", "-r", "-z", "-M", "-l0", "--diff-filter=R", *trees).split(b"\0")
    found = {}
    for start in range(0, len(words) - 2, 3):
        old, path = words[start + 1].decode(), words[start + 2].decode("utf-8", "surrogateescape")
        found[old] = path
    return found


def _tree(git: Plumbing, files: Mapping[str, bytes]) -> str:
    """Store files in the repository as a commit and return its id."""
    parts = [f"commit refs/heads/files\ncommitter {_PERSON}\ndata 0\n\ndeleteall\n".encode()]
    for path, content in files.items():
        named = path.encode("utf-8", "surrogateescape")
        parts.append(b"M 100644 inline " + _quoted(named) + f"\ndata {len(content)}\n".encode() + content + b"\n")
    git.run("fast-import", "--quiet", "--force", given=b"".join(parts))
    return git.run("rev-parse", "--verify", "refs/heads/files").decode().strip()


def _quoted(path: bytes) -> bytes:
    """Return a path quoted for fast-import."""
    escaped = path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + escaped + b'"'
