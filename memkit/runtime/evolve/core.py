"""The room's front: import from here."""

from .ensemble import RecordedProposer
from .errors import BadCheckpoint, DoesNotApply, EvolveError, NothingScored, RefusedProgram, UndefinedValue
from .fitness import fitness_mean_squared_error
from .interface import Fitness, Generation, Individual, ProposalRequest, ProposedChange, Proposer, Score, Species
from .reading import Expression, read_program
from .search import EvolutionarySearcher

__all__ = [
    "BadCheckpoint",
    "DoesNotApply",
    "EvolutionarySearcher",
    "EvolveError",
    "Expression",
    "Fitness",
    "Generation",
    "Individual",
    "NothingScored",
    "ProposalRequest",
    "ProposedChange",
    "Proposer",
    "RecordedProposer",
    "RefusedProgram",
    "Score",
    "Species",
    "UndefinedValue",
    "fitness_mean_squared_error",
    "read_program",
]
