"""One turn of an agent: intent, recall, plan or act under policy, evaluate the outcome, memory operations.

``AgentLoop.turn`` is the whole of it. Every step is a method; subclass ``AgentLoop`` and override one to change what it
does. What a step works with has a file of its own: the prompt (``model_view``), requests to the model (``asking``), its
calls (``calls``), tools, policies and books (``toolbox``), plans (``plan_run``) and tasks (``tasks``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from .asking import TOO_LATE, TOO_MANY, Asking, CallRun, Deadline, cut_short, model_of
from .chores import Chores
from .errors import LoopError
from .events import Announcements, Listener
from .fencing import check_words, fence, new_marker
from .interface import JSON, Completion, Message, NoJournal, Settle, ToolCall, ToolOutcome, ToolSpec, TurnJournal
from .journal import JournalledCalls, OpenTurn
from .model_view import CONSTRAINTS, ModelView
from .plan_run import PlanRun, run_plan
from .planner import Evaluator, HybridPlanner
from .prompt import Persona, as_persona, data_message
from .reply import IDLE, AgentResponse, Intent, Reply, read_intent, remark_on, response_of
from .session_context import SessionTools
from .tasks import Learn, Remember, TaskMemory
from .tiers import WorkingMemory, working_lines
from .tools import Toolbox
from .virtual_context import INSTRUCTION, Block, VirtualContextMemory, ranked
from .without_model import answer_from_memory

HEARTBEAT = "No user is waiting. Finish open work with your tools, or answer with nothing."
FAILED_BEFORE = "warning: this failed before"
SESSION_START = "(session start)"
"""What stands for the question where nobody asked."""
NO_ANSWER = "(The model gave no answer. Say it in other words, or try again.)"


class AgentLoop:
    """Run turns over a memory, a planner, a toolbox and a model that are handed in."""

    def __init__(
        self,
        memory: VirtualContextMemory | None = None,
        planner: HybridPlanner | None = None,
        *,
        model: Any = None,
        toolbox: Toolbox | None = None,
        persona: Persona | None = None,
        working: WorkingMemory | None = None,
        remember: Remember | None = None,
        learn: Learn | None = None,
        max_tool_calls: int = 8,
        max_seconds: float | None = None,
        listen: Listener | None = None,
        journal: TurnJournal | None = None,
        settle: Settle | None = None,
        chores: Chores | None = None,
    ) -> None:
        self.memory = memory if memory is not None else VirtualContextMemory()
        self.planner = planner
        self.model = model_of(model)
        self.toolbox = toolbox if toolbox is not None else Toolbox(SessionTools(self.memory), planner=planner)
        self.persona = as_persona(persona)
        self.working = working or WorkingMemory()
        self.tasks = TaskMemory(self.working, remember, learn)
        self.max_tool_calls = max_tool_calls
        self.max_seconds = max_seconds
        self.told = Announcements(listen)
        self.journal = journal or NoJournal()
        self.settle = settle
        self.chores = chores
        self.view = ModelView(self, self._asks)
        self.toolbox.on_note = self.told.tell_operation
        self.toolbox.meter = self.context_usage
        self.turn_id = 0
        self.spent: dict[str, int] = {"input": 0, "output": 0, "requests": 0}
        """What the model cost in all turns, also in those that failed."""
        self._silent_turns = 0
        """Those in which no user spoke."""
        self._user_text: str | None = None
        self._pending: list[str] = []
        """What the chores of this heartbeat found that somebody has to act on."""
        self._deadline = Deadline()
        self._asking: Asking | None = None

    # --- the turn, and its steps in order

    def turn(self, intent: Intent) -> AgentResponse:
        """Go through the steps; whoever listens hears of the end also where one of them fails."""
        self.told.tell("turn_opened", turn=self.turn_id, text=self._user_text, intent=intent.kind)
        try:
            self.view.recalled = self.recall_for(intent)
            reply = self.act(intent)
            outcome = self.evaluate(reply)
            response = self.remember(outcome)
            self.journal.closed()
        except Exception as error:
            self.told.tell("turn_closed", error=str(error))
            raise
        self.told.tell("turn_closed", **{key: response.data[key] for key in ("message", "citations", "ended")})
        self.told.end_turn()
        return response

    def intend(self, text: str | None) -> Intent:
        """Decide what the user's words are, and whether to recall anything for them."""
        return read_intent(text)

    def recall_for(self, intent: Intent) -> str:
        """Return, fenced, the constraints that hold for this turn and what failed before in one like it."""
        opening = self.open_session() if self._is_first_of_user() else ""
        if not intent.recall:
            self.toolbox.recall_skipped(intent.kind)
            return opening
        found = {
            CONSTRAINTS: self.memory.constraints(intent.query),
            FAILED_BEFORE: self.memory.warnings(intent.query),
        }
        blocks = [Block(name, tuple(items)) for name, items in found.items() if items]
        return "\n".join(filter(None, [opening, self.view.show(blocks, intent.query)]))

    def act(self, intent: Intent) -> Reply:
        """Let the model call tools until it answers; without a model, answer from memory alone."""
        if intent.kind == IDLE:
            return Reply("")
        if self.model is None:
            return Reply(answer_from_memory(self.memory, self.toolbox, intent.query))
        calls = 0
        try:
            while calls < self.max_tool_calls:
                self._deadline.check()
                completion = self.ask(self.toolbox.specs())
                if not completion.tool_calls:
                    return Reply(completion.text, calls)
                calls = self._run_calls(completion, calls)
            self._deadline.check()
            closing = self.ask(())
        except (Exception, KeyboardInterrupt) as stop:
            reply = cut_short(stop, self._heard, calls, self._deadline)
            if reply is None:
                raise
            return reply
        return Reply("" if closing.tool_calls else closing.text, self.max_tool_calls, limited=True)

    def evaluate(self, reply: Reply) -> Reply:
        """Say what the model did not: that it gave no answer, or that the turn ended at its bound or its user."""
        remark = remark_on(reply, self.max_seconds)
        if not reply.text.strip() and not remark:
            remark = "\n".join(self._pending) if self._user_text is None else NO_ANSWER
        return replace(reply, text=f"{reply.text.strip()}\n{remark}".strip())

    def remember(self, reply: Reply) -> AgentResponse:
        """Keep the reply in the session and return it with the report of the turn."""
        citations = self.toolbox.citations(reply.text)
        self.tasks.use(citations)
        message = self.toolbox.receipts(reply.text)
        if message:
            self._add({"role": "assistant", "content": message})
        report = {**self.toolbox.report(message), "citations": citations, "ended": reply.ended}
        if self._asking is not None:
            report |= {"usage": self._asking.usage, "session_usage": dict(self.spent)}
        return response_of(report)

    # --- what the steps do, each to be overridden as well

    def open_session(self) -> str:
        """Return, fenced, what a session's first turn is offered unasked: open goals, and what matters most."""
        blocks = self.memory.opening()
        return self.view.show(blocks, SESSION_START) if blocks else ""

    def prompt(self) -> list[Message]:
        """Return what the model sees: the system message, the conversation, recalled data before the last words.

        Raises:
            PromptTooLarge: What every prompt needs is more than the main context's ``max_tokens``.
        """
        return self.view.messages()

    def ask(self, tools: Sequence[ToolSpec]) -> Completion:
        """Return what the model answers to the prompt, with these tools to call."""
        assert self._asking is not None
        recorded = self.journal.recorded_answer()
        if recorded is not None:
            return self._asking.repeat(recorded)
        completion = self._asking.ask(self.prompt(), self.view.specs(tools))
        self.journal.answered(completion)
        return completion

    def run_call(self, call: ToolCall, begin: Callable[[], None]) -> ToolOutcome:
        """Judge one call of the model and, if it may, run it; ``begin`` is called before anything is done."""
        return self.toolbox.call(call.name, call.args, key=self.journal.key_of(call.id), begin=begin)

    def _run_calls(self, completion: Completion, made: int) -> int:
        """Run the calls of one completion, put them and their results into the conversation, and return the number."""
        run = CallRun(completion, made)
        run.run(self.run_call, self._barred, JournalledCalls(self.journal, self.toolbox, self.settle), self.told)
        for message in run.messages:
            self._add(message)
        if run.interrupted:
            raise KeyboardInterrupt
        return run.made

    def _barred(self, made: int) -> str | None:
        """Return why no further call may run in this turn, or None."""
        if made >= self.max_tool_calls:
            return TOO_MANY
        return TOO_LATE if self._deadline.has_passed else None

    # --- who opens a turn

    def observe(self, text: str) -> None:
        """Open a turn with the user's words."""
        check_words(text, "what the user says")
        self._open_turn(text)
        self.journal.opened(self.turn_id, text, by_user=True)  # before older messages give way, which may take long
        self._add({"role": "user", "content": text})

    def respond(self, text: str | None = None) -> AgentResponse:
        """Answer ``text``, or what was observed last."""
        if text is not None:
            self.observe(text)
        elif self._user_text is None:
            raise LoopError("There is nothing to respond to. Call observe(text) before, or respond(text).")
        return self.turn(self.intend(self._user_text))

    def heartbeat(self) -> AgentResponse:
        """Act without user input: do the chores that are due, then let the model act, where anything is pending.

        Bounded like any turn. A loop that was handed no chores leaves it to the model whether there is anything to do.
        """
        self._open_turn(None)
        self.journal.opened(self.turn_id, None, by_user=True)
        if self.chores is not None:
            self._pending = self.chores.run(self.toolbox.note, self._deadline)
            if not self._pending:
                return self.turn(Intent(IDLE, recall=False))
        self._add({"role": "user", "name": "heartbeat", "content": HEARTBEAT})
        if self._pending:
            self.inject_observation("\n".join(self._pending), source="chores")
        return self.turn(self.intend(None))

    def carry_out(self, instruction: str) -> AgentResponse:
        """Do what the host program asks for, such as one step of a skill.

        The words are not the user's: they agree to nothing and are not kept as said. No user's turn lies between one
        instruction and the next, so trust that fell stays fallen.
        """
        trust = self.toolbox.ledger.trust
        self._open_turn(None)
        self.toolbox.lower_trust(trust)
        self.journal.opened(self.turn_id, instruction, by_user=False)
        self._add({"role": "user", "name": INSTRUCTION, "content": instruction})
        return self.turn(self.intend(instruction))

    def resume(self, turn: OpenTurn) -> AgentResponse:
        """Go on with a turn that was cut off: what its journal records is played again, and only the rest is done."""
        self.turn_id = turn.turn_id - 1
        if turn.text is None:
            return self.heartbeat()
        return self.respond(turn.text) if turn.by_user else self.carry_out(turn.text)

    def inject_observation(self, text: str, source: str = "environment") -> None:
        """Add what a tool or the surroundings report to the prompt, as data that is not trusted."""
        check_words(text, "an observation")
        self.toolbox.lower_trust("candidate")
        self._add(data_message(fence(text, source, new_marker())))

    def interrupt(self) -> None:
        """End the running turn as soon as that leaves the session whole; may be called from any thread."""
        self._deadline.interrupt()

    def _open_turn(self, text: str | None) -> None:
        self.view.open(text)
        self.turn_id += 1
        self._silent_turns += text is None
        self._user_text = text
        self._pending = []
        self._deadline = self.toolbox.deadline = Deadline(self.max_seconds)
        if self.model is not None:
            self._asking = Asking(self.model, self.turn_id, self.told, self._deadline, self.spent)
        self.told.begin_turn()
        self.toolbox.begin_turn(text, self.turn_id)

    # --- what else a host calls

    def recall(self, query: str, k: int = 5) -> list[Block]:
        """Return what every tier knows about ``query``, one labelled block per tier."""
        at_hand = ranked(query, "working", working_lines(self.working))[:k]
        return [*self.memory.recall(query, k), *([Block("working", tuple(at_hand))] if at_hand else [])]

    def context_usage(self) -> dict[str, JSON]:
        """Return how many tokens the prompt takes, of how many, and in which tiers; ``used`` is their sum."""
        return self.view.usage()

    def execute_plan(self, task: Any, state: Any = None, *, evaluator: Evaluator | None = None, **more: Any) -> PlanRun:
        """Choose how to do ``task`` and do it, step by step under policy, planning anew where a step fails.

        ``more`` goes to the planner's executor, such as ``observe``, ``journal`` and ``max_replans``. A task that names
        an evaluator is evolved.
        """
        return run_plan(self.planner, self.toolbox, self.working, task, state, evaluator=evaluator, **more)

    def start_task(self, task: str) -> None:
        """Begin a task; its steps stand in the prompt from now on."""
        self.tasks.start_task(task)

    def record_step(self, action: str, result: str = "", *, succeeded: bool = True, used: Sequence[str] = ()) -> None:
        """Record a step of the running task, so that it is not done again, and the ids of the records it relied on."""
        self.tasks.record_step(action, result, succeeded=succeeded, used=used)

    def end_task(self, success: bool, outcome: str) -> str | None:
        """End the task and return the id of the outcome record, written through the gate of long-term memory.

        The records that its replies cited or its steps named gain confidence by a success and lose it by a failure.
        """
        return self.tasks.end_task(success, outcome)

    # --- what the steps ask of the loop itself

    def _add(self, message: Message) -> None:
        self.view.add(message)

    def _asks(self) -> bool:
        """Return whether a model is asked: a subclass that acts otherwise has one of its own."""
        return self.model is not None or type(self).act is not AgentLoop.act

    def _is_first_of_user(self) -> bool:
        return self._user_text is not None and self.turn_id - self._silent_turns == 1

    @property
    def _heard(self) -> str:
        return "" if self._asking is None else self._asking.heard
