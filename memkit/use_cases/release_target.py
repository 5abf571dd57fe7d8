"""Make a release of a plug-in's target, so that projects that were rendered from it can be updated.

``python -m memkit.use_cases.release_target NAME`` adds it to ``_releases/`` in the target's folder, which the plug-in's
wheel has to carry.
"""

from __future__ import annotations

import sys

from memkit.errors import UsageError
from memkit.generate.plugins import find_target
from memkit.generate.releases import Release, Releases
from memkit.generate.source import RELEASES


def release_target(name: str) -> Release:
    """Return the release that holds the files of the target ``name`` as they are; it is made where there is none.

    Raises:
        UsageError: There is no such target, it is memkit's own, or its version was released with other files.
    """
    target = find_target(name)
    if target.origin is None:
        raise UsageError(f"{name} is memkit's own target and is released with its templates: make template-release.")
    files = {path: place.read_bytes() for path, place in target.own_files.items()}
    return Releases(target.folder / RELEASES).add(target.origin.version, files)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Name the target: python -m memkit.use_cases.release_target NAME")
    sys.stdout.write(f"Release {release_target(sys.argv[1]).version} holds {sys.argv[1]} as it is.\n")
