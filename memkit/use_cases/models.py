"""Choose the model that answers in a store: ask it once, and save the choice."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memkit.errors import MemkitError, NegativeAnswer, Unserved, UsageError
from memkit.llm.providers import (
    CONFIGURED,
    OFF,
    REFERENCE,
    SERVERS,
    WITHOUT_MODELS,
    ModelAddress,
    Patience,
    introduced,
    open_model,
    require_provider,
)
from memkit.runtime.host.terminal import agent_at_work, one_line
from memkit.runtime.memory.gate.secrets import mask

if TYPE_CHECKING:
    from memkit.runtime.loop.interface import Message, Model
    from memkit.workspace import Workspace

QUESTION: Message = {"role": "user", "content": "Answer with the word: ready"}
ADDRESS = re.compile(r"https?://[^\s@/?#]+(/[^\s@?#]*)?")
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
REFUSED, NOT_FOUND = range(400, 500), 404
SETTINGS = ("provider", "model", "base_url", "key_variable", "user")
"""The settings that a choice is written to."""
SHOWN = 12
"""The most model names that a message lists."""


class ModelChoice(NamedTuple):
    """The choice of a store's model."""

    provider: str
    """A provider, or a server of ``SERVERS``, with its own argument after a colon."""
    model: str | None = None
    address: ModelAddress = ModelAddress()

    def settled(self) -> ModelChoice:
        """Return the choice as settings store it; raise ``UsageError`` for an impossible choice."""
        name, _, argument = self.provider.partition(":")
        given = self.address
        if given.key_variable is not None:
            require_variable(given.key_variable)
        if given.base_url is not None:
            require_address(given.base_url)
        if name in SERVERS and not argument:
            return self._replace(provider="openai", address=given._replace(base_url=given.base_url or SERVERS[name]))
        require_provider(name)
        if bool(argument) != (name == "scripted"):
            takes = "needs a file: scripted:FILE" if name == "scripted" else "takes nothing after the colon"
            raise UsageError(f"The provider {name} {takes}.")
        if name in WITHOUT_MODELS and (given.base_url or given.key_variable):
            raise UsageError(f"The provider {name} {WITHOUT_MODELS[name]}: it has no address and no key.")
        return self


class ModelCheck(NamedTuple):
    """The result of a test call."""

    choice: ModelChoice
    model: str | None
    """The model that was asked, if the provider has models."""
    key: str | None
    """The variable with the key, if one is sent."""
    told: str
    """The name of the model, or why it cannot answer."""
    fault: MemkitError | None = None

    @property
    def refused(self) -> bool:
        """Return whether a server answered with a refusal."""
        return isinstance(self.fault, Unserved) and self.fault.status in REFUSED

    def error(self, *, setting: bool) -> MemkitError | None:
        """Return the fault as an exception; with ``setting`` an unknown model is bad usage, otherwise a failed check.

        Faults without a server's answer stay as they are: an unreachable server, no key, no SDK.
        """
        if not self.refused:
            return self.fault
        is_name = isinstance(self.fault, Unserved) and self.fault.status == NOT_FOUND
        return UsageError(self.told) if is_name and setting else NegativeAnswer(self.told)


def require_address(text: str) -> None:
    """Raise ``UsageError`` if the text is not an address, or holds a secret; the message does not repeat it."""
    if not ADDRESS.fullmatch(text) or mask(text) != text:
        raise UsageError("An address looks like http://127.0.0.1:11434/v1, without a password, key or question mark.")


def require_variable(name: str) -> None:
    """Raise ``UsageError`` if the text is not a variable's name; the message does not repeat what may be a key."""
    if not VARIABLE.fullmatch(name) or mask(name) != name:
        raise UsageError(
            "That is not the name of a variable, and a key must not be given here. Put the key in the environment, as "
            "in export OPENAI_API_KEY=…, and name the variable: --key-variable OPENAI_API_KEY."
        )


def wanted(
    workspace: Workspace,
    provider: str | None = None,
    model: str | None = None,
    base_url: str | None = None,
    key_variable: str | None = None,
) -> ModelChoice:
    """Return the requested choice; what is left open keeps its value if the provider stays the same.

    Raises:
        NotTrusted: The store chose the provider, and nobody trusted it.
        UsageError: The choice is impossible.
    """
    now = str(workspace.settings["provider"])
    if provider is None and base_url is not None and now.partition(":")[0] in WITHOUT_MODELS:
        provider = "openai"
    if provider is None or (provider == now and base_url is None):
        workspace.require_provider()
        # The address of another provider in the settings does not apply to one without an address.
        is_asked = now.partition(":")[0] not in WITHOUT_MODELS
        address = workspace.models.address(now) if is_asked else ModelAddress()
        before = ModelChoice(now, workspace.models.name(now), address)
    else:
        before = ModelChoice(provider)
    key = before.address.key_variable if key_variable is None else key_variable if key_variable != "none" else None
    address = ModelAddress(base_url or before.address.base_url, key)
    return ModelChoice(before.provider, model or before.model, address).settled()


def asked_once(workspace: Workspace, choice: ModelChoice, *, call: bool = True) -> ModelCheck:
    """Ask the chosen model one question, with a tool on offer; without ``call`` only check that it could be asked."""
    if choice.provider == "reference" and choice.model is None:
        return ModelCheck(choice, None, None, REFERENCE)  # nobody to ask, and loading it would cost more than the rest
    model: Model | None = None
    try:
        model = _opened(workspace, choice)
        if call and choice.provider.partition(":")[0] not in WITHOUT_MODELS:
            _ask(model)
    except MemkitError as error:
        return _checked(choice, model, _explained(model, error))
    return _checked(choice, model)


