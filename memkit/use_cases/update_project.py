"""Update a generated project to the installed memkit and the present state of its store, keeping its owner's edits."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from memkit.errors import EnvironmentFault, NegativeAnswer, UsageError
from memkit.generate.composition import Order, manifest_of
from memkit.generate.content import Content, content_of, with_defaults
from memkit.generate.manifest import (
    MANIFEST,
    Manifest,
    ProjectFault,
    Runtime,
    manifest_text,
    parsed_manifest,
    read_manifest,
)
from memkit.generate.rendering import rendered, sources_in, vendored_path, vendored_wheel
from memkit.generate.runtime_wheel import PACKAGE, RuntimeWheel, installed_runtime
from memkit.generate.targets import Target, checked_answers
from memkit.generate.update.merging import (
    FileAction,
    Labels,
    Merging,
    OwnerFiles,
    OwnFile,
    PlannedFile,
    Sides,
    UpdatePlan,
    has_marks,
)
from memkit.generate.update.updates import UpdateJournal, Updates, target_now, target_then
from memkit.runtime.host.terminal import one_line
from memkit.store.config import own_tools
from memkit.store.git_process import scratch_repository
from memkit.store.layout import find_store
from memkit.store.trust import Trust
from memkit.use_cases.generate_project import way_to


@dataclass(frozen=True)
class Update:
    """What an update did, or would do."""

    project: Path
    before: str
    """The version of the templates that the project was rendered from."""
    after: str
    behind: tuple[str, ...] = ()
    """The ways in which the project was outdated, policies first, in words."""
    missing_store: str = ""
    """Why it is unknown whether the store has changed; empty if the store was read."""
    actions: tuple[FileAction, ...] = ()
    saved: Path | None = None
    """The folder with the former files; None if nothing was written."""
    taken_back: tuple[str, ...] | None = None
    """If an interrupted update had to be undone first: the files edited since, which were left as they were."""

    @property
    def due(self) -> bool:
        """Whether there was anything to update."""
        return bool(self.behind)

    @property
    def conflicts(self) -> list[FileAction]:
        """The paths that a person has to review."""
        return [action for action in self.actions if action.action == "conflict"]


def update_project(folder: Path | None, *, store: Path | None = None, write: bool = True) -> Update:
    """Merge what changed in templates, runtime and store into the project at ``folder`` or around it.

    Args:
        folder: The project; by default the nearest one around the current directory.
        store: The source of skills, policies, domains and settings; by default the one in the manifest.
        write: False to only return what would be done.

    Raises:
        ProjectFault: There is no project, or its manifest, templates or wheel cannot be relied on.
        NegativeAnswer: An earlier update left conflicts that are not resolved.
        UsageError: The store cannot be rendered, or an answer no longer fits.
        NotTrusted: The store has tools that the project would run from now on, and nobody trusted the store.
        EnvironmentFault: There is no git, or the project cannot be written; nothing was changed.
    """
    project = find_project(folder)
    updates = Updates(project)
    taken_back = _take_back_what_was_cut_off(updates, write=write)
    manifest = read_manifest(project)
    wheel = vendored_wheel(project, manifest)
    target = target_now(manifest)
    root, missing_store = _store_of(project, manifest, store)
    order = _order_now(manifest, target, project, root)
    goal = manifest_of(order)
    behind = tuple(_behind(manifest, goal, has_runtime=wheel is not None or manifest.runtime.ejected))
    versions = (manifest.templates.version, goal.templates.version)
    if behind or write or shutil.which("git"):  # where there is no git, no update has left marks
        _refuse_marks(project)
    if not behind:
        return Update(project, *versions, missing_store=missing_store, taken_back=taken_back)
    if write and root is not None:
        _require_trust_in_tools(root, manifest.content, order.content)
    owner = OwnerFiles(project)
    plan = plan_of(owner, manifest, order)
    if order.wheel is not None and (wheel is None or manifest.runtime != goal.runtime):
        _bring_wheel(plan, manifest, order.wheel, wheel)
    saved = apply(updates, owner, plan, versions) if write else None
    return Update(project, *versions, behind, missing_store, tuple(plan.actions), saved, taken_back)


def find_project(folder: Path | None) -> Path:
    """Return the project at ``folder``, or the nearest one around the current directory."""
    if folder is not None:
        return folder.expanduser().absolute()
    here = Path.cwd()
    return next((each for each in (here, *here.parents) if (each / MANIFEST).is_file()), here)


def plan_of(owner: OwnerFiles, manifest: Manifest, order: Order) -> UpdatePlan:
    """Return what becomes of every rendered file, including the manifest, if ``order`` is rendered now."""
    goal = manifest_of(order)
    then = target_then(manifest, order.target)
    base = rendered(Order(then, manifest.content, manifest.answers, manifest.runtime, templates=manifest.templates))
    theirs = rendered(Order(order.target, order.content, order.answers, order.runtime, store=order.store))
    labels = Labels.between(manifest.templates.version, goal.templates.version)
    with scratch_repository() as git:
        plan = Merging(git, owner, Sides(base, theirs, labels)).plan()
    recorded = owner.at(MANIFEST)
    # Another update may have ended since the manifest was read, and changed some of the files.
    if not isinstance(recorded, OwnFile) or parsed_manifest(recorded.content, MANIFEST) != manifest:
        raise ProjectFault(f"{MANIFEST} is a link, or changed while the update was prepared. Run it again.")
    if (text := manifest_text(goal).encode()) != recorded.content:
        plan.changes[MANIFEST] = PlannedFile(text, recorded.mode)
        plan.actions.append(FileAction(MANIFEST, "update"))
    return plan


def apply(updates: Updates, owner: OwnerFiles, plan: UpdatePlan, versions: tuple[str, str]) -> Path:
    """Carry a plan out as one undoable step, and return the folder with the former files.

    ``owner`` is what the plan was made from: if a file has changed since, nothing is done.
    """
    planned = {path: _planned(owner, path) for path in plan.changes}
    with updates.locked():
        return updates.apply(plan.changes, planned, plan.aside, versions)


def _take_back_what_was_cut_off(updates: Updates, *, write: bool) -> tuple[str, ...] | None:
    if updates.interrupted is None:
        return None
    if not write:
        raise ProjectFault(
            f"An update of {updates.project} was interrupted. 'memkit update' undoes it before it starts."
        )
    with updates.locked():
        edited = updates.recover()
    return None if edited is None else tuple(edited)


def _store_of(project: Path, manifest: Manifest, named: Path | None) -> tuple[Path | None, str]:
    """Return the store to read, or None and the reason."""
    if named is not None:
        root = find_store(named)
        if (root / MANIFEST).exists():
            what = "the project itself" if root == project.resolve() else "a generated project"
            raise UsageError(f"{named} is {what}, without skills and policies to render. Name the store it came from.")
        return root, ""
    if manifest.store is None:
        return None, f"{MANIFEST} does not say where this project's store is. Name it with --store."
    found: Path | None = None
    with suppress(EnvironmentFault):
        found = find_store(project / manifest.store)
    if found is None or (found / MANIFEST).exists():
        return None, f"This project's store is no longer at {manifest.store}. Name it with --store."
    return found, ""


def _order_now(manifest: Manifest, target: Target, project: Path, root: Path | None) -> Order:
    """Return what to render with the installed memkit; questions that are no longer asked need no answer."""
    content = with_defaults(manifest.content) if root is None else content_of(root, manifest.content.wired)
    answers = {key: value for key, value in manifest.answers.items() if key in target.questions}
    wheel = None if manifest.runtime.ejected else installed_runtime()
    return Order(
        target,
        content,
        checked_answers(target, answers),
        manifest.runtime if wheel is None else Runtime.of(wheel),
        wheel,
        manifest.store if root is None else way_to(root, project),
    )


def _behind(manifest: Manifest, goal: Manifest, *, has_runtime: bool) -> Iterator[str]:
    """Yield how a project differs from a render for ``goal``; a changed policy comes first."""
    yield from _changes_of_store(with_defaults(manifest.content), with_defaults(goal.content))
    if manifest.templates.digest != goal.templates.digest:
        yield f"templates {manifest.templates.version} → {goal.templates.version}"
    if manifest.plugin != goal.plugin and _folder(manifest) != _folder(goal):
        yield "the plug-in's templates"
    if manifest.runtime.version != goal.runtime.version:
        yield f"runtime {manifest.runtime.version} → {goal.runtime.version}"
    elif not has_runtime:
        yield f"runtime {goal.runtime.version} is missing"
    if manifest.store != goal.store:
        yield f"the store is at {goal.store}"


def _folder(manifest: Manifest) -> str:
    return manifest.plugin.folder.digest if manifest.plugin else ""


def _changes_of_store(old: Content, new: Content) -> Iterator[str]:
    """Yield what changed in the store since the project was rendered."""
    before, after = old.digests(), new.digests()
    for kind, word in (("policies", "policy"), ("settings", "settings"), ("skills", "skill"), ("domains", "domain")):
        for name in sorted(before[kind].keys() | after[kind].keys()):
            if before[kind].get(name) != after[kind].get(name):
                how = "is new" if name not in before[kind] else "changed" if name in after[kind] else "is gone"
                yield f"{word} {name} {how}"


def _require_trust_in_tools(root: Path, old: Content, new: Content) -> None:
    """Raise ``NotTrusted`` if an untrusted store would add tools to a project, which runs them."""
    known = list(old.settings["tools"])
    if gained := [tool for tool in own_tools(root, new.settings["tools"]) if tool not in known]:
        named = ", ".join(one_line(str(tool["name"]), 40) for tool in gained)
        what = f"This update would add {'the tool' if len(gained) == 1 else 'the tools'} {named} to the project"
        Trust(root).require(what, ". Nothing was changed")


def _bring_wheel(plan: UpdatePlan, manifest: Manifest, wheel: RuntimeWheel, old: bytes | None) -> None:
    """Add to a plan that the installed runtime replaces the project's."""
    path, new = vendored_path(manifest.runtime), vendored_path(Runtime.of(wheel))
    if old is not None and path != new:
        plan.changes[path] = None
        plan.actions.append(FileAction(path, "delete"))
    plan.changes[new] = PlannedFile(wheel.content, None)
    plan.actions.append(FileAction(new, "add"))


