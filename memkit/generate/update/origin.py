"""The target of a project: as it is installed now, and as it was when the project was rendered."""

from __future__ import annotations

from memkit.errors import UsageError
from memkit.generate.composition import plugin_of
from memkit.generate.manifest import Manifest, ProjectFault, Stamp
from memkit.generate.plugins import find_target
from memkit.generate.releases import Release, Releases, installed_releases
from memkit.generate.source import RELEASES, Source, installed_source
from memkit.generate.targets import Target, load_target

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
    """Return the target as it was when the project was rendered."""
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
    """Return the release that a project was rendered from; raises ``ProjectFault`` where it is not installed."""
    release = releases.find(stamp.digest)
    if release is None:
        raise ProjectFault(
            f"The project was rendered from templates {stamp.version} ({stamp.digest[:19]}…), which are not among the "
            f"releases that this {distribution} carries. Upgrade it, or update the project with the checkout that "
            "rendered it."
        )
    return release
