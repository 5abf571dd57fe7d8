"""The one step in which an update changes files: a kill at any point loses nothing, and every update can be undone.

Each update has a folder under ``updates/`` of the project's state: ``before/`` holds every file that it replaces or
deletes, ``after/`` the new files, ``theirs/`` the template's side of conflicts without markers. Its
journal is on the disk before the first file is touched. After a kill, the next run undoes the partial update, and
repeats it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from memkit.errors import EnvironmentFault, NegativeAnswer, NotFound, UsageError
from memkit.generate.composition import plugin_of
from memkit.generate.manifest import RENDER_AGAIN, Manifest, ProjectFault, Stamp
from memkit.generate.plugins import find_target
from memkit.generate.targets import (
    RELEASES,
    Release,
    Releases,
    Source,
    Target,
    installed_releases,
    installed_source,
    is_inside,
    load_target,
)
from memkit.generate.update.merging import OwnFile, PlannedFile, look
from memkit.runtime.memory.log.clone import state_folder
from memkit.runtime.memory.log.shards import locked, sync_folder
from memkit.store.files import write_whole

_OWN = "memkit-agent"


def target_now(manifest: Manifest) -> Target:
    """Return the installed target that the project was rendered for."""
    try:
        target = find_target(manifest.target)
    except UsageError as error:
        origin = f" It came with {manifest.plugin.distribution}: install that." if manifest.plugin else ""
        raise ProjectFault(f"The project was rendered for {manifest.target!r}.{origin} {error}") from error
    if (manifest.plugin is None) != (target.origin is None):
        raise ProjectFault(f"The target {manifest.target!r} came from elsewhere when the project was rendered.")
    return target


def target_then(manifest: Manifest, now: Target) -> Target:
    """Return the target as of the project's render."""
    source = installed_source()
    if manifest.templates.digest != source.digest:
        source = Source(_released(installed_releases(), manifest.templates, _OWN).folder)
    if manifest.plugin is None:
        return find_target(manifest.target, source)
    current = plugin_of(now)
    folder = now.folder
    if current is None or current.folder.digest != manifest.plugin.folder.digest:
        releases = Releases(now.folder / RELEASES)
        folder = _released(releases, manifest.plugin.folder, manifest.plugin.distribution).folder / now.folder.name
    return load_target(folder, source, name=now.name, origin=now.origin)


def _released(releases: Releases, stamp: Stamp, distribution: str) -> Release:
    """Return the release that a project was rendered from; raise ``ProjectFault`` if it is not installed."""
    release = releases.find(stamp.digest)
    if release is None:
        raise ProjectFault(
            f"The project was rendered from templates {stamp.version} ({stamp.digest[:19]}…), a release that this "
            f"{distribution} does not include. Upgrade it, or update the project with the checkout that rendered it. "
            f"If neither helps: {RENDER_AGAIN}"
        )
    return release


KEPT = 5
"""How many updates can be undone, most recent first."""
_BEFORE, _AFTER, _THEIRS = "before", "after", "theirs"
_LOCK_SECONDS = 10.0
_FILE = "journal.json"
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class FileSide:
    """A file before or after an update."""

    digest: str
    mode: int


@dataclass(frozen=True)
class UpdateStep:
    """What an update does at one path; None stands for no file."""

    path: str
    before: FileSide | None
    after: FileSide | None


@dataclass(frozen=True)
class UpdateJournal:
    """One update."""

    versions: tuple[str, str]
    """The templates' versions before and after it."""
    steps: tuple[UpdateStep, ...]
    under_way: bool
    """Whether files are being changed, so that the next run has to undo it."""

    def written(self, folder: Path, *, under_way: bool) -> UpdateJournal:
        """Write it to the disk in the update's folder, and return it as stored."""
        journal = replace(self, under_way=under_way)
        write_whole(folder / _FILE, json.dumps(asdict(journal)).encode(), mode=0o600)
        return journal


