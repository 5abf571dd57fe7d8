"""Models that propose changes, and their answers: stored on arrival, so that nothing is paid for twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from memkit.errors import UsageError
from memkit.evolution.files import lines_of, write_at
from memkit.evolution.task import EvolutionTask
from memkit.llm.providers import StoreModels
from memkit.llm.scripted import ScriptExhausted
from memkit.runtime.evolve.interface import ProposalRequest, ProposedChange
from memkit.runtime.evolve.source.answers import Ask, ChangePrompt, PromptedProposer
from memkit.runtime.loop.interface import Message, Model

NAME = "answers.jsonl"
TOKENS, COST = "tokens", "cost"
_READ, _WRITTEN = "input_tokens", "output_tokens"
_MILLION = 1_000_000


class RecordedAnswers:
    """The answers of all models of one run."""

    def __init__(self, folder: Path, *, price: tuple[float, float] | None = None) -> None:
        self._path, self._price = folder / NAME, price
        self._known: dict[tuple[str, ...], ProposedChange] = {}
        self._used: Counter[str] = Counter()
        self._whole = 0
        self._writing = Lock()
        for (key, answer), end in lines_of(self._path, _kept):
            self._take(key, answer)
            self._whole = end

    @property
    def spent(self) -> dict[str, float]:
        """Return the tokens that were read and written, and their cost if prices or answers state it."""
        spent = {TOKENS: float(self._used[_READ] + self._used[_WRITTEN])}
        if self._price is not None:
            price_read, price_written = self._price
            total = self._used[_READ] * price_read + self._used[_WRITTEN] * price_written
            spent[COST] = round(total / _MILLION, 6)
        elif COST in self._used:
            spent[COST] = round(self._used[COST], 6)
        return spent

    def over(self, budget: Mapping[str, float]) -> str | None:
        """Return which budget is used up, or None."""
        spent = self.spent
        return next((name for name, most in budget.items() if spent.get(name, 0.0) >= most), None)

    def count(self, proposer: str) -> int:
        """Return how many answers of one proposer are stored."""
        return sum(key[0] == proposer for key in self._known)

    def known(self, key: tuple[str, ...]) -> ProposedChange | None:
        """Return the earlier answer to the same question."""
        return self._known.get(key)

    def keep(self, key: tuple[str, ...], answer: ProposedChange) -> None:
        """Write an answer to the disk; raise ``RunFault`` if that fails."""
        usage = {name: value for name, value in answer.usage.items() if isinstance(value, int | float)}
        line = json.dumps({"key": key, "text": answer.text, "usage": usage}) + "\n"
        with self._writing:
            data = line.encode("utf-8", "backslashreplace")
            self._whole = write_at(self._path, data, self._whole, "Make room and resume.")
            self._take(key, answer)

    def _take(self, key: tuple[str, ...], answer: ProposedChange) -> None:
        self._known[key] = answer
        self._used.update({name: value for name, value in answer.usage.items() if isinstance(value, int | float)})


class RecordingProposer:
    """A proposer whose answers are stored, and that is not asked any more once a budget is used up."""

    def __init__(
        self, proposer: PromptedProposer, answers: RecordedAnswers, budget: Mapping[str, float], *, at_a_time: int = 1
    ) -> None:
        self.name = proposer.name
        self._proposer, self._answers, self._budget, self._at_a_time = proposer, answers, budget, at_a_time

    def propose(self, requests: Sequence[ProposalRequest]) -> list[Any]:
        """Answer each request from the stored answers, else by asking; None if there is no budget for it.

        An exception replaces an answer if the proposer failed, so that the other answers, which were paid for, count.
        """
        found: list[Any] = []
        with ThreadPoolExecutor(self._at_a_time) as pool:
            for start in range(0, len(requests), self._at_a_time):
                is_over = self._answers.over(self._budget) is not None
                ask = self._kept if is_over else self._answer
                found += pool.map(ask, requests[start : start + self._at_a_time])
        return found

    def _key(self, request: ProposalRequest) -> tuple[str, ...]:
        return self.name, request.id, sha256(str(request.program).encode("utf-8", "surrogatepass")).hexdigest()

    def _kept(self, request: ProposalRequest) -> ProposedChange | None:
        return self._answers.known(self._key(request))

    def _answer(self, request: ProposalRequest) -> Any:
        kept = self._kept(request)
        if kept is not None:
            return kept
        try:
            answer = next(iter(self._proposer.propose([request])), None)
            if answer is not None:
                self._answers.keep(self._key(request), answer)
        except Exception as problem:  # noqa: BLE001 - whatever a vendor's client raises is a failed proposal
            return problem
        return answer


def _kept(entry: Any) -> tuple[tuple[str, ...], ProposedChange]:
    return tuple(entry["key"]), ProposedChange(entry["text"], entry["usage"])


_USAGE = {"input": "input_tokens", "output": "output_tokens"}


def open_proposers(
    providers: Sequence[str],
    task: EvolutionTask,
    *,
    model: str | None = None,
    folder: Path | None = None,
    models: StoreModels | None = None,
) -> list[PromptedProposer]:
    """Return a proposer for each of ``providers``; the search learns from the results how often to ask each.

    Args:
        providers: Such as ``scripted:answers.yaml``, ``anthropic`` or ``openai/gpt-5``: a provider, and after a slash
            the model if it serves several.
        task: What models are told about the task.
        model: The model of providers without a stated one.
        folder: The base of a relative file name; by default the current directory.
        models: Opens them; by default according to the environment.

    Raises:
        UsageError: There is no such provider, or it cannot write programs.
        EnvironmentFault: A key or package is missing.
    """
    proposers = list[PromptedProposer]()
    for at, provider in enumerate(providers):
        name = provider if provider not in providers[:at] else f"{provider}#{at + 1}"
        ask = _asking(_opened(provider, model, folder, models or StoreModels.of(None)))
        proposers.append(PromptedProposer(name, ask, task.settings.instructions, task.settings.rewrites))
    return proposers


def _opened(provider: str, model: str | None, folder: Path | None, models: StoreModels) -> Model:
    """Return the model of one provider; raise ``UsageError`` if it cannot write programs."""
    name, slash, chosen = provider.partition("/")
    if ":" in name:  # a file name follows
        name, slash, chosen = provider, "", ""
    if name == "reference":
        raise UsageError(
            "The reference model cannot write programs. Leave out --provider, and evolution varies programs by "
            "itself; or name anthropic, openai or scripted:FILE."
        )
    return models.open(name, chosen if slash else model, folder=folder)


def _asking(model: Model) -> Ask:
    def ask(prompt: ChangePrompt) -> ProposedChange | None:
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
