"""Find the files that ship with the package: starters and templates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
TRAVELLING = ("templates", "skills", "policies", "domains", ".memkit.schema.json")
"""The resources in a wheel, which a checkout has beside the package."""


def resource(name: str) -> Path:
    """Return the folder or file ``name`` as installed, or as it is in the checkout.

    A wheel carries ``TRAVELLING`` under ``memkit/data/``; an editable install
    does not copy them, so there they are read where people edit them.
    """
    installed = _PACKAGE / "data" / name
    return installed if installed.exists() else _PACKAGE.parent / name


def travelling() -> Iterator[tuple[str, Path]]:
    """Yield each resource file of a checkout, after its path in the ``memkit/data/`` of a wheel."""
    for place in map(resource, TRAVELLING):
        for path in (place, *place.rglob("*")):
            if path.is_file():
                yield path.relative_to(place.parent).as_posix(), path
