"""Bring an earlier version of a policy back."""

from __future__ import annotations

from pathlib import Path

from memkit.policies.files import POLICY
from memkit.store.rollback import RolledBack, roll_back
from memkit.use_cases.accept_policy import accept_policy


def roll_back_policy(root: Path, name: str, version: str) -> RolledBack:
    """Write the newest text of the policy that has ``version`` (or that a commit id names) and commit it.

    Raises:
        NotFound: No commit of the policy has that version.
        NegativeAnswer: The file has uncommitted changes, or the old text is no valid policy any more or fails a test
            of its own.
    """
    return roll_back(root, POLICY, name, version, accept=accept_policy)
