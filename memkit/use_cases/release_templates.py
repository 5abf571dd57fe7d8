"""Make a release of what the checkout's templates and travelling packages are now.

``python -m memkit.use_cases.release_templates`` adds it to ``templates/_releases/``; with ``--check`` it only says
whether one is due, with exit code 1.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from memkit.generate.composition import Order, manifest_of
from memkit.generate.manifest import MANIFEST, Manifest, Stamp, manifest_text, parsed_manifest
from memkit.generate.reading import content_of
from memkit.generate.releases import SPECIMEN, Release, Releases
from memkit.generate.rendering import rendered
from memkit.generate.source import RELEASES, Source, digest_of, installed_source
from memkit.generate.targets import find_target, load_targets
from memkit.use_cases.store import starter_files

_PROJECT_NAME = 'Ada\'s "agent": {{ 7 * 7 }} <é☃> `#`'
"""What no quoting function may read as syntax."""


@dataclass(frozen=True)
class Released:
    """The release that holds the files as they are."""

    release: Release | None
    """None where there is none and none was to be made."""
    made: bool


def release_templates(source: Source | None = None, *, check: bool = False) -> Released:
    """Add a release of ``source`` (default: the checkout) unless the newest one is just that.

    Args:
        source: What to release.
        check: Only say whether the newest release is the same.
    """
    source = source or installed_source()
    releases = Releases(source.templates / RELEASES)
    newest = next(reversed(releases.all()), None)
    if newest is not None and newest.digest == source.digest:
        return Released(newest, made=False)
    if check:
        return Released(None, made=False)
    specimen = _specimen(source)
    files = {path: place.read_bytes() for path, place in source.files.items()}
    return Released(releases.add(files, specimen=specimen, renders=renders_of(source, specimen)), made=True)


def renders_of(source: Source, specimen: bytes) -> Mapping[str, str]:
    """Return the digest of what each target of ``source`` makes of the specimen, without the manifest."""
    manifest = parsed_manifest(specimen, SPECIMEN)
    return {name: _digest(name, source, manifest) for name in load_targets(source)}


def _digest(name: str, source: Source, manifest: Manifest) -> str:
    files = rendered(Order(find_target(name, source), manifest.content, manifest.answers))
    return digest_of({path: content for path, content in files.items() if path != MANIFEST})


def _specimen(source: Source) -> bytes:
    """Return the manifest of a project that is rendered from the starters as they are now."""
    with tempfile.TemporaryDirectory(prefix="memkit-specimen-") as folder:
        store = Path(folder, "specimen")
        for path, content in starter_files("specimen").items():
            (store / path).parent.mkdir(parents=True, exist_ok=True)
            (store / path).write_bytes(content)
        order = Order(find_target("react", source), content_of(store), {"project_name": _PROJECT_NAME})
        return manifest_text(replace(manifest_of(order), templates=Stamp("0", ""))).encode()


if __name__ == "__main__":
    checking = "--check" in sys.argv[1:]
    done = release_templates(check=checking)
    if done.release is None:
        sys.exit(
            "The templates or the packages that travel are not those of the newest release. Run: make template-release"
        )
    said = "was made" if done.made else "is what the checkout holds; nothing changed"
    sys.stdout.write(f"Template release {done.release.number} {said}.\n")