def models_of(workspace: Workspace, choice: ModelChoice) -> list[str]:
    """Return the models that the choice's server lists; raise ``MemkitError`` if it cannot be asked."""
    served = getattr(_opened(workspace, choice._replace(model=choice.model or "any")), "served", None)
    return served() if served else []


def model_named(workspace: Workspace, provider: str | None, name: str) -> Model:
    """Return the conversation's provider's model called ``name``, once its server confirms that it has it.

    Raises:
        UsageError: There is no such model; the message names the nearest.
        EnvironmentFault: The server cannot be asked.
    """
    model = workspace.language_model(provider, name)
    knows: bool | None = model.is_served()  # type: ignore[attr-defined]
    if knows is None:
        _ask(model)  # a server that lists nothing has to be tested by a call
    elif not knows:
        raise UsageError(_unknown(name, introduced(model), model.served()))  # type: ignore[attr-defined]
    return model


def chosen(workspace: Workspace, choice: ModelChoice, *, user: str | None, consent: bool | None) -> str | None:
    """Write the choice, and the user if one is named, into ``memkit.yaml`` and return the commit's id.

    A trusted store stays trusted after a person's choice; consent is recorded for the user.
    """
    from memkit.store.manifest import change_manifest

    address = choice.address
    wanted = (choice.provider, choice.model, address.base_url, address.key_variable, user)
    values = dict(zip(SETTINGS, wanted if user is not None else wanted[:-1], strict=False))
    with workspace.trust.in_step(workspace.notice) if agent_at_work() is None else nullcontext():
        commit = change_manifest(workspace.root, values, f"Let {one_line(choice.provider, 60)} answer")
    if consent is not None and user:
        workspace.archive.set_consent(user, consent, workspace.writer(user))
        workspace.commit_memory()
    return commit


def refuse_unknown_choice(workspace: Workspace, key: str, value: Any) -> None:
    """Raise ``UsageError`` if a setting would name a provider, model, folder or variable that does not exist."""
    if key == "provider":
        require_provider(str(value).partition(":")[0])
        ModelChoice(str(value)).settled()
        kept = [one for one in ("model", "base_url", "key_variable") if workspace.settings[one]]
        if kept and value != workspace.settings["provider"]:
            workspace.notice(f"{', '.join(kept)} was left unchanged; 'memkit setup' sets them together.")
    if key == "context.summary_model" and value not in (OFF, CONFIGURED):
        require_provider(str(value).partition(":")[0])
    if key == "key_variable" and value is not None:
        require_variable(str(value))
    if key.startswith("backends.") and not str(value).startswith("$"):
        from memkit.runtime.backends.interface import ARCHIVES, WORKING, address

        address(str(value), ARCHIVES if key == "backends.archive" else WORKING)
    if key == "retrieval.vectors" and value != "off":
        from memkit.runtime.embeddings.interface import EmbeddingError
        from memkit.runtime.embeddings.local import weights_in

        try:
            weights_in(workspace.model_folder(str(value)))
        except EmbeddingError as error:
            raise UsageError(str(error)) from None
    if key == "base_url" and value is not None:
        require_address(str(value))
    if key == "model" and value is not None:
        try:
            model_named(workspace, None, str(value))
        except MemkitError as error:
            if isinstance(error, UsageError):
                raise
            workspace.notice(f"Could not check that the model {one_line(str(value), 60)} exists: {error}")


def overruling(workspace: Workspace) -> list[str]:
    """Return the environment variables that override what ``chosen`` writes."""
    origins = (workspace.settings.values[key].origin for key in SETTINGS)
    return [origin for origin in origins if origin.startswith("MEMKIT_")]


def _ask(model: Model) -> None:
    """Ask one question, with a tool on offer: a model without tools is of no use to the agent."""
    from memkit.runtime.loop.interface import ToolSpec  # the loop, which read-only commands do not need

    parameters = {"type": "object", "properties": {"text": {"type": "string"}}}
    model.complete([QUESTION], [ToolSpec("note", "Keeps a note.", parameters)])


def _opened(workspace: Workspace, choice: ModelChoice) -> Model:
    patience = Patience.of(workspace.settings.section("requests"))._replace(retries=0)
    folder = workspace.root if choice.provider == workspace.settings["provider"] else Path.cwd()
    return open_model(choice.provider, choice.model, folder=folder, patience=patience, address=choice.address)


def _checked(choice: ModelChoice, model: Model | None, fault: MemkitError | None = None) -> ModelCheck:
    vendor = getattr(model, "vendor", None)
    told = str(fault) if fault is not None or model is None else introduced(model)
    name = getattr(model, "name", choice.model) if vendor else choice.model
    return ModelCheck(choice, name, (vendor.key or None) if vendor else choice.address.key_variable, told, fault)


def _explained(model: Model | None, error: MemkitError) -> MemkitError:
    """Return the fault, which for an unknown model names the nearest existing one."""
    if not (isinstance(error, Unserved) and error.status == NOT_FOUND and model is not None):
        return error
    try:
        served = model.served()  # type: ignore[attr-defined]
    except MemkitError:
        return error  # not even a list: the address is wrong
    name = model.name  # type: ignore[attr-defined]
    if not served or name in served:
        return error
    told = Unserved(_unknown(name, introduced(model), served))
    told.status = error.status
    return told


def _unknown(name: str, where: str, served: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, served, n=1, cutoff=0.4)
    listed = ", ".join(one_line(one, 60) for one in served[:SHOWN]) + (" and more" if len(served) > SHOWN else "")
    hint = f"Did you mean {one_line(near[0], 60)!r}?" if near else f"There are {listed}."
    return f"There is no model {one_line(name, 60)!r} at {where.rpartition(' at ')[2]}. {hint}"
