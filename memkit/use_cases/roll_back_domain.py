"""Bring an earlier text of a planning domain back."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from memkit.domains.files import DOMAIN
from memkit.store.rollback import RolledBack, roll_back
from memkit.use_cases.accept_domain import accept_domain


def roll_back_domain(root: Path, name: str, commit: str) -> RolledBack:
    """Write the domain's text that a commit id, or the beginning of one, names, and commit it.

    Raises:
        NotFound: No such commit changed the domain.
        NegativeAnswer: The file has uncommitted changes, or with the old text it is no valid domain any more, or fails
            a recorded problem.
    """
    return roll_back(root, DOMAIN, name, commit, accept=partial(accept_domain, root))
