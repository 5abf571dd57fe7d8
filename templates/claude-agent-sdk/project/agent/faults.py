"""What the failures of a run mean to the person who started the agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from claude_agent_sdk import ClaudeSDKError, CLINotFoundError, ResultMessage
from memkit_runtime.host.endpoints import Endpoint
from memkit_runtime.host.sessions import CannotServe

PREFIX = "API Error: "


@contextmanager
def clear_faults(endpoint: Endpoint) -> Iterator[None]:
    """Turn a failure of the command line into a ``CannotServe`` that says what to do."""
    try:
        yield
    except CLINotFoundError as error:
        raise CannotServe(
            "The Claude command line, which claude-agent-sdk includes, is missing. Reinstall it for this platform: "
            "pip install --force-reinstall claude-agent-sdk"
        ) from error
    except TimeoutError as error:
        raise CannotServe(_too_slow(endpoint)) from error
    except ClaudeSDKError as error:
        raise CannotServe(f"The Claude command line failed: {_one_line(str(error))}") from error


def check_result(result: ResultMessage | None, endpoint: Endpoint) -> None:
    """Raise ``CannotServe`` if a run ended with an error; a failed request calls itself a success."""
    if result is None:
        raise CannotServe("The Claude command line ended without an answer. Try again.")
    if not result.is_error:
        return
    said = _one_line(result.result or "; ".join(result.errors or ()) or result.subtype).removeprefix(PREFIX)
    if result.api_error_status == 401:
        raise CannotServe(f"{endpoint.name} does not accept the key in {endpoint.vendor.key}.")
    if result.api_error_status is not None:
        raise CannotServe(f"{endpoint.name} answered with HTTP {result.api_error_status}: {said}")
    if "timed out" in said or "timeout" in said.lower():
        raise CannotServe(_too_slow(endpoint))
    raise CannotServe(
        f"{endpoint.name} cannot be reached, or its answer broke off: {said.rstrip('.')}. "
        f"Check {endpoint.vendor.url} and that the server runs."
    )


def _too_slow(endpoint: Endpoint) -> str:
    times = f"{endpoint.retries + 1} times for {endpoint.timeout:g} s"
    return f"The model at {endpoint.name} did not answer (waited {times}). Try again, or raise MODEL_TIMEOUT."


def _one_line(text: str) -> str:
    return " ".join(text.split())[:500]
