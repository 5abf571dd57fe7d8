"""Every tool of a turn, and the one gate before a tool runs.

The chat and every generated project call tools through a ``Toolbox``: it judges by policy, checks arguments, runs the
body, fences what comes back, and keeps the books from which the reply's report is made.
"""

from __future__ import annotations

import difflib
import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from .asking import Deadline
from .books import RecentIds, TurnLedger, ids_of, lowest_trust, named_ids, page_fault, trust_lookup
from .bound import (
    STOPPED,
    Allowed,
    AnsweredErrors,
    BoundTool,
    findings_data,
    named_step,
    problems,
    read_arguments,
    refusal,
    run_declared,
)
from .consent import Consent, Retire, consent_in, retraction_tool
from .errors import ToolDeclarationError
from .fencing import excerpt, fence, new_marker
from .interface import (
    JSON,
    Approval,
    CallKey,
    DeclaredTool,
    FollowsTurns,
    Guard,
    MemoryTools,
    ToolOutcome,
    ToolSpec,
    Verdict,
)
from .plan_run import PlanningTools
from .planner import Proposals
from .procedures import Procedures, skill_tools

RESULT_LIMIT = 8000
"""Characters of a foreign tool's result that reach the model."""
ANSWERING = re.compile(
    r"^\s*((no|nope|nah)\s*[,.;:!–—-]+|(actually|in fact|well|oh|sorry|by the way)\b[\s,.;:!–—-]+)\s*(?=\S)",
    re.IGNORECASE,
)
"""Opening words that tie a message to the turn before and change nothing in what it states."""
NEXT_CLAUSE = re.compile(r",?\s+and\s+(?=(?:I|my|our|we)\b)", re.IGNORECASE)
REPORT_LIMIT = 2000
"""Characters of a result that a report keeps."""


