"""The room's front: import from here."""

from .errors import EvolveError, NothingScored, RefusedProgram, UndefinedValue
from .fitness import fitness_mean_squared_error
from .interface import Fitness, Generation
from .reading import Expression, read_program
from .search import EvolutionarySearcher

__all__ = [
    "EvolutionarySearcher",
    "EvolveError",
    "Expression",
    "Fitness",
    "Generation",
    "NothingScored",
    "RefusedProgram",
    "UndefinedValue",
    "fitness_mean_squared_error",
    "read_program",
]
