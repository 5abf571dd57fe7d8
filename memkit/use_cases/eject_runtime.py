"""Give the owner of a project the sources of its runtime, in the place of the wheel."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from memkit.errors import NegativeAnswer, UsageError
from memkit.generate.composition import Order
from memkit.generate.manifest import Manifest, ProjectFault, read_manifest
from memkit.generate.runtime_wheel import PACKAGE
from memkit.generate.update.merging import PlannedFile, UpdatePlan
from memkit.generate.update.origin import target_now, target_then
from memkit.generate.update.owner import OwnerFiles
from memkit.generate.update.updates import Updates
from memkit.generate.vendored import sources_in, vendored_path, vendored_wheel
from memkit.use_cases.update_project import apply, find_project, plan_of


@dataclass(frozen=True)
class Ejected:
    """A project that has the sources of its runtime now."""

    project: Path
    version: str
    """Of the runtime."""
    files: tuple[str, ...]
    """What was written or taken away, the sources aside."""


def eject_runtime(folder: Path | None) -> Ejected:
    """Put the sources of the project's own wheel into ``memkit_runtime/``, and name the wheel nowhere any more.

    Raises:
        ProjectFault: There is no project, or its wheel is missing or was changed.
        UsageError: The sources lie there already, or something else does.
        NegativeAnswer: What names the wheel was edited, so that it cannot be taken out.
    """
    project = find_project(folder)
    manifest = read_manifest(project)
    _refuse_unless_free(project, manifest)
    wheel = vendored_wheel(project, manifest)
    path = vendored_path(manifest.runtime)
    if wheel is None:
        raise ProjectFault(f"{project / path} is not there. 'memkit update' brings it back. Nothing was changed.")
    owner = OwnerFiles(project)
    plan = _plan(owner, manifest)
    own = tuple(plan.changes)
    plan.changes |= {path: None, **{name: PlannedFile(content, None) for name, content in sources_in(wheel).items()}}
    apply(Updates(project), owner, plan, (manifest.templates.version,) * 2)
    return Ejected(project, manifest.runtime.version, (*own, path))


def _refuse_unless_free(project: Path, manifest: Manifest) -> None:
    if manifest.runtime.ejected:
        raise UsageError(f"{project} has the sources of its runtime already. Nothing was changed.")
    if os.path.lexists(project / PACKAGE):
        raise UsageError(f"{project / PACKAGE} is there already. Move it away first. Nothing was changed.")


def _plan(owner: OwnerFiles, manifest: Manifest) -> UpdatePlan:
    """Return what becomes of the files that name the wheel: the project is rendered as it was, but without it."""
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
        raise NegativeAnswer(
            f"{edited} was edited where it names the runtime. Put that back first. Nothing was changed."
        )
    return plan
