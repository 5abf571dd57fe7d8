"""Run the problems that are recorded for the domains of a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from memkit.domains.files import FOLDER, domain_file, domain_files, load_domain
from memkit.domains.proofs import BUDGET, DomainProof, prove_domain
from memkit.runtime.htn.core import Budget


def prove_domains(
    root: Path, names: Sequence[str] = (), *, seconds: float | None = BUDGET.seconds
) -> list[DomainProof]:
    """Return what comes of the problems of each domain, or of those that are named.

    Args:
        root: The store.
        names: Domains of the store; all of them without any.
        seconds: How long each problem is searched.

    Raises:
        NotFound: There is no such domain in the store.
        UsageError: A domain is wrong; a problem that is wrong counts as a test that fails.
    """
    paths = [domain_file(name, root, starters=False) for name in names] or domain_files(root)
    budget = replace(BUDGET, seconds=seconds)
    return [_proof(root, path, budget) for path in dict.fromkeys(paths)]


def _proof(root: Path, path: Path, budget: Budget) -> DomainProof:
    shown = f"{FOLDER}/{path.name}"
    return prove_domain(root, path.stem, load_domain(path, name=shown, stem=path.stem), shown, budget)
