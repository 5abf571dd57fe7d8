"""Put a planner's question to a language model, and remember refused answers on this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from memkit.errors import EnvironmentFault
from memkit.llm.scripted import ScriptExhausted
from memkit.runtime.htn.core import Domain, HtnError
from memkit.runtime.htn.learning.gaps import (
    INSTRUCTIONS,
    LONGEST_ANSWER,
    SCHEMA,
    Gap,
    GapQuestion,
    RefusedProposal,
    read_answer,
)
from memkit.runtime.loop.interface import Message, Model, ToolSpec
from memkit.runtime.memory.log.clone import make_private

ANSWER = ToolSpec("propose_subtasks", "Give the subtasks that do the task, in order.", SCHEMA)


class AskedModel:
    """A model that proposes subtasks; the planner judges its answers."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def ask(self, question: GapQuestion) -> Any:
        """Return the model's answer as data, as text if it is not JSON, or None if it is empty.

        Each attempt is a separate conversation: the question includes what was wrong with the earlier ones.
        """
        messages: list[Message] = [
            {"role": "system", "content": INSTRUCTIONS},
            {"role": "user", "content": question.text()},
        ]
        try:
            said = self._model.complete(messages, [ANSWER])
        except ScriptExhausted:
            return None
        for call in said.tool_calls:
            if call.name == ANSWER.name:
                return call.args[:LONGEST_ANSWER] if isinstance(call.args, str) else dict(call.args)
        return read_answer(said.text) if said.text.strip() else None


def domain_digest(domain: Domain) -> str:
    """Return a digest of a domain's abilities; another domain of the same name has other gaps."""
    try:
        text = json.dumps(domain.to_data(), sort_keys=True, ensure_ascii=False, default=str)
    except HtnError:  # Python functions cannot be serialised
        text = domain.name
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class GapLog:
    """Gaps of one domain and one model in a JSON lines file that several processes append to."""

    def __init__(self, path: Path, domain: Domain, model: str, clock: Callable[[], datetime]) -> None:
        self._path = path
        self._about = {"domain": domain_digest(domain), "model": model}
        self._clock = clock

    def refused(self, gap: Gap) -> Sequence[RefusedProposal]:
        """Return the refused proposals for a gap, oldest first."""
        return tuple(self._known.get(gap, ()))

    def refuse(self, gap: Gap, refusal: RefusedProposal) -> None:
        """Append one more; raise ``EnvironmentFault`` if it cannot be written."""
        self._known.setdefault(gap, []).append(refusal)
        at = self._clock().isoformat().replace("+00:00", "Z")
        entry = {"at": at, **self._about, "task": gap.task, "state": gap.state, **vars(refusal)}
        line = json.dumps(entry, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        try:
            make_private(self._path.parent)
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(handle, line)
            finally:
                os.close(handle)
        except OSError as error:
            raise EnvironmentFault(f"{self._path} cannot be written: {error.strerror}.") from error

    @cached_property
    def _known(self) -> dict[Gap, list[RefusedProposal]]:
        found: dict[Gap, list[RefusedProposal]] = {}
        for entry in entries(self._path):
            if all(entry[key] == value for key, value in self._about.items()):
                gap = Gap(entry["task"], entry["state"])
                found.setdefault(gap, []).append(RefusedProposal(entry["proposal"], entry["reason"]))
        return found


_KEYS = ("at", "domain", "model", "task", "state", "proposal", "reason")


def entries(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a gap log; truncated lines are skipped."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict) and all(isinstance(entry.get(key), str) for key in _KEYS):
            found.append(entry)
    return found
