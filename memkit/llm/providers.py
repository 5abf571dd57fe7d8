"""The available language models, each imported only when requested."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memkit.errors import UsageError
from memkit.runtime.memory.record.lines import parse_duration
from memkit.store.config import Settings, load_settings

if TYPE_CHECKING:
    from memkit.runtime.loop.interface import Model

PROVIDERS: dict[str, str] = {
    "reference": "memkit.llm.rules.model:ReferenceModel",
    "scripted": "memkit.llm.scripted:ScriptedModel",
    "anthropic": "memkit.llm.anthropic_model:AnthropicModel",
    "openai": "memkit.llm.openai_model:OpenAIModel",
}
"""Provider → its class; the class's ``open`` takes the arguments of ``open_model``."""
WITHOUT_MODELS = {"reference": "answers by rules", "scripted": "plays a script"}
"""Providers without models, and what they do instead."""
REFERENCE = "The reference model (rules, no language model)"
SERVERS: dict[str, str] = {
    "ollama": "http://127.0.0.1:11434/v1",
    "vllm": "http://127.0.0.1:8000/v1",
    "llama.cpp": "http://127.0.0.1:8080/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
}
"""Servers on one's own machine with the protocol of the provider openai, and their addresses."""


class ModelAddress(NamedTuple):
    """The address of a provider's models and the variable of the key, if they differ from the vendor's."""

    base_url: str | None = None
    key_variable: str | None = None


class StoreModels(NamedTuple):
    """Opens models according to a store's settings: which one, its address, and the time limits."""

    settings: Settings
    may_use: Callable[[str], bool]
    """Whether a setting that the store chose counts; what a person set counts anyway."""

    @classmethod
    def of(cls, root: Path | None) -> StoreModels:
        """Return the models of the store at ``root``, or of the environment without one."""
        from memkit.store.trust import Trust

        settings = load_settings(root)
        return cls(settings, lambda key: not settings.is_chosen(key) or (root is not None and Trust(root).holds()))

    def open(
        self, provider: str, model: str | None = None, *, folder: Path | None = None, patience: Patience | None = None
    ) -> Model:
        """Return a model of ``provider``; anything not given is taken from the settings."""
        return open_model(
            provider,
            model or self.name(provider),
            folder=folder,
            patience=patience or Patience.of(self.settings.section("requests")),
            address=self.address(provider),
        )

    def name(self, provider: str) -> str | None:
        """Return the configured model if it is one of this provider's."""
        return None if provider.partition(":")[0] in WITHOUT_MODELS else self._setting("model", provider)

    def address(self, provider: str) -> ModelAddress:
        """Return this provider's address."""
        return ModelAddress(self._setting("base_url", provider), self._setting("key_variable", provider))

    def _setting(self, key: str, provider: str) -> str | None:
        """Return a setting if it applies to ``provider``: other vendors' models have other names and addresses."""
        configured, value = str(self.settings["provider"]).partition(":")[0], self.settings[key]
        is_about = configured in ("reference", provider.partition(":")[0])
        return value if value and is_about and self.may_use(key) else None


def open_model(
    provider: str,
    model: str | None = None,
    *,
    folder: Path | None = None,
    patience: Patience | None = None,
    address: ModelAddress | None = None,
) -> Model:
    """Return the model of ``provider``, such as ``reference`` or ``scripted:answers.yaml``.

    Args:
        provider: A name of ``PROVIDERS``, followed by ``:`` and an argument if it takes one.
        model: The model's name, for providers that serve several.
        folder: The base of a relative file name; by default the current directory.
        patience: How long to wait for a vendor's model, and how often to retry.
        address: The address of a vendor's model, and the variable of its key.

    Raises:
        UsageError: There is no such provider, or it has no models.
        EnvironmentFault: There is no key or no SDK.
    """
    name, _, argument = provider.partition(":")
    require_provider(name)
    if model and name in WITHOUT_MODELS:
        vendor = "anthropic" if model.lower().startswith("claude") else "openai"
        raise UsageError(
            f"The provider {name} {WITHOUT_MODELS[name]} and has no model {model!r:.60}. Name one that has: --provider "
            f"{vendor} --model {model:.60}, or choose one for good with 'memkit setup'."
        )
    module, _, attribute = PROVIDERS[name].partition(":")
    opened: Model = getattr(importlib.import_module(module), attribute).open(argument, model, folder, patience, address)
    return opened