def _refuse_marks(project: Path) -> None:
    owner = OwnerFiles(project)
    with scratch_repository() as git:
        marked = [path for path in sorted(owner.not_ignored(git)) if has_marks(owner.small(path) or b"")]
    if marked:
        raise NegativeAnswer(
            f"Conflicts of an earlier update are not resolved: {', '.join(marked)}. Nothing was changed. Edit the "
            "marked lines, or undo that update with --undo."
        )


def _planned(owner: OwnerFiles, path: str) -> OwnFile | None:
    """Return the owner's file that a change replaces; nothing else is changed."""
    own = owner.at(path)
    assert own is None or isinstance(own, OwnFile)
    return own


def undo_update(folder: Path | None) -> tuple[Path, UpdateJournal]:
    """Restore every file that the last update of the project at ``folder``, or around it, changed.

    Returns the project and what the update had done.

    Raises:
        ProjectFault: An update was cut off.
        NotFound: There is no update to undo.
        NegativeAnswer: A file was edited since the update; nothing was changed.
    """
    updates = Updates(find_project(folder))
    if not updates.folder.is_dir():
        return updates.project, updates.undo()
    with updates.locked():
        if updates.interrupted is not None:
            raise ProjectFault(f"An update of {updates.project} was interrupted. 'memkit update' undoes it first.")
        return updates.project, updates.undo()


