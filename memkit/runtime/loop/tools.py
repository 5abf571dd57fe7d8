"""Every tool of a session, and the single gate that each call passes before a tool runs.

The chat and every generated project call tools through ``Tools``, which offers them, judges calls by policy and runs
them. It checks arguments, fences results, and fills the books (``books.py``) that the reply's report is built from.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from .books import Books
from .bound import STOPPED, Allowed, AnsweredErrors, BoundTool, findings_data, given_to, named_step, problems, refusal
from .consent import Consent, consent_in
from .interface import (
    JSON,
    CallKey,
    FollowsTurns,
    Guard,
    LoopError,
    MemoryTools,
    ToolDeclarationError,
    ToolOutcome,
    ToolSpec,
    Verdict,
)
from .reply import DEFAULTS, NO_HOST, AgentConfig, Deadline, Host
from .taint import BROUGHT, excerpt, fence, new_marker, parted
from .tasks import ENDED, TaskMemory
from .tiers import LINE, DecisionMade, working_lines

if TYPE_CHECKING:
    from .tasks import TaskMemory


NAME = "working_memory"
STATUS = ("open", "done", "dropped")
"""The possible statuses of a goal."""
ABOUT = (
    "Keep a long task in view. goals: {text: open, done or dropped}; "
    "decisions: {question: answer}; status: done or failed."
)
TEXTS, MAPPINGS = ("task", "step", "result", "next", "status"), ("goals", "decisions", "variables")
PROPERTIES: Mapping[str, JSON] = {
    **{name: {"type": "string"} for name in TEXTS},
    **{name: {"type": "object"} for name in MAPPINGS},
}


def working_memory_tool(tasks: TaskMemory | Tools) -> BoundTool:
    """Return the tool over the working memory of ``tasks``, or of the agent that owns a toolbox.

    The tool is idempotent.

    >>> working = WorkingMemory()
    >>> tool = working_memory_tool(TaskMemory(working))
    >>> print(tool.run({"task": "deliver the book", "goals": {"find the shop": "open"}}))
    task: deliver the book (started)
    goal: find the shop
    """

    def keep(args: Mapping[str, JSON]) -> str:
        own = tasks if isinstance(tasks, TaskMemory) else tasks.tasks
        if own is None:
            raise LoopError("No agent works here.")
        update(own, args)
        return "\n".join(working_lines(own.working))

    spec = ToolSpec(NAME, ABOUT, {"type": "object", "properties": dict(PROPERTIES)})
    return BoundTool(spec, keep, renamed=_with_open_goals, replayed=True)


def _with_open_goals(args: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """Return arguments with a list of goals, as many models write it, as goals with their status, or open."""
    goals = args.get("goals")
    told = [_goal(goal) for goal in goals] if isinstance(goals, list) else [None]
    return args if None in told else {**args, "goals": dict(filter(None, told))}


def _goal(told: JSON) -> tuple[str, JSON] | None:
    """Return the text and status of one goal in a list; None if it is unclear.

    >>> _goal("find the shop"), _goal({"goal": "find the shop", "status": "done"}), _goal({"a": "b", "c": "d"})
    (('find the shop', 'open'), ('find the shop', 'done'), None)
    """
    given = {"text": told} if isinstance(told, str) else dict(told) if isinstance(told, Mapping) else {}
    status = given.pop("status", "open")
    texts = [value for value in given.values() if isinstance(value, str)]
    return (texts[0], status) if len(texts) == 1 else None


def update(tasks: TaskMemory, args: Mapping[str, JSON]) -> None:
    """Write what a model says about its task into working memory.

    Raises:
        LoopError: No task is named and none is running, or a status is unknown.
    """
    working, task, end = tasks.working, _short(args.get("task")), args.get("status")
    goals = {_short(text): str(status) for text, status in (args.get("goals") or {}).items()}
    if wrong := next((status for status in goals.values() if status not in STATUS), None):
        raise LoopError(f"A goal must be {', '.join(STATUS)}, not {wrong!r:.40}.")
    if end and end not in ENDED:
        raise LoopError(f"A task ends as {' or '.join(ENDED)}, not {end!r:.40}.")
    is_over = working.task is None or tasks.episode is None or working.current_phase in ENDED
    if task and (task != working.task or is_over):
        tasks.start_task(task)
    elif is_over:
        raise LoopError("There is no current task. Name one: working_memory(task=…).")
    for text, status in goals.items():
        working.mark_goal(text, status)
    if step := _short(args.get("step")):
        result = _short(args.get("result"))
        if not any((done.action, done.result) == (step, result) for done in working.completed_steps):
            tasks.record_step(step, result)
    if "next" in args:
        working.pending_actions[:] = filter(None, [_short(args["next"])])
    for question, answer in (args.get("decisions") or {}).items():
        made = DecisionMade(_short(question), _short(answer))
        if made not in working.decisions:
            working.decide(made.question, made.answer)
    working.variables |= {_short(name): _short(value) for name, value in (args.get("variables") or {}).items()}
    if end:
        tasks.note_end(end == "done", _short(args.get("result")) or str(end))
    working.trim()
    tasks.on_change()


def _short(value: JSON) -> str:
    """Return a value on one line, truncated to the length that the prompt shows."""
    return excerpt(" ".join(str(value).split()), LINE) if value is not None else ""


RESULT_LIMIT = 8000
"""The most characters of a foreign tool's result that reach the model."""
ANSWERING = re.compile(
    r"^\s*((no|nope|nah)\s*[,.;:!–—-]+|(actually|in fact|well|oh|sorry|by the way)\b[\s,.;:!–—-]+)\s*(?=\S)",
    re.IGNORECASE,
)
"""Opening words that refer back to the previous turn and add nothing to the statement."""
NEXT_CLAUSE = re.compile(r",?\s+and\s+(?=(?:I|my|our|we)\b)", re.IGNORECASE)


