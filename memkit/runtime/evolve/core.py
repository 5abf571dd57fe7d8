"""The room's public names: import from here."""

from .expressions.reading import Expression, read_program
from .fitness import fitness_mean_squared_error
from .interface import (
    BadCheckpoint,
    DoesNotApply,
    EvolveError,
    Fitness,
    Generation,
    Individual,
    NothingScored,
    ProposalRequest,
    ProposedChange,
    Proposer,
    RefusedProgram,
    Score,
    Species,
    UndefinedValue,
)
from .search import EvolutionarySearcher, SearchSettings

__all__ = [
    "BadCheckpoint", "DoesNotApply", "EvolutionarySearcher", "EvolveError", "Expression", "Fitness", "Generation",
    "Individual", "NothingScored", "ProposalRequest", "ProposedChange", "Proposer", "RefusedProgram", "Score",
    "SearchSettings", "Species", "UndefinedValue", "fitness_mean_squared_error", "read_program",
]  # fmt: skip
