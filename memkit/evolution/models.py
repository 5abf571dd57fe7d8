"""Language models as proposers of changes: every provider that the agent can speak to, alone or several together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memkit.errors import UsageError
from memkit.evolution.task import Task
from memkit.llm.patience import Patience
from memkit.llm.providers import open_model
from memkit.llm.scripted import ScriptExhausted
from memkit.runtime.evolve.interface import ProposedChange
from memkit.runtime.evolve.source.answers import Ask, Prompt, PromptedProposer
from memkit.runtime.loop.interface import Message, Model

_USAGE = {"input": "input_tokens", "output": "output_tokens"}


def open_proposers(
    providers: Sequence[str],
    task: Task,
    *,
    model: str | None = None,
    folder: Path | None = None,
    patience: Patience | None = None,
) -> list[PromptedProposer]:
    """Return a proposer for each of ``providers``; how often each is asked, the search learns from what came of it.

    Args:
        providers: Such as ``scripted:answers.yaml``, ``anthropic`` or ``openai/gpt-5``: a provider, and behind a slash
            the model where it serves several.
        task: What models are to be told about.
        model: The model of providers that name none.
        folder: Where a relative file name starts; the current directory without it.
        patience: How long vendors' models are waited for, and how often they are asked again.

    Raises:
        UsageError: There is no such provider, or it cannot write programs.
        EnvironmentFault: A key or package is missing.
    """
    proposers = list[PromptedProposer]()
    for at, provider in enumerate(providers):
        name = provider if provider not in providers[:at] else f"{provider}#{at + 1}"
        ask = _asking(_opened(provider, model, folder, patience))
        proposers.append(PromptedProposer(name, ask, task.settings.instructions, task.settings.rewrites))
    return proposers


def _opened(provider: str, model: str | None, folder: Path | None, patience: Patience | None) -> Model:
    """Return the model of one provider.

    Raises:
        UsageError: It cannot write programs.
    """
    name, slash, chosen = provider.partition("/")
    if ":" in name:  # what follows is a file
        name, slash, chosen = provider, "", ""
    if name == "reference":
        raise UsageError(
            "The reference model follows rules and writes no programs. Leave out --provider: evolution "
            "varies programs by itself. Or name anthropic, openai or scripted:FILE."
        )
    return open_model(name, chosen if slash else model, folder=folder, patience=patience)


def _asking(model: Model) -> Ask:
    """Return what asks ``model`` with one message, and counts what it cost."""

    def ask(prompt: Prompt) -> ProposedChange | None:
        messages: list[Message] = [
            {"role": "system", "content": prompt.system},
            {"role": "user", "content": prompt.user},
        ]
        try:
            answer = model.complete(messages, ())
        except ScriptExhausted:  # from here on, the search varies programs by itself
            return None
        usage = {_USAGE.get(name, name): float(count) for name, count in answer.usage.items()}
        return ProposedChange(answer.text, usage)

    return ask