class Toolbox:
    """Judge, run and record the tools of a session; safe to call from several threads."""

    def __init__(
        self,
        memory: MemoryTools,
        guard: Guard | None = None,
        *,
        planner: object | None = None,
        proposals: Proposals | None = None,
        searcher: Callable[..., object] | None = None,
        tools: Sequence[DeclaredTool] = (),
        context: Mapping[str, JSON] | None = None,
        root: Path | str = ".",
        approve: Approval | None = None,
        consent: Consent | None = None,
        retire: Retire | None = None,
        procedures: Procedures | None = None,
        observe: Callable[[dict[str, JSON]], None] | None = None,
        marker: Callable[[], str] = new_marker,
    ) -> None:
        self.memory = memory
        self.guard = guard
        self.context = dict(context or {})
        self.ledger = TurnLedger()
        self.known_ids = RecentIds()
        self.turn_id: int | None = None
        self.user_text: str | None = None
        self.hears_consent = True
        """Whether what the user says about being remembered is taken down."""
        self.deadline = Deadline()
        """When the running turn has to end, and with it the tools of the host."""
        self.meter: Callable[[], dict[str, JSON]] | None = None
        """Says what the prompt takes; without it, what the main context takes."""
        self.on_note: Callable[[Mapping[str, JSON]], None] | None = None
        """Told of every memory operation that comes into the books."""
        self._approve = approve
        self._consent = consent
        self._observe = observe
        self._root = Path(root)
        self._marker = marker
        self._trust_of = trust_lookup(getattr(memory, "archive", None), getattr(memory, "user_id", "local"))
        self._cleared: dict[str, list[str]] = {}
        self._books = threading.RLock()
        self._serial = threading.RLock()
        self._asking = threading.Lock()
        self._tools: dict[str, BoundTool] = {}
        planning = PlanningTools(planner, proposals, searcher, self._keep_plan)
        reading = skill_tools(procedures) if procedures is not None else []
        for tool in [*self._memory_tools(retire), *planning.tools(), *reading, *map(self._declared, tools)]:
            self._add(tool)

    # --- what a model sees

    def specs(self) -> list[ToolSpec]:
        """Return every tool that can run, as a model sees it."""
        return [tool.spec for tool in self._tools.values()]

    def may_repeat(self, name: str) -> bool:
        """Return whether a call of this tool whose outcome nobody knows may simply be made again."""
        tool = self._tools.get(name)
        return tool is None or tool.idempotent  # what does not exist does nothing

    def begin_turn(self, user_text: str | None, turn_id: int | None) -> None:
        """Open the books of a new turn and stamp what the memory tools do in it."""
        with self._serial, self._books:
            self._collect()
            _tell_turn(self.guard)
            self.ledger = TurnLedger()
            self.turn_id, self.user_text = turn_id, user_text
            self._cleared.clear()
            answer = consent_in(user_text) if self.hears_consent else None
            if self._consent is not None and answer is not None and answer is not self._consent.granted():
                self._consent.record(answer)
                self.note({"op": "consent", "granted": answer})
            self.memory.begin_turn(own_words(user_text), turn_id)

    # --- the gate

    def judge(self, name: str, args: Mapping[str, JSON] | str) -> Verdict:
        """Return what the policies say about a call, and record it.

        A verdict that lets the call pass clears exactly one ``execute`` of the same call.
        """
        given = read_arguments(args) or {}
        with self._books:
            context = {**self.context, "trust": self.ledger.trust}
            verdict: Verdict = self.guard.decide(name, given, context) if self.guard else Allowed()
            for entry in findings_data(verdict):
                if entry not in self.ledger.policy:
                    self.ledger.policy.append(entry)
            if verdict.decision not in STOPPED:
                self._clear(name, given, verdict.decision)
        found = findings_data(verdict)
        self._tell("policy", tool=name, args=given, context=context, decision=verdict.decision, policies=found)
        return verdict

    def objection(self, name: str, args: Mapping[str, JSON] | str) -> str | None:
        """Return why a call may not run, for the model, or None, which clears exactly one ``execute`` of the same call.

        For an SDK with a gate of its own before a tool. Where the policies want a person, one is asked, about one call
        at a time.
        """
        verdict = self.judge(name, args)
        return self._refuse(name, args, verdict) if self._is_stopped(name, args, verdict) else None

    def objection_to_action(self, name: str, args: Mapping[str, JSON]) -> str | None:
        """Return why something that is no tool of this box may not be done, or None; it is judged as a call is."""
        verdict = self.judge(name, args)
        self._take(name, args)
        stopped = verdict.decision in STOPPED and not (verdict.decision == "ask" and self._agreed(name, args, verdict))
        return refusal(name, verdict) if stopped else None

    def _is_stopped(self, name: str, args: Mapping[str, JSON] | str, verdict: Verdict) -> bool:
        return verdict.decision in STOPPED and not self._approved(name, args, verdict)

    def _refuse(self, name: str, args: Mapping[str, JSON] | str, verdict: Verdict) -> str:
        text = refusal(name, verdict)
        self._record(name, args, text, error=True, decision=verdict.decision)
        return text

    # --- running

    def call(
        self,
        name: str,
        args: Mapping[str, JSON] | str,
        *,
        key: CallKey | None = None,
        begin: Callable[[], None] = lambda: None,
    ) -> ToolOutcome:
        """Judge a call and, if it may, run it; whatever goes wrong is told in the outcome's text.

        Args:
            name: The tool.
            args: Its arguments.
            key: The same once more means a repetition: what the call wrote before is found and not written again.
            begin: Called when the call may run, before it does; an error in it is raised, and nothing is run.
        """
        verdict = self.judge(name, args)
        if self._is_stopped(name, args, verdict):
            return ToolOutcome(self._refuse(name, args, verdict), True, verdict)
        self._take(name, args)
        begin()
        text, error = self.carry_out(name, args, verdict.decision, key)
        return ToolOutcome(text, error, verdict)

    def take_over(self, books: Mapping[str, JSON]) -> None:
        """Take into the books what a call brought there before its turn was cut off."""
        with self._books:
            self.ledger.take_over(books)
        for operation in books["operations"]:
            self._admit(operation)
        self.memory.note_recalled([record_id for operation in books["operations"] for record_id in ids_of(operation)])

    def execute(self, name: str, args: Mapping[str, JSON] | str) -> str:
        """Run a call that was judged before; one that was not is judged now."""
        return self.perform(name, args).text

    def perform(self, name: str, args: Mapping[str, JSON] | str) -> ToolOutcome:
        """Run a call that was judged before and say what became of it; one that was not is judged now."""
        decision = self._take(name, args)
        if decision is None:
            return self.call(name, args)
        text, error = self.carry_out(name, args, decision)
        return ToolOutcome(text, error, Allowed(decision))

    def foresee(self, name: str, args: Mapping[str, JSON] | str) -> Verdict:
        """Return the verdict on a call that is not made; trust falls as its result would let it fall."""
        verdict = self.judge(name, args)
        self._take(name, args)
        tool = self._tools.get(name)
        if tool is not None and tool.foreign:
            self.lower_trust("candidate" if tool.open_world else "verified")
        return verdict

    def _clear(self, name: str, given: Mapping[str, JSON], decision: str) -> None:
        self._cleared.setdefault(_key(name, given), []).append(decision)

    def _take(self, name: str, args: Mapping[str, JSON] | str) -> str | None:
        """Return the decision that clears a call to run, once for each time it was cleared."""
        with self._books:
            waiting = self._cleared.get(_key(name, read_arguments(args) or {}))
            return waiting.pop(0) if waiting else None

    def _approved(self, name: str, args: Mapping[str, JSON] | str, verdict: Verdict) -> bool:
        given = read_arguments(args) or {}
        if verdict.decision != "ask" or name not in self._tools:
            return False
        granted = self._agreed(name, given, verdict)
        if granted:
            with self._books:
                self._clear(name, given, verdict.decision)
        return granted

    def _agreed(self, name: str, args: Mapping[str, JSON], verdict: Verdict) -> bool:
        """Ask a person, one call at a time; without anybody to ask the answer is no."""
        if self._approve is None:
            return False
        with self._asking:
            return self._approve(name, args, verdict)

    def carry_out(
        self, name: str, args: Mapping[str, JSON] | str, decision: str, key: CallKey | None = None
    ) -> tuple[str, bool]:
        """Run a call that may run, and record it; return what came of it, and whether that is an error.

        Whatever is to happen around every body that runs belongs into a subclass's version of this method.
        """
        text, error = self._answer(name, read_arguments(args), key)
        self._record(name, args, text, error=error, decision=decision)
        return text, error

    def _answer(self, name: str, given: dict[str, JSON] | None, key: CallKey | None) -> tuple[str, bool]:
        wrong = self.misfit(name, given)
        return self._body(self._tools[name], given or {}, key) if wrong is None else (wrong, True)

    def misfit(self, name: str, given: Mapping[str, JSON] | None) -> str | None:
        """Return why a call cannot run whatever the policies say: no such tool, or arguments that do not fit it."""
        tool = self._tools.get(name)
        if tool is None:
            return self._no_such_tool(name)
        if given is None:
            return f"The arguments of {name} are no JSON object. Send an object like {_sample(tool.spec)}."
        if tool.checked and (wrong := problems(tool.spec.parameters, given)):
            return f"{name} was not run: {'; '.join(wrong)}. Send an object like {_sample(tool.spec)}."
        return None

    def _body(self, tool: BoundTool, given: Mapping[str, JSON], key: CallKey | None) -> tuple[str, bool]:
        text = ""
        with AnsweredErrors(everything=tool.foreign) as errors, named_step(key.name if key else None):
            if tool.serial:
                with self._serial, self._repeatable(key):
                    text = tool.run(given)
            else:
                text = tool.run(given)
        self._collect()
        if errors.message is not None:
            text = errors.message
        if tool.foreign:
            text = fence(excerpt(text, RESULT_LIMIT), tool.spec.name, self._marker())
            self.lower_trust("candidate" if tool.open_world else "verified")
        return (f"Error: {text}", True) if errors.message is not None else (text, False)

    def _repeatable(self, key: CallKey | None) -> AbstractContextManager[None]:
        """Let the memory tools write under a key, where they can."""
        under: Callable[[CallKey], AbstractContextManager[None]] | None = getattr(self.memory, "under_key", None)
        return nullcontext() if under is None or key is None else under(key)

    def _no_such_tool(self, name: str) -> str:
        close = difflib.get_close_matches(name, self._tools, n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        return f"There is no tool {name!r}; nothing was done.{hint} Tools: {', '.join(self._tools) or 'none'}."

    # --- the books

    def report(self, message: str) -> dict[str, JSON]:
        """Return the data of a turn: the reply, what it cites, and everything that happened."""
        self._collect()
        main = self.memory.main
        used = self.meter() if self.meter is not None else usage_of(main.usage(), main.max_tokens)
        citations = self.citations(message)
        if citations:
            self._tell("cited", ids=citations)
        with self._books:
            return {
                "message": message,
                "citations": citations,
                "tool_calls": [self.memory.masked(dict(call)) for call in self.ledger.calls],
                "memory_operations": [dict(operation) for operation in self.ledger.operations],
                "policy": [dict(entry) for entry in self.ledger.policy],
                "plan": self.ledger.plan,
                "context_usage": used,
                "session": getattr(self.memory, "session_id", None),
            }

    def citations(self, message: str) -> list[str]:
        """Return the ids that ``message`` names in brackets and that this session retrieved or wrote."""
        return named_ids(message, self.known_ids)

    def receipts(self, message: str) -> str:
        """Return ``message`` with a line for every write and refused write of the turn that it does not mention."""
        self._collect()
        lines = [line for line in map(_receipt, self.ledger.operations) if line and line[0] not in message]
        unique = dict.fromkeys(text for _, text in lines)
        return "\n".join([message, *unique]) if unique else message

    def note(self, operation: Mapping[str, JSON]) -> None:
        """Add a memory operation that the host did itself to the books of the turn."""
        with self._books:
            self.ledger.operations.append(dict(operation))
            self._admit(operation)

    def _admit(self, operation: Mapping[str, JSON]) -> None:
        self.known_ids.update(ids_of(operation))
        if self.on_note is not None:
            self.on_note(operation)

    def recalled(self, operation: Mapping[str, JSON]) -> None:
        """Tell of a recall that the host did itself; one that found something belongs into the books of the turn."""
        if ids := ids_of(operation):
            self.note(operation)
            self.memory.note_recalled(ids)
        self._tell_recall(operation)

    def recall_skipped(self, reason: str) -> None:
        """Note and tell that nothing was looked up for this turn, and why."""
        self.note({"op": "recall_skipped", "reason": reason})
        self._tell("recall_skipped", reason=reason)

    def lower_trust(self, value: str) -> None:
        """Note that text of trust ``value`` entered the prompt in this turn."""
        with self._books:
            self.ledger.lower_trust(value)

    def _keep_plan(self, plan: dict[str, JSON]) -> None:
        """Keep what came of planning, and tell which way was chosen."""
        with self._books:
            self.ledger.plan = plan
        self._tell("plan", choice=plan["choice"], outcome=plan["outcome"])

    def _record(self, name: str, args: Mapping[str, JSON] | str, text: str, *, error: bool, decision: str) -> None:
        given = read_arguments(args)
        with self._books:
            entry = {"name": name, "args": str(args) if given is None else given, "decision": decision, "error": error}
            self.ledger.calls.append({**entry, "result": excerpt(text, REPORT_LIMIT)})

    def _collect(self) -> None:
        """Move what the memory tools did into the books; what was retrieved may lower the trust of the turn."""
        with self._serial, self._books:
            drained = list(self.memory.events)
            self.memory.events.clear()
            for event in drained:
                lost, left_out = event.pop("lost", ()), event.pop("left_out", ())
                event |= page_fault(event, self.memory.main, self.user_text, self.ledger.operations)
                self.note(event)
                self.lower_trust(self._trust(event))
                if "query" in event:  # the archive tells of writes itself
                    self._tell_recall(event, lost, left_out)

    def _tell_recall(
        self, operation: Mapping[str, JSON], lost: Sequence[JSON] = (), left_out: Sequence[str] = ()
    ) -> None:
        """Tell what a search found, what lost in it, and what of it entered the prompt."""
        shown = ids_of(operation)
        fault = {key: operation[key] for key in ("missed", "paged_in") if key in operation}
        self._tell("retrieved", ids=[*shown, *left_out], query=operation["query"], candidates=list(lost), **fault)
        crowded_out = [{"id": record_id, "reason": "budget"} for record_id in left_out]
        self._tell("injected", ids=shown, query=operation["query"], candidates=crowded_out)

    def _tell(self, event: str, **values: JSON) -> None:
        """Tell whoever keeps an account of what happens."""
        if self._observe is not None:
            self._observe({"event": event, "turn_id": self.turn_id, **values})

    def _trust(self, event: Mapping[str, JSON]) -> str:
        """Return how far what this memory operation brought into the prompt may be trusted."""
        if event.get("op") == "conversation_search":
            # Turns hold what tools returned and what models said, not only the user's words.
            return "candidate" if event.get("found") else "verified"
        return lowest_trust(map(self._trust_of, event.get("ids") or ()))

    # --- binding

    def _add(self, tool: BoundTool) -> None:
        if tool.spec.name in self._tools:
            raise ToolDeclarationError(f"Two tools are called {tool.spec.name!r}. Rename the declared one.")
        self._tools[tool.spec.name] = tool

    def _memory_tools(self, retire: Retire | None) -> Iterable[BoundTool]:
        if retire is not None:
            yield retraction_tool(retire, lambda: self.user_text, self.known_ids.__contains__, self.note)
        for data in self.memory.specs():
            name = str(data["name"])
            spec = ToolSpec(name, str(data["description"]), data["parameters"])
            yield BoundTool(spec, self._memory_call(name), checked=False)

    def _memory_call(self, name: str) -> Callable[[Mapping[str, JSON]], str]:
        return lambda args: self.memory.call(name, args)

    def _declared(self, tool: DeclaredTool) -> BoundTool:
        spec = ToolSpec(tool.name, tool.description, tool.parameters)

        def run(args: Mapping[str, JSON]) -> str:
            return run_declared(tool, args, self._root, self.deadline.left)

        return BoundTool(spec, run, foreign=True, open_world=tool.open_world, serial=False, idempotent=tool.idempotent)


def usage_of(tiers: Mapping[str, int], budget: int) -> dict[str, JSON]:
    """Return how many tokens of a budget are used, and in which tiers."""
    return {"used": sum(tiers.values()), "budget": budget, "tiers": dict(tiers)}


def own_words(text: str | None) -> str | None:
    """Return the user's words as statements that stand for themselves.

    An opening "no," or "actually" belongs to the turn before; a clause after "and I" or "and my" begins anew.

    >>> own_words("No, my dog is called Max"), own_words("No dogs, please")
    ('my dog is called Max', 'No dogs, please')
    """
    return None if text is None else NEXT_CLAUSE.sub(", ", ANSWERING.sub("", text))


def _key(name: str, args: Mapping[str, JSON]) -> str:
    return f"{name} {json.dumps(args, sort_keys=True, default=str)}"


def _sample(spec: ToolSpec) -> str:
    properties = spec.parameters.get("properties") or {}
    return json.dumps({name: rule.get("type", "any") for name, rule in properties.items()})


def _receipt(operation: Mapping[str, JSON]) -> tuple[str, str] | None:
    decision, record_id = operation.get("decision"), str(operation.get("id") or "")
    if "section" in operation and decision == "admitted":
        return operation["section"], f"(core memory changed: {operation['section']})"
    if decision in {"admitted", "merged"}:
        return record_id, f"(stored: {record_id})" if decision == "admitted" else f"(already known: {record_id})"
    if decision == "quarantined":
        return record_id, f"(set aside until a person approves it: {record_id})"
    if decision == "refused":
        reasons = [f"{reason.get('code')}: {reason.get('message')}" for reason in operation.get("reasons") or ()]
        code = (operation.get("reasons") or [{"code": "refused"}])[0]["code"]
        return f"({code})", f"(not stored; {'; '.join(reasons) or 'refused'})"
    return None


def _tell_turn(guard: object) -> None:
    if isinstance(guard, FollowsTurns):
        guard.begin_turn()
