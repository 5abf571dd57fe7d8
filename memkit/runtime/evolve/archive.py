"""Programs that are good and differ: the best of each cell of a grid over what programs are like.

After "Illuminating search spaces by mapping elites" (Mouret and Clune, 2015). The score itself never spans the grid:
a cell for every score would keep bad programs because they are bad.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from .errors import EvolveError
from .interface import Species
from .member import Member
from .reading import is_score

Cell = tuple[int, ...]
_SCORES = ("combined_score", "fitness", "loss", "score", "value")


class Archive:
    """Keeps the best member of each cell."""

    def __init__(self, species: Species, grid: Mapping[str, float]) -> None:
        self._species = species
        self._grid = checked_grid(grid)
        self.cells: dict[Cell, Member] = {}

    def place(self, member: Member) -> None:
        """Keep ``member`` if it is the best of its cell."""
        cell = self.cell(member) if member.loss < math.inf else None
        if cell is not None and (cell not in self.cells or member.rank < self.cells[cell].rank):
            self.cells[cell] = member

    def cell(self, member: Member) -> Cell | None:
        """Return where ``member`` lies, or None where it lacks one of the features."""
        known = {**member.score.metrics, **self._species.features(member.genome)}
        if any(label not in known for label in self._grid):
            return None
        return tuple(math.floor(known[label] / width) for label, width in self._grid.items())


def checked_grid(grid: Mapping[str, float]) -> dict[str, float]:
    """Return ``grid`` when an archive can have it."""
    for label, width in grid.items():
        if label in _SCORES:
            raise EvolveError(f"The feature {label!r} is the score, which says nothing about how programs differ.")
        if not is_score(width) or width <= 0:
            raise EvolveError(f"The cells of the feature {label!r} are {width!r:.40} wide; give a number above 0.")
    return dict(grid)
