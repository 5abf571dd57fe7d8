"""What the process that a project's runs are forked from keeps for the next of them."""

from __future__ import annotations

import pytest

from memkit.runtime.guard import match
from memkit.runtime.testing.trial.processes import _deferred_models


def test_a_model_is_deferred_until_its_first_use() -> None:
    """A run names those that it had to build, as OpenAI's SDK leaves hundreds to whom needs them."""
    pydantic = pytest.importorskip("pydantic")
    made = pydantic.create_model("Answer", __config__={"defer_build": True}, text=(str, ...))
    assert made in _deferred_models()

    assert made(text="Oolong.").text == "Oolong."

    assert made not in _deferred_models()


def test_no_pattern_of_a_kind_is_left_to_a_run() -> None:
    """What a policy asks of a tool's name is answered by patterns that were there before."""
    match.compile_kinds()
    before = match._pattern.cache_info().misses

    assert match._of_kinds(("shell", "destructive")).on("run_shell_command").state
    assert match._pattern.cache_info().misses == before
