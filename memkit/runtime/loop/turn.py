"""One turn of an agent: recall → ask → tools → evaluate → remember.

``Turn.run`` is all of it, and every step is a method. To change a step, subclass ``Turn`` and set
``AgentLoop.turn_class``; to let an SDK run the model and its tools, give the agent a model that implements ``Acts``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from .asking import TOO_LATE, TOO_MANY, Asking, CallRun, cut_short
from .interface import Completion, Message, ToolCall, ToolOutcome, ToolSpec, TurnJournal
from .journal import JournalledCalls
from .prompt import CONSTRAINTS, ModelView, PromptSources
from .reply import AgentConfig, AgentResponse, Deadline, Host, Intent, Reply, read_intent, response_of
from .tasks import TaskMemory
from .virtual_context import Block

FAILED_BEFORE = "warning: this failed before"
SESSION_START = "(session start)"
"""Replaces the question when nobody asked one."""
NO_ANSWER = "(The model gave no answer. Say it in other words, or try again.)"


class AgentParts(PromptSources, Protocol):
    """What a turn needs of its agent; see ``AgentLoop`` for each member."""

    config: AgentConfig
    host: Host
    tasks: TaskMemory
    view: ModelView
    journal: TurnJournal
    turn_id: int
    spent: dict[str, int]
    draw: Callable[[int], object]

    @property
    def is_first_of_user(self) -> bool:
        """Return whether no user spoke in this session before this turn."""


@runtime_checkable
class Acts(Protocol):
    """Stands in for a model when an SDK runs the model and its tools itself.

    >>> class SDK:
    ...     def act(self, turn, intent):
    ...         outcome = turn.agent.toolbox.call("clock", {})
    ...         return Reply(f"The tool said noon: {'noon' in outcome.text}", 1)
    ...
    ...     def keep(self, message):
    ...         self.kept = message
    >>> clock = DeclaredTool("clock", "Tell the time.", run=lambda: "noon")
    >>> MemGPTAgent(llm_client=SDK(), declared=[clock]).step("What time is it?").message
    'The tool said noon: True'
    """

    def act(self, turn: Turn, intent: Intent) -> Reply:
        """Return the reply of the model and its tools in the turn."""

    def keep(self, message: str) -> None:
        """Take in what the user was told, which may be more than the model said."""


class Turn:
    """Runs the steps of one turn over the parts of an agent.

    >>> from dataclasses import replace
    >>> class Signed(Turn):
    ...     def evaluate(self, reply):
    ...         judged = super().evaluate(reply)
    ...         return replace(judged, text=f"{judged.text} -- A.")
    >>> class SignedAgent(MemGPTAgent):
    ...     turn_class = Signed
    >>> SignedAgent(llm_client=lambda messages: "It is noon.").step("What time is it?").message
    'It is noon. -- A.'
    """

    def __init__(self, agent: AgentParts, text: str | None) -> None:
        """Begin a turn of ``agent`` with the user's words ``text``; None if no user speaks."""
        self.agent = agent
        self.text = text
        self.deadline = Deadline(agent.config.max_seconds)
        self.pending: list[str] = []
        """Findings of a heartbeat's chores that somebody has to act on."""
        model = agent.model
        self._asking = (
            None
            if model is None or isinstance(model, Acts)
            else Asking(model, agent.turn_id, agent.told, self.deadline, agent.spent)
        )

    @property
    def id(self) -> int:
        """Return the number of the turn in its session."""
        return self.agent.turn_id

    def run(self, intent: Intent) -> AgentResponse:
        """Run the steps; listeners learn of the end even if one of them fails."""
        told = self.agent.told
        told.tell("turn_opened", turn=self.id, text=self.text, intent=intent.kind)
        try:
            self.agent.view.recalled = self.recall(intent)
            reply = self.act(intent)
            outcome = self.evaluate(reply)
            response = self.remember(outcome)
            self.agent.journal.closed()
        except Exception as error:
            told.tell("turn_closed", error=str(error))
            raise
        told.tell("turn_closed", **{key: response.data[key] for key in ("message", "citations", "ended")})
        told.end_turn()
        return response

    # --- the steps, in order

    def intend(self, text: str | None) -> Intent:
        """Classify the words, and decide whether to recall anything for them."""
        return read_intent(text)

    def recall(self, intent: Intent) -> str:
        """Return, fenced, what this turn is given unasked: constraints, earlier failures, and fitting knowledge."""
        memory, view = self.agent.memory, self.agent.view
        with memory.asked_about():
            opens = memory.opening() if self.text is not None and self.agent.is_first_of_user else []
            opening = view.show(opens, SESSION_START) if opens else ""
            constraints = memory.constraints(intent.query)
            self.agent.toolbox.books.withhold(memory.withheld())
            if not intent.recall:
                self.agent.toolbox.books.recall_skipped(intent.kind)
                view.clean_of([Block(CONSTRAINTS, tuple(constraints))])  # every turn mentions that one is waiting
                return opening
            found = {CONSTRAINTS: constraints, FAILED_BEFORE: memory.warnings(intent.query)}
            blocks = [Block(name, tuple(items)) for name, items in found.items() if items]
            shown = "\n".join([opening, *(item.line for block in blocks for item in block.found)])
            fitting, lost = view.fitting_memory(intent.query, shown)
            return "\n".join(filter(None, [opening, view.show([*blocks, *fitting], intent.query, lost)]))

    def act(self, intent: Intent) -> Reply:
        """Let the model call tools until it answers; without a model, answer from memory alone."""
        if intent.is_idle:
            return Reply("")
        if isinstance(self.agent.model, Acts):
            return self.agent.model.act(self, intent)
        if self._asking is None:
            from .session_tools import answer_from_memory

            return Reply(answer_from_memory(self.agent.memory, self.agent.toolbox, intent.query))
        most, calls = self.agent.config.max_tool_calls, 0
        try:
            while calls < most:
                self.deadline.check()
                completion = self.ask(self.agent.toolbox.specs())
                if not completion.tool_calls:
                    return Reply(completion.text, calls)
                calls = self._run_calls(completion, calls)
            self.deadline.check()
            closing = self.ask(())
        except (Exception, KeyboardInterrupt) as stop:
            reply = cut_short(stop, self._asking.heard, calls, self.deadline)
            if reply is None:
                raise
            return reply
        return Reply("" if closing.tool_calls else closing.text, most, limited=True)

    def evaluate(self, reply: Reply) -> Reply:
        """Add what the model left out: that it gave no answer, or that the turn was ended by a limit or its user."""
        remark = reply.remark(self.agent.config.max_seconds)
        if not reply.text.strip() and not remark:
            remark = "\n".join(self.pending) if self.text is None else NO_ANSWER
        return replace(reply, text=f"{reply.text.strip()}\n{remark}".strip())

    def remember(self, reply: Reply) -> AgentResponse:
        """Keep the reply in the session and return it with the report of the turn."""
        books = self.agent.toolbox.books
        passing = [str(told["passing"]) for told in books.ledger.operations if told.get("passing")]
        self.agent.working.end_turn(passing, books.ledger.taint)
        citations = books.citations(reply.text)
        books.collect()
        is_judged = bool(books.ledger.outcomes(by_model=False))
        acted = self.agent.toolbox.acted()
        self.agent.tasks.judge_turn(self.text, books.user_text, acted, citations, is_judged=is_judged)
        books.collect()
        if any(told["op"] == "page_out" for told in books.ledger.operations):
            self.agent.draw(self.id)
        message = books.receipts(reply.text)
        if message:
            self.add({"role": "assistant", "content": message})
        report = {**books.report(message), "citations": citations, "ended": reply.ended}
        if self._asking is not None:
            report |= {"usage": self._asking.usage, "session_usage": dict(self.agent.spent)}
        if isinstance(self.agent.model, Acts):
            self.agent.model.keep(message)
        return response_of(report)

    # --- parts of the steps

    def prompt(self) -> list[Message]:
        """Return what the model sees: the system message, the conversation, and recalled data before the last words.

        Raises:
            PromptTooLarge: What every prompt needs exceeds the main context's ``max_tokens``.
        """
        return self.agent.view.messages()

    def add(self, message: Message) -> None:
        """Append a message to the conversation."""
        self.agent.view.add(message)

    def ask(self, tools: Sequence[ToolSpec]) -> Completion:
        """Return the model's answer to the prompt, with these tools available."""
        assert self._asking is not None
        recorded = self.agent.journal.recorded_answer()
        if recorded is not None:
            return self._asking.repeat(recorded)
        completion = self._asking.ask(self.prompt(), self.agent.view.specs(tools))
        self.agent.journal.answered(completion)
        return completion

    def run_call(self, call: ToolCall, begin: Callable[[], None]) -> ToolOutcome:
        """Judge one call of the model and run it if allowed; ``begin`` is called before anything is done."""
        key = self.agent.journal.key_of(call.id)
        return self.agent.toolbox.call(call.name, call.args, key=key, begin=begin)

    def _run_calls(self, completion: Completion, made: int) -> int:
        """Run the calls of one completion, add them and their results to the conversation, and return their number."""
        run = CallRun(completion, made)
        journalled = JournalledCalls(self.agent.journal, self.agent.toolbox, self.agent.host.settle)
        run.run(self.run_call, self._barred, journalled, self.agent.told)
        for message in run.messages:
            self.add(message)
        if run.interrupted:
            raise KeyboardInterrupt
        return run.made

    def _barred(self, made: int) -> str | None:
        """Return why no further call may run in this turn, or None."""
        if made >= self.agent.config.max_tool_calls:
            return TOO_MANY
        return TOO_LATE if self.deadline.has_passed else None
