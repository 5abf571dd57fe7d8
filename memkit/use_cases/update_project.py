"""Bring a generated project to the installed templates, or to what a store holds now, and keep its owner's edits."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from memkit.errors import NegativeAnswer, UsageError
from memkit.generate.composition import Order, manifest_of
from memkit.generate.manifest import MANIFEST, Manifest, ProjectFault, manifest_text, parsed_manifest, read_manifest
from memkit.generate.reading import content_of, with_defaults
from memkit.generate.releases import new_repository
from memkit.generate.rendering import rendered
from memkit.generate.targets import Target, checked_answers
from memkit.generate.update.merging import Change, FileAction, Merging, Plan, Sides
from memkit.generate.update.origin import target_now, target_then
from memkit.generate.update.owner import OwnerFiles, OwnFile
from memkit.generate.update.text_merge import Labels, has_marks
from memkit.generate.update.updates import Updates
from memkit.store.layout import find_store
from memkit.store.plumbing import Plumbing


@dataclass(frozen=True)
class Update:
    """What an update did, or would do."""

    project: Path
    before: str
    """The version of the templates that the project was rendered from."""
    after: str
    due: bool
    """Whether there was anything to bring to the project."""
    actions: tuple[FileAction, ...] = ()
    saved: Path | None = None
    """The folder that holds what was there before; None where nothing was written."""
    taken_back: tuple[str, ...] | None = None
    """Where an update that was cut off had to be taken back first: what was edited since, and so left as it was."""

    @property
    def conflicts(self) -> list[FileAction]:
        """The paths that a person has to look at."""
        return [action for action in self.actions if action.action == "conflict"]


def update_project(folder: Path | None, *, store: Path | None = None, write: bool = True) -> Update:
    """Merge what changed in the templates, or in a store, into the project at ``folder`` or around it.

    Args:
        folder: The project; without it the nearest one around the current directory.
        store: Where skills, policies, domains and settings are read again; without it they stay as recorded.
        write: False to say only what would be done.

    Raises:
        ProjectFault: There is no project, or its manifest or templates cannot be relied on.
        NegativeAnswer: An earlier update left conflicts that are not resolved.
        UsageError: The store is none to render from, or an answer does not fit any more.
        EnvironmentFault: There is no git, or the project cannot be written; nothing was changed.
    """
    project = find_project(folder)
    updates = Updates(project)
    taken_back = _take_back_what_was_cut_off(updates, write=write)
    manifest = read_manifest(project)
    target = target_now(manifest)
    order = _order_now(manifest, target, _store_for(project, store))
    goal = manifest_of(order)
    versions = (manifest.templates.version, goal.templates.version)
    if _same(manifest, goal):
        if write:
            _refuse_marks(project)
        return Update(project, *versions, due=False, taken_back=taken_back)
    _refuse_marks(project)
    owner = OwnerFiles(project)
    plan = _plan(owner, manifest, order, goal)
    saved = None
    if write:
        planned = {path: _planned(owner, path) for path in plan.changes}
        with updates.locked():
            saved = updates.apply(plan.changes, planned, plan.aside, versions)
    return Update(project, *versions, True, tuple(plan.actions), saved, taken_back)


def find_project(folder: Path | None) -> Path:
    """Return the project at ``folder``, or the nearest one around the current directory."""
    if folder is not None:
        return folder.expanduser().absolute()
    here = Path.cwd()
    return next((each for each in (here, *here.parents) if (each / MANIFEST).is_file()), here)


def _take_back_what_was_cut_off(updates: Updates, *, write: bool) -> tuple[str, ...] | None:
    if updates.interrupted is None:
        return None
    if not write:
        raise ProjectFault(
            f"An update of {updates.project} was cut off. 'memkit update' takes it back before it begins."
        )
    with updates.locked():
        edited = updates.recover()
    return None if edited is None else tuple(edited)


def _store_for(project: Path, store: Path | None) -> Path | None:
    root = find_store(store) if store is not None else None
    if root is not None and (root / MANIFEST).exists():
        named = "the project itself" if root == project.resolve() else "a generated project"
        raise UsageError(f"{store} is {named} and holds no skills and policies to render. Name the store it came from.")
    return root


def _order_now(manifest: Manifest, target: Target, store: Path | None) -> Order:
    """Return what to render with what is installed; questions that are no longer asked need no answer."""
    content = with_defaults(manifest.content) if store is None else content_of(store, manifest.content.wired)
    answers = {key: value for key, value in manifest.answers.items() if key in target.questions}
    return Order(target, content, checked_answers(target, answers))


def _same(manifest: Manifest, goal: Manifest) -> bool:
    """Return whether a render for ``goal`` would give the files that the project began as."""
    folders = [one.plugin.folder.digest if one.plugin else "" for one in (manifest, goal)]
    return (
        manifest.templates.digest == goal.templates.digest
        and folders[0] == folders[1]
        and with_defaults(manifest.content).digests() == with_defaults(goal.content).digests()
    )


def _refuse_marks(project: Path) -> None:
    owner = OwnerFiles(project)
    with _repository() as git:
        marked = [path for path in sorted(owner.not_ignored(git)) if has_marks(owner.small(path) or b"")]
    if marked:
        raise NegativeAnswer(
            f"Conflicts of an earlier update are not resolved: {', '.join(marked)}. Nothing was changed. Edit the "
            "marked lines, or take that update back with --undo."
        )


def _plan(owner: OwnerFiles, manifest: Manifest, order: Order, goal: Manifest) -> Plan:
    """Return what becomes of every file, the manifest included."""
    with target_then(manifest, order.target) as target:
        base = rendered(Order(target, manifest.content, manifest.answers))
    labels = Labels.between(manifest.templates.version, goal.templates.version)
    with _repository() as git:
        plan = Merging(git, owner, Sides(base, rendered(order), labels)).plan()
    recorded = owner.at(MANIFEST)
    # Another update may have ended since the manifest was read, and some of the files would be its.
    if not isinstance(recorded, OwnFile) or parsed_manifest(recorded.content, MANIFEST) != manifest:
        raise ProjectFault(f"{MANIFEST} is a link, or was changed while the update was made up. Run it again.")
    plan.changes[MANIFEST] = Change(manifest_text(goal).encode(), recorded.mode)
    plan.actions.append(FileAction(MANIFEST, "update"))
    return plan


def _planned(owner: OwnerFiles, path: str) -> OwnFile | None:
    """Return the owner's file that a change replaces; no change is made of anything else."""
    own = owner.at(path)
    assert own is None or isinstance(own, OwnFile)
    return own


@contextmanager
def _repository() -> Iterator[Plumbing]:
    """Give a repository of the update's own, in which nothing of the owner's configuration counts."""
    with tempfile.TemporaryDirectory(prefix="memkit-update-") as folder:
        yield new_repository(Path(folder))