class Tools:
    """Offer, judge and run the tools of a session; safe to call from several threads.

    >>> from memkit.runtime.memory.main import ArchivalStore, MainContext, MemoryTools
    >>> tools = Tools(MemoryTools(MainContext(), ArchivalStore()))
    >>> tools.begin_turn("My dog is called Rex", 1)
    >>> outcome = tools.call("archival_memory_insert", {"text": "My dog is called Rex"})
    >>> outcome.error, outcome.verdict.decision
    (False, 'allow')
    """

    def __init__(
        self,
        memory: MemoryTools,
        guard: Guard | None = None,
        *,
        config: AgentConfig = DEFAULTS,
        host: Host = NO_HOST,
        consent: Consent | None = None,
        marker: Callable[[], str] = new_marker,
    ) -> None:
        """Offer the tools of ``memory``; ``add`` adds others.

        Args:
            memory: The memory tools of one user and session.
            guard: Judges calls; without one every call may run.
            config: What the host says about its environment, for the policies.
            host: Asks a person when a policy requires it, and is told what happens.
            consent: Stores what the user says about being remembered.
            marker: Makes the marks of fences.
        """
        self.memory = memory
        self.guard = guard
        self.context = dict(config.context)
        self.host = host
        self.books = Books(memory, host.observe)
        self.hears_consent = True
        """Whether the user's statements about being remembered are stored."""
        self.tasks: TaskMemory | None = None
        """The task memory of the agent that owns this toolbox."""
        self.deadline = Deadline()
        """When the running turn must end, and with it the host's tools."""
        self._consent = consent
        self._marker = marker
        self._cleared: dict[str, list[str]] = {}
        self._asking = threading.Lock()
        self._tools: dict[str, BoundTool] = {}
        self.add(map(self._memory_tool, memory.specs()))

    # --- offering

    def add(self, tools: Iterable[BoundTool]) -> None:
        """Let the model call ``tools`` as well; raise ``ToolDeclarationError`` if a name is taken."""
        for tool in tools:
            if tool.spec.name in self._tools:
                raise ToolDeclarationError(f"Two tools are named {tool.spec.name!r}. Rename the declared one.")
            self._tools[tool.spec.name] = tool

    def specs(self) -> list[ToolSpec]:
        """Return every available tool as a model sees it."""
        return [tool.spec for tool in self._tools.values()]

    def may_repeat(self, name: str) -> bool:
        """Return whether a call of this tool with unknown outcome may simply be repeated."""
        tool = self._tools.get(name)
        return tool is None or tool.idempotent  # a missing tool does nothing

    def play_again(self, name: str, args: Mapping[str, JSON] | str) -> None:
        """Repeat a call's effect on the session that was lost with the process when its turn was cut off."""
        tool = self._tools.get(name)
        if tool is not None and tool.replayed:
            tool.run(self.given(name, args) or {})

    def begin_turn(self, user_text: str | None, turn_id: int | None, *, all_said: bool = False) -> None:
        """Open the books of a new turn and stamp the memory operations in it.

        Args:
            user_text: The user's message; None if nobody spoke.
            turn_id: The number of the turn.
            all_said: Whether the message counts as the user's own words whatever its length.
        """
        said, brought = (None, "") if user_text is None else parted(user_text, all_said=all_said)
        with self.books.serial, self.books.lock:
            self.books.open(said, turn_id, brought)
            guard: object = self.guard
            if isinstance(guard, FollowsTurns):
                guard.begin_turn()
            self._cleared.clear()
            answer = consent_in(said) if self.hears_consent else None
            if self._consent is not None and answer is not None and answer is not self._consent.granted():
                self._consent.record(answer)
                self.books.note({"op": "consent", "granted": answer})
            ledger = self.books.ledger
            tags = self.tasks.tags if self.tasks else ()
            self.memory.begin_turn(
                own_words(said), turn_id, taint=ledger.taint, parents=tuple(ledger.parents), task_tags=tags
            )
            in_core: Iterable[str] = getattr(self.memory, "core_taint", tuple)()
            self.books.taint((*in_core, *((BROUGHT,) if brought.strip() else ())))

    def acted(self) -> list[Mapping[str, JSON]]:
        """Return this turn's calls to tools that act outside of the session, with secrets masked."""
        outside = (call for call in self.books.ledger.calls if self._is_foreign(str(call["name"])))
        return [self.memory.masked(dict(call)) for call in outside]

    def _is_foreign(self, name: str) -> bool:
        return name in self._tools and self._tools[name].foreign

    # --- judging

    def judge(self, name: str, args: Mapping[str, JSON] | str) -> Verdict:
        """Return the policies' verdict on a call, and enter it into the books.

        A verdict that lets the call pass clears exactly one ``execute`` of the same call.
        """
        given = self.given(name, args) or {}
        with self.books.lock:
            context = {**self.context, "trust": self.books.ledger.trust}
            verdict: Verdict = self.guard.decide(name, given, context) if self.guard else Allowed()
            found = findings_data(verdict)
            self.books.judged(found)
            if verdict.decision not in STOPPED:
                self._clear(name, given, verdict.decision)
        self.books.tell("policy", tool=name, args=given, context=context, decision=verdict.decision, policies=found)
        return verdict

    def objection(self, name: str, args: Mapping[str, JSON] | str) -> str | None:
        """Return why a call may not run, for the model; or None, which clears exactly one ``execute`` of the same call.

        For an SDK with its own gate before each tool. If the policies require a person, one is asked, one call at a
        time. An unknown tool may run elsewhere; its results count as coming from outside.
        """
        verdict = self.judge(name, args)
        if self._is_stopped(name, args, verdict):
            return self._refuse(name, args, verdict)
        if name not in self._tools:
            self.books.taint((f"tool:{name}",))
        return None

    def objection_to_action(self, name: str, args: Mapping[str, JSON]) -> str | None:
        """Return why an action that is not a tool may not be done, or None; it is judged like a call."""
        verdict = self.judge(name, args)
        self._take(name, args)
        stopped = verdict.decision in STOPPED and not (verdict.decision == "ask" and self._agreed(name, args, verdict))
        return refusal(name, verdict) if stopped else None

    def foresee(self, name: str, args: Mapping[str, JSON] | str) -> Verdict:
        """Return the verdict on a call without making it; it taints the turn as its result would."""
        verdict = self.judge(name, args)
        self._take(name, args)
        tool = self._tools.get(name)
        if tool is None or (tool.foreign and tool.open_world):
            self.books.taint((f"tool:{name}",))
        return verdict

    def given(self, name: str, args: Mapping[str, JSON] | str) -> dict[str, JSON] | None:
        """Return a call's arguments as policies judge them and the tool receives them; None if they are no object."""
        return given_to(self._tools.get(name), args)

    def misfit(self, name: str, given: Mapping[str, JSON] | None) -> str | None:
        """Return why a call cannot run regardless of policy: there is no such tool, or its arguments do not fit."""
        tool = self._tools.get(name)
        if tool is None:
            import difflib  # for a word that nobody knows

            close = difflib.get_close_matches(name, self._tools, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            return f"There is no tool {name!r}; nothing was done.{hint} Tools: {', '.join(self._tools) or 'none'}."
        if given is None:
            return f"The arguments of {name} are not a JSON object. Send an object like {_sample(tool.spec)}."
        if tool.checked and (wrong := problems(tool.spec.parameters, given_to(tool, given) or {})):
            return f"{name} was not run: {'; '.join(wrong)}. Send an object like {_sample(tool.spec)}."
        return None

    def _is_stopped(self, name: str, args: Mapping[str, JSON] | str, verdict: Verdict) -> bool:
        return verdict.decision in STOPPED and not self._approved(name, args, verdict)

    def _refuse(self, name: str, args: Mapping[str, JSON] | str, verdict: Verdict) -> str:
        text = refusal(name, verdict, is_here=name in self._tools)
        given = self.given(name, args)
        self.books.called(name, args if given is None else given, text, error=True, decision=verdict.decision)
        return text

    def _approved(self, name: str, args: Mapping[str, JSON] | str, verdict: Verdict) -> bool:
        given = self.given(name, args) or {}
        if verdict.decision != "ask" or name not in self._tools:
            return False
        granted = self._agreed(name, given, verdict)
        if granted:
            with self.books.lock:
                self._clear(name, given, verdict.decision)
        return granted

    def _agreed(self, name: str, args: Mapping[str, JSON], verdict: Verdict) -> bool:
        """Ask a person, one call at a time; if there is nobody to ask, the answer is no."""
        if self.host.approve is None:
            return False
        with self._asking:
            return self.host.approve(name, args, verdict)

    def _clear(self, name: str, given: Mapping[str, JSON], decision: str) -> None:
        self._cleared.setdefault(_key(name, given), []).append(decision)

    def _take(self, name: str, args: Mapping[str, JSON] | str) -> str | None:
        """Return the decision that cleared a call, once for each time it was cleared."""
        with self.books.lock:
            waiting = self._cleared.get(_key(name, self.given(name, args) or {}))
            return waiting.pop(0) if waiting else None

    # --- running

    def call(
        self,
        name: str,
        args: Mapping[str, JSON] | str,
        *,
        key: CallKey | None = None,
        begin: Callable[[], None] = lambda: None,
    ) -> ToolOutcome:
        """Judge a call and run it if allowed; any error is reported in the outcome's text.

        Args:
            name: The tool.
            args: Its arguments.
            key: A repeated key means a repetition: what the call already wrote is found and not written again.
            begin: Called before an allowed call runs; an error in it is raised, and nothing is run.
        """
        verdict = self.judge(name, args)
        if self._is_stopped(name, args, verdict):
            return ToolOutcome(self._refuse(name, args, verdict), True, verdict)
        self._take(name, args)
        begin()
        text, error = self.carry_out(name, args, verdict.decision, key)
        return ToolOutcome(text, error, verdict)

    def execute(self, name: str, args: Mapping[str, JSON] | str) -> ToolOutcome:
        """Run a call that was judged before and return its outcome; one that was not is judged now."""
        decision = self._take(name, args)
        if decision is None:
            return self.call(name, args)
        text, error = self.carry_out(name, args, decision)
        return ToolOutcome(text, error, Allowed(decision))

    def carry_out(
        self, name: str, args: Mapping[str, JSON] | str, decision: str, key: CallKey | None = None
    ) -> tuple[str, bool]:
        """Run an allowed call and enter it; return its result, and whether that is an error.

        A subclass that wants to wrap every tool run overrides this method.
        """
        given = self.given(name, args)
        wrong = self.misfit(name, given)
        text, error = self._body(self._tools[name], given or {}, key) if wrong is None else (wrong, True)
        self.books.called(name, args if given is None else given, text, error=error, decision=decision)
        return text, error

    def _body(self, tool: BoundTool, given: Mapping[str, JSON], key: CallKey | None) -> tuple[str, bool]:
        text = ""
        with AnsweredErrors(everything=tool.foreign) as errors, named_step(key.name if key else None):
            if tool.serial:
                with self.books.serial, self.repeatable(key):
                    text = tool.run(given)
            else:
                text = tool.run(given)
        self.books.collect()
        if errors.message is not None:
            text = errors.message
        if tool.foreign:
            text = fence(excerpt(text, RESULT_LIMIT), tool.spec.name, self._marker())
            if tool.open_world:
                self.books.taint((f"tool:{tool.spec.name}", *source_of(given, text)))
        return (f"Error: {text}", True) if errors.message is not None else (text, False)

    def repeatable(self, key: CallKey | None) -> AbstractContextManager[None]:
        """Let the memory tools write under a key, if they support it."""
        under: Callable[[CallKey], AbstractContextManager[None]] | None = getattr(self.memory, "under_key", None)
        return nullcontext() if under is None or key is None else under(key)

    def _memory_tool(self, data: Mapping[str, JSON]) -> BoundTool:
        name = str(data["name"])
        spec = ToolSpec(name, str(data["description"]), data["parameters"])
        renamed: Callable[[str, Mapping[str, JSON]], Mapping[str, JSON]] | None = getattr(
            self.memory, "own_names", None
        )
        names = dict if renamed is None else partial(renamed, name)
        return BoundTool(spec, partial(self.memory.call, name), checked=False, renamed=names)


WEB = re.compile(r"https?://[^\s<>\"'`\\]{1,500}[^\s<>\"'`\\.,;:!?)\]}]")


def source_of(args: Mapping[str, JSON], text: str) -> list[str]:
    """Return the address that a tool's result came from: the requested one, or the only one it names.

    >>> source_of({"url": "https://example.org/a"}, "See https://example.net."), source_of({}, "See https://a.example.")
    (['https://example.org/a'], ['https://a.example'])
    """
    asked = [str(value) for value in args.values() if isinstance(value, str) and WEB.fullmatch(value)]
    named = list(dict.fromkeys(asked or WEB.findall(text)))
    return named if len(named) == 1 else []


def own_words(text: str | None) -> str | None:
    """Return the user's words as self-contained statements.

    An opening "no," or "actually" refers to the previous turn; a clause after "and I" or "and my" starts anew.

    >>> own_words("No, my dog is called Max"), own_words("No dogs, please")
    ('my dog is called Max', 'No dogs, please')
    """
    return None if text is None else NEXT_CLAUSE.sub(", ", ANSWERING.sub("", text))


def _key(name: str, args: Mapping[str, JSON]) -> str:
    return f"{name} {json.dumps(args, sort_keys=True, default=str)}"


def _sample(spec: ToolSpec) -> str:
    properties = spec.parameters.get("properties") or {}
    return json.dumps({name: rule.get("type", "any") for name, rule in properties.items()})
