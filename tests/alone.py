"""Takes everything away that a room does not need: ``make test-room ROOM=htn`` runs the tests of one with this plug-in.

What stays is the standard library, ``memkit.runtime``, the tests, and pytest and hypothesis with what they need.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

NEEDED = ("pytest", "hypothesis", "pytest-timeout")


def distributions(name: str) -> Iterator[str]:
    """Yield a distribution and those that it needs, whatever the extras."""
    yield name
    try:
        for wanted in requires(name) or ():
            if "extra ==" not in wanted:
                yield from distributions(re.split(r"[^\w.-]", wanted)[0].lower())
    except PackageNotFoundError:  # it is for another system or another Python
        return


class Bare:
    """Finds nothing itself, and keeps others from finding what is not there in a bare environment."""

    def __init__(self) -> None:
        needed = {each for name in NEEDED for each in distributions(name)}
        self._taken = {
            module
            for module, names in packages_distributions().items()
            if module != "memkit" and not needed & {name.lower() for name in names}
        }

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Refuse a module that a bare environment does not have."""
        outside = name.startswith("memkit.") and not f"{name}.".startswith("memkit.runtime.")
        if outside or name.partition(".")[0] in self._taken:
            raise ModuleNotFoundError(f"No module named {name!r}: a room's tests run without it.", name=name)


sys.meta_path.insert(0, Bare())  # type: ignore[arg-type]
