"""Run the tests that policies carry."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memkit.errors import EnvironmentFault
from memkit.guard.proof import Proof, prove
from memkit.policies.files import FOLDER, PolicyFile, get_policy, load_policies


def prove_policies(root: Path, names: Sequence[str] = ()) -> list[tuple[PolicyFile, Proof]]:
    """Return the policies of the store at ``root``, or those named, each with what its tests show.

    Raises:
        EnvironmentFault: There is no test to run; nothing to check is not success.
    """
    policies = load_policies(root / FOLDER)
    chosen = [get_policy(policies, name) for name in dict.fromkeys(names)] if names else policies
    proofs = [(policy, prove(policy.data)) for policy in chosen]
    if not any(proof.results for _, proof in proofs):
        raise EnvironmentFault(f"There is no test to run: no policy in {root / FOLDER} has 'tests:'.")
    return proofs
