"""What the failures of a run mean to the person who started the agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import openai
from agents.exceptions import AgentsException
from memkit_runtime.host.endpoints import Endpoint, clear_faults
from memkit_runtime.host.sessions import CannotServe


@contextmanager
def clear_run_faults(endpoint: Endpoint) -> Iterator[None]:
    """Turn a failure of the server, or an answer that the SDK cannot use, into a ``CannotServe``."""
    with clear_faults(endpoint, openai):
        try:
            yield
        except AgentsException as error:
            reason = " ".join(str(error).split()).rstrip(".")[:500]
            raise CannotServe(f"The answer of {endpoint.name} cannot be used: {reason}. Try again.") from error
