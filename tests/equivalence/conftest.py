"""The transcript as the reference agent plays it, once for all tests of the folder."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from memkit.equivalence.interface import Account
from memkit.equivalence.run import reference_accounts


@pytest.fixture(scope="session")
def reference() -> Mapping[str, Account]:
    """Play the transcript on the reference agent."""
    return reference_accounts()