def introduced(model: Model) -> str:
    """Return a model's name and address, such as ``gpt-5.4-mini at https://api.openai.com/v1``."""
    vendor = getattr(model, "vendor", None)
    if vendor is not None:
        return f"{getattr(model, 'name', '')} at {vendor.shown}"
    return str(getattr(model, "introduction", type(model).__name__))


def require_provider(name: str) -> None:
    """Raise ``UsageError`` if there is no provider of this name."""
    if name not in PROVIDERS:
        if name in SERVERS:
            raise UsageError(f"{name} is your own server: 'memkit setup --provider {name}' sets it for this store.")
        close = "openai" if name.startswith("gpt") else "anthropic" if name.startswith("claude") else ""
        import difflib

        close = close or next(iter(difflib.get_close_matches(name, [*PROVIDERS, *SERVERS], n=1)), "")
        hint = f" Did you mean '{close}'?" if close else ""
        raise UsageError(
            f"There is no provider {name!r:.60}.{hint} Choose from {', '.join(PROVIDERS)}; 'memkit setup' also knows "
            f"{', '.join(SERVERS)}."
        )


_BEHIND_THE_CLOCK = 5.0
"""Seconds for which a busy machine may keep a thread from running."""


class Patience(NamedTuple):
    """Time limits of a request and of retries, in seconds; the section ``requests`` of the settings."""

    connect: float = 10.0
    """For establishing a connection."""
    first_token: float = 120.0
    """Until a streamed answer begins: a model on this machine may have to be loaded first."""
    between_tokens: float = 60.0
    """Between two parts of a streamed answer; mere keep-alive messages do not count."""
    whole: float = 600.0
    """Until an answer is complete."""
    retries: int = 3
    """How often a request that failed for a temporary reason is repeated."""
    retry_within: float = 60.0
    """No request is repeated later than this after the first."""

    @classmethod
    def of(cls, section: Mapping[str, Any]) -> Patience:
        """Return the time limits in the settings.

        >>> Patience.of({"connect": "5s", "retries": 0}).connect
        5.0
        """
        given: dict[str, Any] = {
            key: value if key == "retries" else parse_duration(value) for key, value in section.items()
        }
        return cls(**given)

    def read_timeout(self, *, stream: bool) -> float:
        """Return how long a connection may be silent; the clock over what arrives expires first and names the limit."""
        silence = min(self.whole, max(self.first_token, self.between_tokens)) if stream else self.whole
        return silence + _BEHIND_THE_CLOCK


# The model that works beside a conversation.

OFF = "off"
CONFIGURED = "provider"
RULES = "reference"
"""A provider that summarises nothing: it has rules and no language."""
WITH_ARGUMENT = frozenset({"scripted"})
"""Providers whose name is followed by an argument of their own; for others a model's name follows."""

BRIEF = Patience(first_token=30, between_tokens=30, whole=60, retries=1, retry_within=10)
"""A turn waits for its summary, which can do without a model."""


def side_model(
    setting: str, provider: str, open_model: Callable[[str, str | None, Patience], Model]
) -> Callable[[Model], Model] | None:
    """Return the model that ``context.summary_model`` names, given the answering one; None if rules do its work.

    If it names none, the answering model draws from turns; a script has answers for the conversation alone.

    Args:
        setting: ``off``, ``provider``, or a provider, followed by ``:`` and a model if it serves several.
        provider: The provider of the conversation.
        open_model: Opens another one when it is first needed, given its provider, its name and the time limits.

    Raises:
        UsageError: There is no such provider.
    """
    if setting == OFF and provider.partition(":")[0] in WITH_ARGUMENT:
        return None
    if setting in (CONFIGURED, OFF):
        setting = provider
    if setting == RULES:
        return None
    if setting == provider:
        return lambda answering: answering
    name, _, argument = setting.partition(":")
    require_provider(name)
    with_argument = name in WITH_ARGUMENT
    asked = (setting, None) if with_argument else (name, argument or None)
    opened = cache(lambda: open_model(*asked, BRIEF))
    return lambda answering: opened()
