"""Ask a model for the subtasks of one task, and check them against every domain there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .language.domain import Domain
from .language.terms import term_text
from .learning.gaps import INSTRUCTIONS, GapQuestion, read_answer
from .learning.proposals import Consultation
from .planner import HTNPlanner


def llm_decompose(
    task: Any,
    state: Any = None,
    *,
    ask: Callable[[str], str] | None = None,
    domains: Iterable[Domain | Mapping[str, Any]] = (),
) -> list[str] | None:
    """Return the subtasks that a model proposes for a task, or None where none of its answers holds up.

    It is put to the model once for each domain, with what that domain can do, and again with what was wrong with its
    answer. Subtasks hold up in a domain when its operators carry them out from ``state`` on, every precondition
    included, and what is declared of the task holds afterwards. After Chat-HTN (arXiv 2505.11814).

    Args:
        task: A term, as in ``"deliver book shop"``.
        state: The facts that hold now; None for those that a domain begins with.
        ask: The model: a text in, its answer out. Without one nobody is asked.
        domains: What is known of acting, as ``Domain`` or as the data of a domain's file. Without any nothing holds.

    Raises:
        HtnError: A domain, the task or the state makes no sense.

    >>> domain = {"name": "house", "operators": [{"name": "open", "parameters": "?what", "add": ["open ?what"]}]}
    >>> llm_decompose("air window", [], ask=lambda question: '{"subtasks": ["open window"]}', domains=[domain])
    ['open window']
    """
    if ask is None:
        return None
    for domain in domains:
        planner = HTNPlanner(domain=domain, llm_decompose=Consultation(_Asked(ask)))
        result = planner.solve(task, state)
        if result.found:
            root = result.tree[0]["id"]
            return [term_text((node["name"], *node["args"])) for node in result.tree if node["parent"] == root]
    return None


class _Asked:
    """A model that takes text."""

    def __init__(self, answer: Callable[[str], str]) -> None:
        self._answer = answer

    def ask(self, question: GapQuestion) -> Any:
        return read_answer(self._answer(f"{INSTRUCTIONS}\n\n{question.text()}"))
