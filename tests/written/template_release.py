"""Keep the templates as they are for the projects that a release of memkit renders, so that these can be updated.

``python -m tests.written.template_release`` writes them to ``templates/_releases/<version>/``; with ``--check`` it
only says whether that is still to be done, with exit code 1. It belongs to a release of memkit and to no other change:
between two releases templates change as often as they like, and no two branches fight over what is kept.
"""

from __future__ import annotations

import sys

import memkit
from memkit.generate.targets import RELEASES, Release, Releases, Source, installed_source


def release_templates(source: Source | None = None, version: str = memkit.__version__) -> Release:
    """Return the release that holds the templates as they are; it is made where there is none.

    Raises:
        UsageError: That version was released with other templates.
    """
    source = source or installed_source()
    files = {path: place.read_bytes() for path, place in source.files.items()}
    return Releases(source.templates / RELEASES).add(version, files)


def is_released(source: Source | None = None) -> bool:
    """Return whether a release holds the templates as they are."""
    source = source or installed_source()
    return Releases(source.templates / RELEASES).find(source.digest) is not None


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        if not is_released():
            sys.exit("No release holds the templates as they are. Run: make template-release")
    else:
        sys.stdout.write(f"The templates are kept as release {release_templates().version}.\n")
