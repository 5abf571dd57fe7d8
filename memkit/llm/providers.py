"""Which language models there are, each imported only when it is asked for."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.runtime.loop.interface import Model
from memkit.runtime.memory.record.lines import parse_duration
from memkit.store.config import load_settings

PROVIDERS: dict[str, str] = {
    "reference": "memkit.llm.rules.model:ReferenceModel",
    "scripted": "memkit.llm.scripted:ScriptedModel",
    "anthropic": "memkit.llm.anthropic_model:AnthropicModel",
    "openai": "memkit.llm.openai_model:OpenAIModel",
}
"""Provider → where its class is; the class is called with what follows the colon, if anything, and the model's name."""


def open_model(
    provider: str, model: str | None = None, *, folder: Path | None = None, patience: Patience | None = None
) -> Model:
    """Return the model of ``provider``, such as ``reference`` or ``scripted:answers.yaml``.

    Args:
        provider: A name of ``PROVIDERS``, followed by ``:`` and an argument where it takes one.
        model: The model's name, for providers that serve several.
        folder: Where a relative file name starts; the current directory without it.
        patience: How long a vendor's model is waited for, and how often it is asked again.
    """
    name, _, argument = provider.partition(":")
    require_provider(name)
    module, _, attribute = PROVIDERS[name].partition(":")
    opened: Model = getattr(importlib.import_module(module), attribute).open(argument, model, folder, patience)
    return opened


def require_provider(name: str) -> None:
    """Raise ``UsageError`` where there is no provider of this name."""
    if name not in PROVIDERS:
        close = difflib.get_close_matches(name, PROVIDERS, n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        raise UsageError(f"There is no provider '{name}'.{hint} There are {', '.join(PROVIDERS)}.")


_BEHIND_THE_CLOCK = 5.0
"""Seconds, as many as a busy machine may keep a thread from running."""


@dataclass(frozen=True)
class Patience:
    """Bounds on one request and on asking again, in seconds; the section ``requests`` of the settings."""

    connect: float = 10.0
    """For a connection to be made."""
    first_token: float = 120.0
    """Until a streamed answer begins: a model on this machine may have to be loaded first."""
    between_tokens: float = 60.0
    """Between two parts of a streamed answer; what only keeps a connection open counts for nothing."""
    whole: float = 600.0
    """Until an answer is complete."""
    retries: int = 3
    """So often a request that failed for a passing reason is made again."""
    retry_within: float = 60.0
    """No request is made again later than this after the first."""

    @classmethod
    def of(cls, section: Mapping[str, Any]) -> Patience:
        """Return the patience that the settings ask for.

        >>> Patience.of({"connect": "5s", "retries": 0}).connect
        5.0
        """
        given: dict[str, Any] = {
            key: value if key == "retries" else parse_duration(value) for key, value in section.items()
        }
        return cls(**given)

    @classmethod
    def of_store(cls, root: Path | None) -> Patience:
        """Return the patience that the settings of the store at ``root`` ask for, or the environment without one."""
        return cls.of(load_settings(root).section("requests"))

    def read_timeout(self, *, stream: bool) -> float:
        """Return how long a connection may stay silent; the clock over what arrives ends first and says which bound."""
        silence = min(self.whole, max(self.first_token, self.between_tokens)) if stream else self.whole
        return silence + _BEHIND_THE_CLOCK
