"""The transcript as the reference agent plays it, once for all tests of the folder and all workers."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path

import pytest

from memkit.equivalence.interface import Account
from memkit.equivalence.run import reference_accounts
from tests.shared import made_once

ACCOUNTS = "accounts.pickle"


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Account]:
    """Play the transcript on the reference agent."""
    folder = made_once(tmp_path_factory, "reference", keep_accounts)
    accounts: Mapping[str, Account] = pickle.loads((folder / ACCOUNTS).read_bytes())
    return accounts


def keep_accounts(folder: Path) -> None:
    """Write what the reference agent did into ``folder``."""
    (folder / ACCOUNTS).write_bytes(pickle.dumps(reference_accounts()))