class Updates:
    """The past updates of a project."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.folder = state_folder(project) / "updates"

    @property
    def interrupted(self) -> Path | None:
        """The folder of an interrupted update, None if there is none."""
        last = self._last()
        return last if last is not None and read_journal(last).under_way else None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Exclude other updates of the project for the duration of the block."""
        for folder in (self.project / ".memkit", state_folder(self.project), self.folder):
            if folder.is_symlink():
                raise EnvironmentFault(f"{folder} is a link, but an update must be saved inside the project.")
        with locked(self.folder / "lock", timeout=_LOCK_SECONDS):
            yield

    def recover(self) -> list[str] | None:
        """Undo an interrupted update and return the paths that were edited since, which stay as they are.

        Returns None if there is none, for example if another process undid it, or finished its own, meanwhile.
        """
        folder = self.interrupted
        return None if folder is None else self._taken_back(folder)

    def apply(
        self,
        changes: Mapping[str, PlannedFile | None],
        planned: Mapping[str, OwnFile | None],
        aside: Mapping[str, bytes],
        versions: tuple[str, str],
    ) -> Path:
        """Apply ``changes``, all of them or none, and return the folder with the former files.

        Args:
            changes: Path → its new state, None to delete it.
            planned: The state of these paths when the changes were planned.
            aside: Files kept aside for a person to review, by path.
            versions: The templates' versions, before and after.

        Raises:
            EnvironmentFault: A file cannot be written, or was changed meanwhile. Nothing was changed.
        """
        self._require_possible(changes, planned)
        folder = self.folder / f"{self._newest_number() + 1:04d}"
        try:
            steps = self._staged(folder, changes, planned, aside)
            os.sync()  # the staged files are many; the journal must not reach the disk before them
            journal = UpdateJournal(versions, tuple(steps), under_way=True).written(folder, under_way=True)
            self._swap(folder, steps)
            journal.written(folder, under_way=False)
        except BaseException as error:
            if has_journal(folder):
                self._taken_back(folder)
            else:
                shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, OSError):
                what = f"{error.filename or self.project} cannot be written: {error.strerror or error}"
                raise EnvironmentFault(f"{what}. Nothing was changed.") from error
            raise
        shutil.rmtree(folder / _AFTER, ignore_errors=True)
        self._forget_old_ones()
        return folder

    def undo(self) -> UpdateJournal:
        """Undo the last update and return what it had done.

        Raises:
            NotFound: There is none.
            NegativeAnswer: A file was edited since; nothing is changed.
        """
        last = self._last()
        if last is None:
            raise NotFound(f"{self.project} has no update to undo.")
        journal = read_journal(last)
        edited = [step.path for step in journal.steps if self._side(step.path) not in (step.before, step.after)]
        if edited:
            raise NegativeAnswer(
                f"Edited since the update: {', '.join(edited)}. Nothing was undone, because that would lose the "
                f"edits; the earlier files are in {last / _BEFORE}."
            )
        journal.written(last, under_way=True)
        self._taken_back(last)
        return journal

    def _require_possible(
        self, changes: Mapping[str, PlannedFile | None], planned: Mapping[str, OwnFile | None]
    ) -> None:
        for path in changes:
            if look(self.project, path) != planned[path]:
                raise _changed(path)
            folder = (self.project / path).parent
            while not folder.exists():
                folder = folder.parent
            if not os.access(folder, os.W_OK | os.X_OK):
                raise EnvironmentFault(f"{folder} cannot be written. Nothing was changed; check its permissions.")

    def _staged(
        self,
        folder: Path,
        changes: Mapping[str, PlannedFile | None],
        planned: Mapping[str, OwnFile | None],
        aside: Mapping[str, bytes],
    ) -> list[UpdateStep]:
        """Write both sides of every change and return the steps from one to the other."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        for path, content in aside.items():
            _put(folder / _THEIRS / path, content, 0o600)
        steps = []
        for path, change in changes.items():
            own = planned[path]
            mode = 0o666 & ~_mask()
            if own is not None:
                _put(folder / _BEFORE / path, own.content, own.mode)
                self._give_to_owner(folder / _BEFORE / path, path)
            if change is not None:
                mode = mode if change.mode is None else change.mode
                _put(folder / _AFTER / path, change.content, mode)
                self._give_to_owner(folder / _AFTER / path, path)
            steps.append(
                UpdateStep(
                    path,
                    None if own is None else FileSide(_digest(own.content), own.mode),
                    None if change is None else FileSide(_digest(change.content), mode),
                )
            )
        return steps

    def _swap(self, folder: Path, steps: Sequence[UpdateStep]) -> None:
        for step in steps:
            place = self.project / step.path
            if step.after is not None:
                self._require_same(step)
                place.parent.mkdir(parents=True, exist_ok=True)
                _move(folder / _AFTER / step.path, place, step.after.mode)
        for step in steps:
            if step.after is None:
                self._require_same(step)
                (self.project / step.path).unlink(missing_ok=True)
                self._drop_empty(step.path)
        for parent in {(self.project / step.path).parent for step in steps}:
            if parent.is_dir():
                sync_folder(parent)

    def _require_same(self, step: UpdateStep) -> None:
        """Refuse to replace a file saved during staging, which takes seconds on a slow disk."""
        if self._side(step.path) != step.before:
            raise _changed(step.path)

    def _taken_back(self, folder: Path) -> list[str]:
        """Undo an update, and return the paths that were edited since and so stay as they are."""
        edited = self._put_back(folder, read_journal(folder))
        if edited:
            drop_journal(folder)  # the saved files stay, for their owner to look at
        else:
            shutil.rmtree(folder, ignore_errors=True)
        return edited

    def _put_back(self, folder: Path, journal: UpdateJournal) -> list[str]:
        """Restore the files that an update replaced and return the paths that match neither side of it."""
        edited = []
        for step in journal.steps:
            place, now = self.project / step.path, self._side(step.path)
            if now == step.before:
                continue
            if now != step.after:
                edited.append(step.path)
            elif step.before is None:
                place.unlink()
                self._drop_empty(step.path)
            else:
                # A rename needs no room on the disk, which may be full, and can be repeated after a kill.
                place.parent.mkdir(parents=True, exist_ok=True)
                _move(folder / _BEFORE / step.path, place, step.before.mode)
        return edited

    def _side(self, path: str) -> FileSide | None:
        """Return the present state of a path; anything but a file of the project is like no side of a step."""
        own = look(self.project, path)
        if isinstance(own, OwnFile):
            return FileSide(_digest(own.content), own.mode)
        return None if own is None else FileSide(own.what, 0)

    def _drop_empty(self, path: str) -> None:
        """Remove the folders of a deleted file, as far as they are empty."""
        with suppress(OSError):
            for folder in (self.project / path).relative_to(self.project).parents:
                if folder.parts:
                    (self.project / folder).rmdir()

    def _give_to_owner(self, place: Path, path: str) -> None:
        """Set a file's owner to that of the file it replaces, or of the project; only root can."""
        if os.geteuid() == 0:
            old = self.project / path
            known = (old if old.exists() else self.project).stat()
            os.chown(place, known.st_uid, known.st_gid)

    def _forget_old_ones(self) -> None:
        for folder in self._numbered()[:-KEPT]:
            shutil.rmtree(folder, ignore_errors=True)

    def _last(self) -> Path | None:
        return next(reversed([folder for folder in self._numbered() if has_journal(folder)]), None)

    def _numbered(self) -> list[Path]:
        try:
            return sorted(path for path in self.folder.iterdir() if path.name.isdigit())
        except OSError:
            return []

    def _newest_number(self) -> int:
        return max((int(folder.name) for folder in self._numbered()), default=0)


