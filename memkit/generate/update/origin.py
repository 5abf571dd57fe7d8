"""The target of a project: as it is installed now, and as it was when the project was rendered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from memkit.errors import UsageError
from memkit.generate.composition import plugin_of
from memkit.generate.manifest import Manifest, ProjectFault, Stamp
from memkit.generate.releases import Releases, installed_releases
from memkit.generate.source import RELEASES, Source, installed_source, unpacked_source
from memkit.generate.targets import Target, find_target, load_target

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


@contextmanager
def target_then(manifest: Manifest, now: Target) -> Iterator[Target]:
    """Give the target as it was when the project was rendered, for the time of the block."""
    with ExitStack() as stack:
        source = installed_source()
        if manifest.templates.digest != source.digest:
            unpacked = _unpacked(installed_releases(), manifest.templates, _OWN)
            source = unpacked_source(stack.enter_context(unpacked))
        if manifest.plugin is None:
            yield find_target(manifest.target, source)
        else:
            yield _plugins_target(stack, manifest, now, source)


def _plugins_target(stack: ExitStack, manifest: Manifest, now: Target, source: Source) -> Target:
    assert manifest.plugin is not None
    folder, current = now.folder, plugin_of(now)
    if current is None or current.folder.digest != manifest.plugin.folder.digest:
        releases = Releases(now.folder / RELEASES)
        unpacked = _unpacked(releases, manifest.plugin.folder, manifest.plugin.distribution)
        folder = stack.enter_context(unpacked) / now.folder.name
    return load_target(folder, source, name=now.name, origin=now.origin)


@contextmanager
def _unpacked(releases: Releases, stamp: Stamp, distribution: str) -> Iterator[Path]:
    """Give the files of a release; raises ``ProjectFault`` where they are not among what is installed."""
    release = releases.find(stamp.digest)
    if release is None:
        newest = len(releases.all())
        if _number(stamp.version) > newest:
            raise ProjectFault(
                f"The project was rendered from template release {stamp.version}, and what is installed ends with "
                f"{newest}. Upgrade {distribution}."
            )
        raise ProjectFault(
            f"The project was rendered from templates that are not among the releases of {distribution} (version "
            f"{stamp.version}, {stamp.digest[:19]}…). Update it with the checkout that it was rendered with."
        )
    with releases.unpacked(release) as folder:
        yield folder


def _number(version: str) -> int:
    number = version.partition("+")[0]
    return int(number) if number.isdecimal() else 0
