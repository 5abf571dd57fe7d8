"""Let a text of a domain in only if its recorded problems come out as expected."""

from __future__ import annotations

from pathlib import Path

from memkit.domains.proofs import BUDGET, prove_domain
from memkit.errors import NegativeAnswer
from memkit.runtime.htn.core import Domain
from memkit.store.yaml import Document


def accept_domain(root: Path, document: Document) -> None:
    """Return if every problem recorded for the domain in ``document``, which is valid, comes out as expected.

    Raises:
        NegativeAnswer: One does not; the message says which and why.
    """
    domain = Domain.from_data(document.data)
    for problem in prove_domain(root, domain.name, domain, document.path, BUDGET).problems:
        if not problem.passed:
            raise NegativeAnswer(f"{domain.name} fails {problem.path}, so it was not committed: {problem.faults[0]}")