def _changed(path: str) -> EnvironmentFault:
    return EnvironmentFault(f"{path} changed while the update was prepared. Run it again.")


def _put(place: Path, content: bytes, mode: int) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    place.chmod(mode)


def _move(staged: Path, place: Path, mode: int) -> None:
    """Move a staged file to its place atomically, even across file systems."""
    try:
        staged.replace(place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        write_whole(place, staged.read_bytes())
        place.chmod(mode)


def _mask() -> int:
    """Return the process' umask, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# --- the journal on the disk


def has_journal(folder: Path) -> bool:
    """Return whether an update may have started changing files."""
    return (folder / _FILE).is_file()


def read_journal(folder: Path) -> UpdateJournal:
    """Return the journal of the update in ``folder``; raise ``EnvironmentFault`` if it is damaged."""
    try:
        data = json.loads((folder / _FILE).read_text("utf-8"))
        before, after = data["versions"]
        return UpdateJournal((before, after), tuple(_steps(data["steps"])), data["under_way"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise EnvironmentFault(
            f"{folder / _FILE} cannot be read ({error}). The files from before the update are in {folder}: copy what "
            "you need, delete it, and run this again."
        ) from error


def drop_journal(folder: Path) -> None:
    """Forget an update, and leave the files that it saved."""
    (folder / _FILE).unlink()


def _steps(data: Iterable[dict[str, Any]]) -> Iterable[UpdateStep]:
    for step in data:
        # A project may come from anybody, with a journal that no update wrote, and its files must not lead out of it.
        if not is_inside(step["path"]):
            raise ValueError(f"{step['path']!r} is not a path in the project")
        yield UpdateStep(step["path"], *(_side(step[side]) for side in ("before", "after")))


def _side(data: dict[str, Any] | None) -> FileSide | None:
    if data is None:
        return None
    side = FileSide(**data)
    if not _DIGEST.fullmatch(side.digest) or not isinstance(side.mode, int):
        raise ValueError(f"{side} is not that of a file")
    return side
