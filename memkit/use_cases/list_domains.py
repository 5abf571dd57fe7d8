"""List the planning domains of a store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memkit.domains.files import FOLDER, domain_files, load_domain, problem_files
from memkit.domains.learned import LearnedMethods
from memkit.runtime.htn.core import Domain


@dataclass(frozen=True)
class ListedDomain:
    """A domain, and how much there is for it."""

    name: str
    path: str
    domain: Domain
    problems: int
    """How many are recorded for ``memkit domain test``."""
    learned: int
    """How many learned methods nobody promoted yet."""


def list_domains(root: Path) -> list[ListedDomain]:
    """Return the domains of the store at ``root``, by name; raises ``UsageError`` for the first file that is wrong."""
    return [listed(root, path) for path in domain_files(root)]


def listed(root: Path, path: Path) -> ListedDomain:
    """Return what is told of the domain of a store that lies at ``path``."""
    shown = f"{FOLDER}/{path.name}"
    domain = load_domain(path, name=shown, stem=path.stem)
    learned = LearnedMethods.of_store(root, path.stem).entries()
    return ListedDomain(path.stem, shown, domain, len(problem_files(root, path.stem)), len(learned))
