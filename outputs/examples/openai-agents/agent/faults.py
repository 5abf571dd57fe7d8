"""What the failures of a run mean to the person who started the agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agents.exceptions import AgentsException

from agent.endpoint import Endpoint, clear_faults
from agent.errors import EnvironmentFault


@contextmanager
def clear_run_faults(endpoint: Endpoint) -> Iterator[None]:
    """Turn a failure of the server, or an answer that the SDK cannot use, into an ``EnvironmentFault``."""
    with clear_faults(endpoint):
        try:
            yield
        except AgentsException as error:
            reason = " ".join(str(error).split()).rstrip(".")[:500]
            raise EnvironmentFault(f"The answer of {endpoint.name} cannot be used: {reason}. Try again.") from error