@dataclass(frozen=True)
class Ejected:
    """A project that now contains the sources of its runtime."""

    project: Path
    version: str
    """The runtime's version."""
    files: tuple[str, ...]
    """Files written or removed, except the sources."""


def eject_runtime(folder: Path | None) -> Ejected:
    """Put the sources of the project's own wheel into ``memkit_runtime/``, and remove all references to the wheel.

    Raises:
        ProjectFault: There is no project, or its wheel is missing or was changed.
        UsageError: The sources are there already, or something else is.
        NegativeAnswer: A file that names the wheel was edited, so that the reference cannot be removed.
    """
    project = find_project(folder)
    manifest = read_manifest(project)
    _refuse_unless_free(project, manifest)
    wheel = vendored_wheel(project, manifest)
    path = vendored_path(manifest.runtime)
    if wheel is None:
        raise ProjectFault(f"{project / path} is missing. 'memkit update' restores it. Nothing was changed.")
    owner = OwnerFiles(project)
    plan = _plan(owner, manifest)
    own = tuple(plan.changes)
    plan.changes |= {path: None, **{name: PlannedFile(content, None) for name, content in sources_in(wheel).items()}}
    apply(Updates(project), owner, plan, (manifest.templates.version,) * 2)
    return Ejected(project, manifest.runtime.version, (*own, path))


def _refuse_unless_free(project: Path, manifest: Manifest) -> None:
    if manifest.runtime.ejected:
        raise UsageError(f"{project} already has the sources of its runtime. Nothing was changed.")
    if os.path.lexists(project / PACKAGE):
        raise UsageError(f"{project / PACKAGE} already exists. Move it away first. Nothing was changed.")


def _plan(owner: OwnerFiles, manifest: Manifest) -> UpdatePlan:
    """Return what becomes of the files that name the wheel: the project is rendered as before, without it."""
    then = target_then(manifest, target_now(manifest))
    order = Order(
        then,
        manifest.content,
        manifest.answers,
        replace(manifest.runtime, ejected=True),
        store=manifest.store,
        templates=manifest.templates,
    )
    plan = plan_of(owner, manifest, order)
    if plan.conflicts:
        edited = ", ".join(action.path for action in plan.conflicts)
        raise NegativeAnswer(f"{edited} was edited where it names the runtime. Revert that first. Nothing was changed.")
    return plan
