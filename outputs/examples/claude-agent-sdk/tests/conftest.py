"""What the tests share: the agent for Claude Agent SDK, a scripted model on loopback, and a watch over the network."""

from __future__ import annotations

import pytest
from memkit_runtime.testing.trial.talking import ModelWire

pytest_plugins = ["memkit_runtime.testing.trial.fixtures"]


@pytest.fixture(scope="session")
def wire() -> ModelWire:
    """Return what the scripted model speaks, which is what the agent speaks."""
    return ModelWire("anthropic")
