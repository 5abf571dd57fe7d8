"""How the tests reach the model of this target."""

from __future__ import annotations

PROTOCOL = "anthropic"
"""What the local model server speaks."""
KEY_VARIABLE = "ANTHROPIC_API_KEY"
URL_VARIABLE = "ANTHROPIC_BASE_URL"
STREAMS = True
"""Whether the agent asks for its answers in a stream."""


def variables(base_url: str) -> dict[str, str]:
    """Return the environment in which the agent finds the model at ``base_url``."""
    return {KEY_VARIABLE: "local", URL_VARIABLE: base_url}
