"""Shared by the tests: the agent for ReAct (no framework), a scripted model on loopback, and a guard over the network."""

from __future__ import annotations

import pytest
from memkit_runtime.testing.trial.talking import ModelWire

pytest_plugins = ["memkit_runtime.testing.trial.fixtures"]


@pytest.fixture(scope="session")
def wire() -> ModelWire:
    """Return the protocol of the scripted model, which is the agent's."""
    return ModelWire("chat")
