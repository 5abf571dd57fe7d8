"""Choose how to solve a task: known methods, methods with a model's help, evolutionary search, or plain tool use.

Written procedures (skills, policies, learned methods) are searched here as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from .bound import BoundTool
from .interface import JSON, LoopError, TokenCounter, ToolSpec

LISTED = 20
"""The most skills that a prompt lists."""
LONGEST = 120
"""The most characters of a skill's line."""
SHARE = 0.05
"""Share of the prompt's budget for the list of skills."""
FOUND = 5


class NoSuchSkill(LoopError):
    """Report that a model asked for a skill that does not exist."""

    exit_code = 1
    code = "no_such_skill"


class Procedure(NamedTuple):
    """A known way of doing something."""

    kind: str
    """skill | policy | method"""
    name: str
    about: str
    """What it is for, and when to use it."""
    score: float = 0.0

    @property
    def line(self) -> str:
        """Return it as one line.

        >>> Procedure("skill", "brew-tea", "Makes tea.").line
        '- brew-tea: Makes tea.'
        """
        text = " ".join(f"{self.name}: {self.about}".split())
        return "- " + (text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")


class Procedures(Protocol):
    """The procedures of a store, read from its current files."""

    def skills(self) -> Sequence[Procedure]:
        """Return every skill that may be used."""

    def search(self, query: str, k: int = FOUND) -> Sequence[Procedure]:
        """Return the skills, policies and methods that fit ``query``, best first."""

    def show(self, name: str) -> str | None:
        """Return the steps of a skill and everything that belongs to it, or None if there is no such skill."""


def skills_section(procedures: Procedures, budget: int, count: TokenCounter) -> str:
    """Return the prompt's section on skills, within its share of ``budget`` tokens; empty if there are none."""
    known = procedures.skills()
    lines: list[str] = []
    used = 0
    for skill in known[:LISTED]:
        used += count(skill.line)
        if used > budget * SHARE:
            break
        lines.append(skill.line)
    left = len(known) - len(lines)
    more = [f"({left} more: skill_search finds them.)"] if left else []
    return "\n".join(["Skills; read one with skill_show before you follow it:", *lines, *more]) if known else ""


def skill_tools(procedures: Procedures) -> list[BoundTool]:
    """Return the two tools with which a model reads the skills."""

    def search(args: Mapping[str, JSON]) -> str:
        query = str(args["query"]).strip()
        found = [one for one in procedures.search(query) if one.kind == "skill"] if query else procedures.skills()
        return "\n".join(one.line for one in found) or "No skill is about that."

    def show(args: Mapping[str, JSON]) -> str:
        name = str(args["name"])
        text = procedures.show(name)
        if text is None:
            known = ", ".join(skill.name for skill in procedures.skills()) or "none"
            raise NoSuchSkill(f"There is no skill {name!r:.60}. There are: {known}.")
        return text

    return [
        BoundTool(_spec("skill_search", "Find a skill; without words, list all.", "query"), search),
        BoundTool(_spec("skill_show", "Read a skill.", "name"), show),
    ]


def _spec(name: str, description: str, argument: str) -> ToolSpec:
    properties = {argument: {"type": "string"}}
    return ToolSpec(name, description, {"type": "object", "properties": properties, "required": [argument]})


# How a task is solved, which other ways were considered, and why.

METHODS = "methods"
CHAT_HTN = "chat-htn"
EVOLUTIONARY = "evolutionary"
TOOLS = "tools"


@dataclass(frozen=True)
class Candidate:
    """One way to solve a task."""

    kind: str
    fits: bool
    reason: str
    """Why it fits, or why it does not."""


@dataclass(frozen=True)
class PlannerChoice:
    """The chosen way to solve a task."""

    kind: str
    """methods | chat-htn | evolutionary | tools"""
    reason: str
    considered: tuple[Candidate, ...] = ()
    """Every available way, in order of preference."""

    def to_data(self) -> dict[str, JSON]:
        """Return the choice as plain data."""
        considered = [{"kind": each.kind, "fits": each.fits, "reason": each.reason} for each in self.considered]
        return {"kind": self.kind, "reason": self.reason, "considered": considered}


def preferred(candidates: tuple[Candidate, ...]) -> PlannerChoice:
    """Return the first way that fits; plain tool use always does."""
    first = next(candidate for candidate in candidates if candidate.fits)
    return PlannerChoice(first.kind, first.reason, candidates)


Evaluator = Callable[..., Any] | str
"""A function that scores a candidate, or its name."""


class Proposals:
    """Subtasks that a model proposed in a tool call.

    Pass the same object to the planner, as its ``llm_decompose``, and to the toolbox: the model proposes through the
    toolbox, and the planner asks for the proposals and validates them.

    >>> from memkit.runtime.htn.core import HTNPlanner, Operator
    >>> proposals = Proposals()
    >>> planner = HTNPlanner(operators=[Operator("open ?what")], llm_decompose=proposals)
    >>> proposals.add("air kitchen", ["open window"])  # what a model said in a tool call
    >>> [str(step) for step in planner.generate("air kitchen", ["closed window"])]
    ['open window']
    """

    def __init__(self) -> None:
        self._by_task: dict[str, list[str]] = {}

    def add(self, task: str, subtasks: Sequence[str]) -> None:
        """Keep ``subtasks`` as the model's decomposition of ``task``."""
        self._by_task[" ".join(task.split())] = [" ".join(subtask.split()) for subtask in subtasks]

    def __call__(self, task: Any, state: Any = None) -> list[str] | None:
        """Return what was proposed for ``task``, or None."""
        return self._by_task.get(term_text(task))


@dataclass(frozen=True)
class Pursuit:
    """The result of solving a task the chosen way."""

    choice: PlannerChoice
    result: Any = None
    """The planner's result; None if nothing was planned."""
    program: str | None = None
    """The program found by evolutionary search."""

    def to_data(self) -> dict[str, JSON]:
        """Return it as plain data: outcome, plan, tree, reasons and the choice."""
        if self.result is not None:
            return {**result_data(self.result), "choice": self.choice.to_data()}
        found = self.program is not None
        data: dict[str, JSON] = {"outcome": "found" if found else "no_plan", "plan": None, "tree": [], "reasons": []}
        if found:
            data["program"] = self.program
        else:
            data["reasons"] = [{"code": "unknown", "message": self.choice.reason}]
        return {**data, "choice": self.choice.to_data()}


class HybridPlanner:
    """Tries known methods first, then a model's proposals; evolution if a task names an evaluator, otherwise tools.

    >>> from memkit.runtime.htn.core import HTNPlanner, Operator
    >>> planner = HybridPlanner(HTNPlanner(operators=[Operator("open ?what")]))
    >>> planner.choose("open window").kind, planner.choose("sing song").kind
    ('methods', 'tools')
    >>> [str(step) for step in planner.generate("open window")]
    ['open window']
    """

    def __init__(self, htn: Any = None, evolutionary: Any = None, *, proposals: Proposals | None = None) -> None:
        self.htn = htn
        """One planner, or a mapping with one planner per domain."""
        self.evolutionary = evolutionary
        self.proposals = proposals

    @property
    def planners(self) -> dict[str, Any]:
        """Return the planners by domain name."""
        if isinstance(self.htn, Mapping):
            return dict(self.htn)
        return {} if self.htn is None else {str(self.htn.domain.name): self.htn}

    def planners_for(self, task: Any, domain: str | None = None) -> list[Any]:
        """Return the planners that may do ``task``, the likeliest first, or only that of ``domain`` if it is given.

        Planners that know the task come first, then those whose domain covers everything a model proposed for it.
        If there are neither, the very first planner is returned, since it explains best what is missing.
        """
        planners = self.planners
        if domain is not None:
            return [planners[domain]] if domain in planners else []
        proposed = set(map(head_of, (self.proposals(task) if self.proposals else None) or ()))
        known = [planner for planner in planners.values() if head_of(task) in heads(planner)]
        held = [planner for planner in planners.values() if proposed and proposed <= heads(planner)]
        return list(dict.fromkeys([*known, *held])) or list(planners.values())[:1]

    def planner_for(self, task: Any, domain: str | None = None) -> Any:
        """Return the likeliest planner for ``task``, None if there are no planners."""
        return next(iter(self.planners_for(task, domain)), None)

    def choose(self, task: Any, *, evaluator: Evaluator | None = None, domain: str | None = None) -> PlannerChoice:
        """Return how ``task`` is solved, the reason, and the other ways considered.

        >>> HybridPlanner().choose("deliver book shop").kind
        'tools'
        """
        left = Candidate(TOOLS, True, f"No planner can help with {head_of(task)!r}, so it is left to the tools.")
        if evaluator is not None:
            # The thing to be scored is a program; there are no steps to plan.
            return preferred((self._evolution(evaluator), left))
        planner, head = self.planner_for(task, domain), head_of(task)
        known = planner is not None and head in heads(planner)
        return preferred(
            (
                self._evolution(evaluator),
                _methods(planner, head, known=known),
                self._proposing(planner, head, known=known),
                left,
            )
        )

    def generate(self, task: Any, state: Any = None) -> Any:
        """Return a plan, or None if there is none."""
        result = self.solve(task, state)
        return None if result is None else result.plan

    def solve(self, task: Any, state: Any = None, objects: Any = None) -> Any:
        """Return the planner's result, or None without a planner."""
        return self._tried(self.planners_for(task), task, state, objects)

    def pursue(
        self,
        task: Any,
        state: Any = None,
        objects: Any = None,
        *,
        evaluator: Evaluator | None = None,
        domain: str | None = None,
        generations: int = 50,
    ) -> Pursuit:
        """Choose a way and follow it: plan, or search for a program; a task left to the tools is not started."""
        choice = self.choose(task, evaluator=evaluator, domain=domain)
        if choice.kind == EVOLUTIONARY:
            return Pursuit(choice, program=self.evolve(generations))
        planners = self.planners_for(task, domain)
        if not planners or evaluator is not None:
            return Pursuit(choice)
        # A planner explains best why it cannot do a task, so it is asked even if it does not know the task.
        result = self._tried(planners, task, state, objects)
        return Pursuit(_as_it_went(choice, result), result)

    def able(self, task: Any, state: Any = None) -> Any:
        """Return the first planner that finds a plan for ``task``, else the likeliest; None if there is no planner."""
        planners = self.planners_for(task)
        if len(planners) < 2:
            return next(iter(planners), None)  # it will plan when it carries the task out
        found = (planner for planner in planners if solve(planner, task, state).plan is not None)
        return next(found, planners[0])

    def _tried(self, planners: Sequence[Any], task: Any, state: Any, objects: Any) -> Any:
        """Return the first plan that a planner finds, else the first planner's result; None if there is no planner."""
        first = None
        for planner in planners:
            result = solve(planner, task, state, objects)
            if result.plan is not None:
                return result
            first = first or result
        return first

    def evolve(self, generations: int = 50) -> str:
        """Return the best program of the evolutionary searcher; raise LoopError if none was passed."""
        if self.evolutionary is None:
            raise LoopError("There is nothing to evolve with. Pass an EvolutionarySearcher as 'evolutionary'.")
        return str(self.evolutionary.run(generations=generations))

    def _evolution(self, evaluator: Evaluator | None) -> Candidate:
        if evaluator is None:
            return Candidate(EVOLUTIONARY, False, "The task names no evaluator, so nothing could be scored.")
        if self.evolutionary is None:
            return Candidate(EVOLUTIONARY, False, "The task names an evaluator, but no searcher was passed.")
        return Candidate(EVOLUTIONARY, True, "The task names an evaluator, so candidates can be scored.")

    def _proposing(self, planner: Any, head: str, *, known: bool) -> Candidate:
        if planner is None:
            return Candidate(CHAT_HTN, False, "No planner that could check a proposal was passed.")
        if self.proposals is None and not getattr(planner, "asks_model", False):
            return Candidate(CHAT_HTN, False, "No model may propose subtasks here.")
        why = f"where no method of {head!r} applies" if known else f"no method fits {head!r}"
        return Candidate(CHAT_HTN, True, f"A model may propose subtasks, which are checked: {why}.")


def _methods(planner: Any, head: str, *, known: bool) -> Candidate:
    if planner is None:
        return Candidate(METHODS, False, "No planner was passed.")
    name = planner.domain.name
    if known:
        return Candidate(METHODS, True, f"The domain {name} knows {head!r}.")
    return Candidate(METHODS, False, f"The domain {name} has no method or operator {head!r}.")


def _as_it_went(choice: PlannerChoice, result: Any) -> PlannerChoice:
    """Return the choice corrected by the result: even a known task may have needed the model."""
    if choice.kind == METHODS and getattr(result, "proposals", {}).get("accepted"):
        return replace(choice, kind=CHAT_HTN, reason="No known method led to a plan from here; a model's proposal did.")
    return choice


def as_hybrid(planner: Any) -> HybridPlanner:
    """Wrap a planner, a mapping of planners, or None in a hybrid planner."""
    return planner if isinstance(planner, HybridPlanner) else HybridPlanner(htn=planner)


def head_of(task: Any) -> str:
    """Return the name of a task without its arguments."""
    return (term_text(task).split() or [""])[0]


def solve(planner: Any, task: str, state: JSON = None, objects: JSON = None) -> Any:
    """Return the planner's result for a task; state and objects, if given, replace the domain's own."""
    given = {name: value for name, value in (("state", state), ("objects", objects)) if value is not None}
    return planner.solve(task, **given)


def term_text(term: Any) -> str:
    """Return a task as text, whether given as text, as a sequence, or as a step with name and args.

    >>> term_text("deliver  book shop"), term_text(("deliver", "book", "shop"))
    ('deliver book shop', 'deliver book shop')
    """
    if isinstance(term, str):
        return " ".join(term.split())
    if hasattr(term, "name") and hasattr(term, "args"):
        return " ".join([str(term.name), *map(str, term.args)])
    return " ".join(map(str, term))


def result_data(result: Any) -> dict[str, JSON]:
    """Return a planner's result as plain data: outcome, plan, tree and reasons."""
    return dict(result.to_data())


def known_tasks(planner: Any) -> list[str]:
    """Return the tasks that a planner has methods for, written as terms."""
    told = getattr(planner, "known_tasks", None)
    if told is not None:  # a planner that loads its domain only when it plans
        return list(told)
    return sorted({term_text((method.head.name, *method.head.args)) for method in known_methods(planner)})


def heads(planner: Any) -> set[str]:
    """Return the first words of every task and operator of a planner."""
    methods = {str(method.head.name) for method in known_methods(planner)}
    return methods | {str(operator.name) for operator in planner.domain.operators}


def known_methods(planner: Any) -> list[Any]:
    """Return the methods written by people and the learned ones."""
    return [*planner.domain.methods, *getattr(planner, "learned", ())]
