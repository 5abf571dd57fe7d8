"""The agent: injected memory, planner, tools and model, and the turns that run over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from .asking import model_of
from .interface import JSON, LoopError, Message, TurnJournal
from .journal import OpenTurn
from .plan_run import PlanRun, run_plan
from .planner import Evaluator, HybridPlanner
from .prompt import ModelView, Persona, as_persona, data_message
from .reply import DEFAULTS, IDLE, NO_HOST, AgentConfig, AgentResponse, Announcements, Host, Intent, Listener
from .taint import check_words, fence, joined, new_marker, taint_in
from .tasks import TaskMemory, TaskOutcome
from .tiers import WorkingMemory, working_lines
from .tools import Tools
from .turn import Acts, Turn
from .virtual_context import INSTRUCTION, Block, Found, VirtualContextMemory, ranked

if TYPE_CHECKING:
    from .chores import Chores
    from .task_run import AnyStep, KeptSteps, TaskRun

HEARTBEAT = "No user is waiting. Finish open work with your tools, or answer with nothing."


class AgentLoop:
    """An agent over injected parts; a part that is not given lives in memory only, for as long as the session.

    >>> agent = AgentLoop(model=lambda messages: "It is noon.", config=AgentConfig(user_id="ada", max_tool_calls=3))
    >>> agent.respond("What time is it?").message, agent.turn_id
    ('It is noon.', 1)
    """

    turn_class: ClassVar[type[Turn]] = Turn
    """The class that runs the steps of a turn; a subclass can name its own here."""

    def __init__(
        self,
        memory: VirtualContextMemory | None = None,
        planner: HybridPlanner | None = None,
        *,
        model: Any = None,
        toolbox: Tools | None = None,
        persona: Persona | None = None,
        config: AgentConfig = DEFAULTS,
        host: Host = NO_HOST,
        journal: TurnJournal | None = None,
    ) -> None:
        """Put the parts together.

        Args:
            memory: The view over all memory tiers.
            planner: Chooses how to solve a task passed to ``execute_plan``.
            model: A function, a client, or an actor (``Acts``); without one, answers come from memory alone.
            toolbox: The tools that the model may call; by default the memory tools of the archive, or of the session.
            persona: Who the agent is.
            config: Whom the agent talks to, and its limits.
            host: Whom the agent asks, and who is told of events.
            journal: Makes the steps of a turn durable.
        """
        self.config = config
        self.host = host
        self.memory = memory if memory is not None else VirtualContextMemory(config=config)
        self.planner = planner
        self.model: Any = model_of(model)
        if toolbox is None:
            from .session_tools import SessionTools

            toolbox = Tools(self.memory.own_tools or SessionTools(self.memory), config=config, host=host)
        self.toolbox = toolbox
        self.persona = as_persona(persona)
        self.working = WorkingMemory()
        self.tasks = TaskMemory(self.working, self._remember_outcome, steered=lambda: self.toolbox.books.ledger.taint)
        self.toolbox.tasks = self.tasks
        self.told = Announcements(host.listen, host.watch)
        self.journal = journal or TurnJournal()
        self.chores: Chores | None = None
        """The chores of a heartbeat; without them the model decides whether there is anything to do."""
        self._runs: dict[str, KeptSteps] = {}
        """The task runs of a session that keeps nothing on disk."""
        self.view = ModelView(self)
        self.draw: Callable[[int], object] = lambda before: None
        """Draws lasting facts from earlier turns; called after an outcome and when turns have left the prompt."""
        self.turn_id = 0
        self.spent: dict[str, int] = {"input": 0, "output": 0, "requests": 0}
        """What the model cost in all turns, including failed ones."""
        self._silent_turns = 0
        """The number of turns in which no user spoke."""
        self._settled = 0
        """How many outcomes that the model wrote since the last turn opened stand for an outcome of the host."""
        self._turn = self.turn_class(self, None)
        # The parts that notify one another during a turn are connected.
        self.memory.on_unkept = getattr(self.toolbox.memory, "hold", None)
        self.toolbox.books.on_note = self.told.tell_operation
        self.toolbox.books.meter = self.context_usage

    # --- who opens a turn

    def observe(self, text: str, *, all_said: bool = False) -> None:
        """Open a turn with the user's words; ``all_said`` marks them as the user's own whatever their length."""
        check_words(text, "what the user says")
        turn = self._open(text, all_said=all_said)
        self.journal.opened(self.turn_id, text, by_user=True)  # before older messages are paged out, which can be slow
        turn.add({"role": "user", "content": text})

    def respond(self, text: str | None = None, *, all_said: bool = False) -> AgentResponse:
        """Answer ``text``, or the message observed last."""
        if text is not None:
            self.observe(text, all_said=all_said)
        elif self._turn.text is None:
            raise LoopError("There is nothing to respond to. Call observe(text) first, or respond(text).")
        return self._turn.run(self._turn.intend(self._turn.text))

    def heartbeat(self) -> AgentResponse:
        """Act without user input: run the chores that are due, then let the model act if anything is pending."""
        turn = self._open(None)
        self.journal.opened(self.turn_id, None, by_user=True)
        if self.chores is not None:
            turn.pending = self.chores.run(self.toolbox.books.note, turn.deadline)
            if not turn.pending:
                return turn.run(Intent(IDLE, recall=False))
        turn.add({"role": "user", "name": "heartbeat", "content": HEARTBEAT})
        if turn.pending:
            self._show_data("\n".join(turn.pending), "chores")
        return turn.run(turn.intend(None))

    def carry_out(self, instruction: str) -> AgentResponse:
        """Follow an instruction of the host program, such as one step of a skill.

        The words are not the user's: they grant no consent and are not stored as something the user said.
        """
        turn = self._open(None)
        self.journal.opened(self.turn_id, instruction, by_user=False)
        turn.add({"role": "user", "name": INSTRUCTION, "content": instruction})
        return turn.run(turn.intend(instruction))

    def resume(self, turn: OpenTurn) -> AgentResponse:
        """Continue a turn that was cut off: replay what its journal records and do only the rest."""
        self.turn_id = turn.turn_id - 1
        if turn.text is None:
            return self.heartbeat()
        return self.respond(turn.text) if turn.by_user else self.carry_out(turn.text)

    def inject_observation(self, found: str | Found | Sequence[Found], source: str = "environment") -> None:
        """Add what a tool or the environment reports to the prompt, as data that taints.

        Results of ``memory.search`` go in with the ids to cite, and taint only if they are tainted themselves.
        """
        pieces = [found] if isinstance(found, Found) else found
        if isinstance(pieces, list | tuple) and all(isinstance(one, Found) for one in pieces):
            if pieces:
                self._show_found(pieces)
            return
        check_words(found, "an observation")
        self.toolbox.books.taint((f"tool:{source}",))
        self._show_data(str(found), source)

    def _show_found(self, found: Sequence[Found]) -> None:
        books, ids = self.toolbox.books, [one.id for one in found if one.id]
        books.taint(joined(*(one.taint for one in found)))
        books.recalled({"op": "recall", "tier": "archive", "query": "", "ids": ids})
        self._show_data("\n".join(one.line for one in found), "memory")

    def _show_data(self, text: str, source: str) -> None:
        self.view.add(data_message(fence(text, source, new_marker())))

    def clean(self) -> int:
        """Remove outside content, and messages composed under it, from the prompt; return how many messages left.

        The next turn is then clean. Removed messages can still be found, and taint any turn that finds them.

        Raises:
            LoopError: An SDK keeps the conversation, so nothing can be removed from it.
        """
        forget = getattr(self.model, "forget", None)
        if isinstance(self.model, Acts):
            if forget is None:
                raise LoopError("Here the conversation is kept by the SDK. Start a new session instead.")
            forget()
        return self.view.clean()

    def interrupt(self) -> None:
        """End the running turn as soon as the session can be left consistent; may be called from any thread."""
        self._turn.deadline.interrupt()

    def heard_by(self, listen: Listener) -> AbstractContextManager[None]:
        """Send turn events to ``listen`` for the duration of the block."""
        return self.told.heard_by(listen)

    def _open(self, text: str | None, *, all_said: bool = False) -> Turn:
        self.toolbox.books.taint(taint_in(self.memory.main.messages))
        if text is not None:
            self.view.leave_outside()
        self.view.open(text)
        self.turn_id += 1
        self._settled = 0
        self._silent_turns += text is None
        self._turn = self.turn_class(self, text)
        self.toolbox.deadline = self._turn.deadline
        self.told.begin_turn()
        self.memory.task = self.tasks.at_hand
        self.toolbox.begin_turn(text, self.turn_id, all_said=all_said)
        return self._turn

    @property
    def is_first_of_user(self) -> bool:
        """Return whether no user spoke in this session before the running turn."""
        return self.turn_id - self._silent_turns == 1

    # --- what else a host calls

    def recall(self, query: str, k: int = 5) -> list[Block]:
        """Return what each tier knows about ``query``, one labelled block per tier."""
        at_hand = ranked(query, "working", working_lines(self.working))[:k]
        return [*self.memory.recall(query, k), *([Block("working", tuple(at_hand))] if at_hand else [])]

    def prompt(self) -> list[Message]:
        """Return what the model would see now: the system message, the conversation and recalled data."""
        return self.view.messages()

    def context_usage(self) -> dict[str, JSON]:
        """Return the tokens that the prompt takes, its budget, and the tokens per tier; ``used`` is their sum."""
        return self.view.usage()

    def execute_plan(self, task: Any, state: Any = None, *, evaluator: Evaluator | None = None, **more: Any) -> PlanRun:
        """Choose a way to do ``task`` and carry it out step by step under policy, replanning when a step fails.

        ``more`` goes to the planner's executor, such as ``observe``, ``journal`` and ``max_replans``. A task that names
        an evaluator is evolved. The outcome is remembered, along with the running task it belongs to, if any.
        """
        run = run_plan(self.planner, self.toolbox, self.working, task, state, evaluator=evaluator, **more)
        judged = run.outcome(task)
        if judged is not None and self.tasks.episode is None:
            self.tasks.conclude(judged)
        return run

    def run(self, task_id: str, steps: Sequence[AnyStep]) -> TaskRun:
        """Run the steps of a task in order, each once however often the process is killed, and remember the outcome.

        A step is an instruction to this agent, a function, a (name, function) pair, or a `TaskStep`, whose idempotency
        key allows it to be repeated after it was cut off. The journal is on disk whenever long-term memory is.

        Raises:
            SessionInUse: Another process is running the task.
            LoopError: There are no steps, or two share a name.
        """
        from .task_run import KeptSteps, run_task

        if not isinstance(task_id, str) or not task_id.strip():
            raise LoopError("A task needs an id, by which its steps are found again.")
        folder = getattr(self.memory.archive, "state_folder", None)
        kept = KeptSteps(task_id, folder) if folder else self._runs.setdefault(task_id, KeptSteps(task_id, None))
        return run_task(self, kept, task_id, steps)

    def start_task(self, task: str) -> None:
        """Begin a task; from now on its steps appear in the prompt."""
        self.tasks.start_task(task)

    def record_step(self, action: str, result: str = "", *, succeeded: bool = True, used: Sequence[str] = ()) -> None:
        """Record a step of the running task, so that it is not repeated, and the ids of the records it relied on."""
        self.tasks.record_step(action, result, succeeded=succeeded, used=used)

    def end_task(self, success: bool, outcome: str) -> str | None:
        """End the task and return the id of the outcome record, written through the gate of long-term memory.

        The records cited in its replies or named by its steps gain confidence on success and lose it on failure.
        """
        return self.tasks.end_task(success, outcome)

    def _remember_outcome(self, outcome: TaskOutcome, taint: Sequence[str]) -> str | None:
        """Offer an outcome to the gate; if the model itself recorded one in this turn, only adjust confidence."""
        memory: Any = self.toolbox.memory
        if not hasattr(memory, "remember_outcome"):
            return None
        memory.note_taint(taint)
        self.toolbox.books.collect()
        told = len(self.toolbox.books.ledger.outcomes(by_model=True))
        if told > self._settled:
            self._settled = told
            memory.learn(outcome.used, outcome.succeeded, outcome.text)
            return None
        key = self.journal.key_of(f"call-{self.turn_id}-0")
        with self.toolbox.repeatable(key):
            kept: str | None = memory.remember_outcome(
                outcome.text, outcome.succeeded, outcome.used,
                action=outcome.action, outcome=outcome.outcome, lesson=outcome.lesson,
            )  # fmt: skip
        return kept


# A snapshot of a session's prompt, to be restored later: nothing said in between reaches what is kept.


class PromptHeld(NamedTuple):
    """The conversation, its books and the task at hand at one moment."""

    messages: tuple[Message, ...]
    summary: str
    turns: tuple[Message, ...]
    """Messages that no recall memory keeps."""
    unkept: tuple[Any, ...]
    """The same messages, as the memory tools find them."""
    known_ids: frozenset[str]
    working: dict[str, JSON]

    @classmethod
    def by(cls, loop: AgentLoop) -> PromptHeld:
        """Return a snapshot of the prompt of ``loop``."""
        main = loop.memory.main
        return cls(
            tuple(main.messages),
            main.summary,
            tuple(loop.memory.turns),
            tuple(getattr(loop.toolbox.memory, "unkept", ())),
            frozenset(loop.toolbox.books.known_ids),
            loop.working.to_data(),
        )

    def put_back(self, loop: AgentLoop) -> None:
        """Restore this snapshot in ``loop``; turn numbers keep counting up, because they tell calls apart."""
        main = loop.memory.main
        main.restore(self.messages, self.summary)
        loop.memory.turns[:] = self.turns
        tools: Any = loop.toolbox.memory
        if hasattr(tools, "unkept"):
            tools.unkept[:] = self.unkept
        loop.toolbox.books.known_ids.clear()
        loop.toolbox.books.known_ids.update(self.known_ids)
        vars(loop.working).update(vars(WorkingMemory.from_data(self.working)))
