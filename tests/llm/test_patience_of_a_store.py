"""Every command that asks a model waits for it as long as the store's settings say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.errors import UsageError
from memkit.llm.providers import Patience

DOMAIN = 'name: errands\ndescription: Errands.\noperators:\n  - {name: go, parameters: "?to", add: ["at ?to"]}\n'
EVALUATOR = "def evaluate(path):\n    return {'combined_score': 1.0}\n"
PROGRAM = "# EVOLVE-BLOCK-START\ndef f(x):\n    return x\n# EVOLVE-BLOCK-END\n"


@pytest.mark.parametrize(
    ("command", "opener"),
    [
        (("plan", "go shop", "--domain", "errands.yaml"), "memkit.llm.providers.open_model"),
        (("evolve", "program.py", "--evaluator", "evaluator.py", "--unsafe"), "memkit.llm.providers.open_model"),
        (("chat", "-p", "Hello.", "--user", "ada"), "memkit.llm.providers.open_model"),
    ],
)
def test_the_settings_say_how_long_a_model_is_waited_for(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], opener: str
) -> None:
    """Not only in a chat: planning and evolution read ``requests.*`` as well."""
    for name, text in {"errands.yaml": DOMAIN, "evaluator.py": EVALUATOR, "program.py": PROGRAM}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    waited: list[Patience] = []

    def refuse(*_given: Any, patience: Patience, **_more: Any) -> None:
        waited.append(patience)
        raise UsageError("No model is opened here.")

    monkeypatch.setattr(opener, refuse)
    for key, value in {"requests.retries": "7", "requests.whole": "3s"}.items():
        assert run(["config", "set", key, value, "--store", str(store)]) == 0

    assert run([*command, "--provider", "openai", "--store", str(store)]) == 2

    [patience] = waited
    assert (patience.retries, patience.whole) == (7, 3.0)
