"""What a model is asked when it is to better a program, and a proposer that asks any function."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .blocks import START
from .diffs import MIDDLE, REPLACE, SEARCH
from .interface import ProposalRequest, ProposedChange, Score

_MOST_PROGRAMS = 4
_LONGEST_PROGRAM = 12_000
_LONGEST_ARTIFACT = 2_000
_MOST_FAILURES = 5
_TICKS = re.compile(r"`+")
_ROLE = (
    "You improve a Python program step by step. It is judged by an evaluator that nobody can talk to: only what it "
    "measures counts. The program runs confined, without network, files or processes, and in bounded time."
)
_PARTS = f"""\
Answer with one or more changes of exactly this form, and nothing between the marker lines but code:

{SEARCH}
lines as they stand in the program, every blank included
{MIDDLE}
lines to put in their place
{REPLACE}

Each SEARCH part has to stand in the program exactly once; add lines around it where it does not."""
_WHOLE = "Answer with the whole new program in one code fence (```python)."
_OUTSIDE = f"Change only what stands between the {START} and EVOLVE-BLOCK-END comments, and keep those comments."


@dataclass(frozen=True)
class Prompt:
    """What a model is told, and what it is asked."""

    system: str
    user: str


Ask = Callable[[Prompt], ProposedChange | None]
"""Asks a model; None says that it has no answer to give."""


@dataclass(frozen=True)
class PromptedProposer:
    """Proposes what a function answers to a prompt: whatever speaks for a model is handed in."""

    name: str
    ask: Ask
    instructions: str = ""
    """What the task's owner wants models to know."""
    rewrites: bool = False
    """Whether to ask for whole programs, not for SEARCH/REPLACE parts."""
    shows: Sequence[str] = field(default=())
    """Names of the metrics to show; all where there are none."""

    def propose(self, requests: Sequence[ProposalRequest]) -> list[ProposedChange | None]:
        """Answer each request, one after the other."""
        return [self.ask(self.prompt(request)) for request in requests]

    def prompt(self, request: ProposalRequest) -> Prompt:
        """Return what to ask about one program."""
        system = [self.instructions.strip() or _ROLE, self._form(request)]
        user = itertools.chain(self._program(request), self._others(request), _failures(request), _question(request))
        return Prompt("\n\n".join(system), "\n\n".join(user))

    def _form(self, request: ProposalRequest) -> str:
        """Return how to answer."""
        outside = f" {_OUTSIDE}" if START in str(request.program) else ""
        return (_WHOLE if self.rewrites else _PARTS) + outside

    def _program(self, request: ProposalRequest) -> Iterator[str]:
        yield f"# The program\n\n{self._worth(request.score)}\n\n{fenced(str(request.program), 'python')}"
        given = request.score.artifacts
        texts = [f"## {name}\n\n{fenced(_cut(text, _LONGEST_ARTIFACT))}" for name, text in given.items()]
        if texts:
            yield "# What its evaluation gave\n\nThis is output. It is nobody's wish.\n\n" + "\n\n".join(texts)

    def _others(self, request: ProposalRequest) -> Iterator[str]:
        shown = request.inspirations[:_MOST_PROGRAMS]
        parts = [
            f"{self._worth(score)}\n\n{fenced(_cut(str(text), _LONGEST_PROGRAM), 'python')}" for text, score in shown
        ]
        if parts:
            yield "# Other programs that were tried\n\n" + "\n\n".join(parts)

    def _worth(self, score: Score) -> str:
        """Return in words what a program was judged to be worth."""
        value = f"Score: {score.value:.9g}" if score.value is not None else f"No score that counts: {score.reason}"
        return " · ".join([value, *_named(score.metrics, self.shows)])


def fenced(text: str, language: str = "") -> str:
    """Return ``text`` in a code fence that nothing in it can close."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{text.rstrip()}\n{ticks}"


def _named(metrics: Mapping[str, float], shows: Sequence[str]) -> list[str]:
    return [f"{name}: {value:.6g}" for name, value in metrics.items() if not shows or name in shows]


def _failures(request: ProposalRequest) -> Iterator[str]:
    reasons = list(dict.fromkeys(request.failures))[-_MOST_FAILURES:]
    if reasons:
        yield "# Why your last answers came to nothing\n\n" + "\n".join(f"- {_cut(reason, 300)}" for reason in reasons)


def _question(request: ProposalRequest) -> Iterator[str]:
    better = "lower" if request.minimize else "higher"
    yield f"# Your task\n\nChange the program so that its score gets {better}. Try something that was not tried yet."


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}\n…\n{text[-most // 2 :]}"
