"""Which language models there are, each imported only when it is asked for."""

from __future__ import annotations

import difflib
import importlib
from pathlib import Path

from memkit.errors import UsageError
from memkit.llm.patience import Patience
from memkit.runtime.loop.interface import Model

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
