"""Run the tests of policies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memkit.errors import EnvironmentFault
from memkit.policies.files import FOLDER, get_policy, load_policies
from memkit.policies.proving import TABLES, SetProof, load_tables, prove_set


def prove_policies(root: Path, names: Sequence[str] = ()) -> SetProof:
    """Return what the tests of the store at ``root`` show about its policies, or about those named.

    Raises:
        EnvironmentFault: There is no test to run; nothing to check is not success.
    """
    policies = load_policies(root / FOLDER)
    chosen = [get_policy(policies, name) for name in dict.fromkeys(names)] if names else None
    proof = prove_set(policies, load_tables(root), chosen)
    if not proof.results:
        which = f"none of {', '.join(names)}" if names else f"no policy in {root / FOLDER}"
        raise EnvironmentFault(f"There is no test to run: {which} has 'tests:', and {TABLES}/ has no row for it.")
    return proof
