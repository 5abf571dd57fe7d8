"""Ask a person on the terminal about a call that a policy requires confirmation for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memkit.cli.output import forget_typed_ahead, typed_line
from memkit.runtime.host.terminal import fitted, one_line
from memkit.runtime.loop.interface import Verdict

LINES, WIDTH = 24, 400
"""How much of one argument is shown before a person asks for the rest."""
YES, NO, ALWAYS, SHOW = ("y", "yes"), ("n", "no", ""), ("a", "always"), ("s", "show")


class Approvals:
    """Asks about each call, and remembers during a run what a person agreed to for all of it.

    Such an agreement holds for one tool under one policy: another policy that asks about the same tool asks again.
    ``before`` runs first, to clear what a terminal shows while it waits.
    """

    def __init__(self, before: Callable[[], None] = lambda: None) -> None:
        self._before = before
        self._always: set[tuple[str, str]] = set()

    def __call__(self, name: str, args: Mapping[str, Any], verdict: Verdict) -> bool:
        """Return whether the person agrees to run the tool ``name`` with ``args``; the default is no."""
        finding = verdict.deciding
        policy = finding.name if finding else ""
        if policy and (policy, name) in self._always:
            return True
        self._before()
        forget_typed_ahead()
        why = f"Policy {policy} asks before {name} runs: {finding.reason}" if finding else f"May {name} run?"
        answer = self._answer(f"{fitted(one_line(why))}\n", args, may_always=bool(policy))
        if answer in ALWAYS:
            self._always.add((policy, name))
        return answer in YES or answer in ALWAYS

    def _answer(self, why: str, args: Mapping[str, Any], *, may_always: bool) -> str:
        shown, is_cut = call_lines(args)
        known = [*YES, *NO, *(ALWAYS if may_always else ()), *(SHOW if is_cut else ())]
        choices = "y: yes, n: no" + (", a: always in this session" if may_always else "")
        question = f"Run it? {choices}{', s: show all of it' if is_cut else ''} [n] "
        text = f"{why}{shown}"
        while True:
            try:
                answer = typed_line(text + question).strip().lower()
            except EOFError:
                return "no"
            if answer in SHOW and is_cut:
                text, _ = call_lines(args, lines=0, width=0)
            elif answer in known:
                return answer
            else:
                text = "Please answer with one of these letters.\n"


def call_lines(args: Mapping[str, Any], *, lines: int = LINES, width: int = WIDTH) -> tuple[str, bool]:
    """Return the arguments of a call, each line of a value behind a bar, and whether some of it was left out.

    The bar keeps an argument from imitating a question. Zero means no limit.
    """
    shown, is_cut = [], False
    for key, value in args.items():
        rows = str(value).split("\n")
        kept = rows[:lines] if lines else rows
        short = [one_line(row, width) if width else one_line(row) for row in kept]
        left = len(rows) - len(kept)
        is_cut |= left > 0 or any(width and len(one_line(row)) > width for row in kept)
        shown += [f"  {one_line(str(key), 80)}:", *(f"    │ {row}" for row in short)]
        shown += [f"    │ … {left} more lines"] if left else []
    return "".join(f"{row}\n" for row in shown), is_cut
