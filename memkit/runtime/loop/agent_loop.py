"""The agent: a memory, a planner, tools and a model that are handed in, and the turns that run over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from .asking import model_of
from .interface import JSON, LoopError, Message, NoJournal, TurnJournal
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
    """An agent over parts that are handed in; those that are not live as long as the session and in memory alone.

    >>> agent = AgentLoop(model=lambda messages: "It is noon.", config=AgentConfig(user_id="ada", max_tool_calls=3))
    >>> agent.respond("What time is it?").message, agent.turn_id
    ('It is noon.', 1)
    """

    turn_class: ClassVar[type[Turn]] = Turn
    """What goes through the steps of a turn; a subclass names its own here."""

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
            planner: Chooses how a task is solved that ``execute_plan`` is given.
            model: A function, a client, or what ``Acts``; without one answers come from memory alone.
            toolbox: The tools that the model may call.
            persona: Who the agent is.
            config: For whom it talks, and within which bounds.
            host: Whom it asks and tells.
            journal: Makes the steps of a turn durable.
        """
        self.config = config
        self.host = host
        self.memory = memory if memory is not None else VirtualContextMemory(config=config)
        self.planner = planner
        self.model: Any = model_of(model)
        if toolbox is None:
            from .session_tools import SessionTools

            toolbox = Tools(SessionTools(self.memory), config=config, host=host)
        self.toolbox = toolbox
        self.persona = as_persona(persona)
        self.working = WorkingMemory()
        self.tasks = TaskMemory(self.working, self._remember_outcome, steered=lambda: self.toolbox.books.ledger.taint)
        self.toolbox.tasks = self.tasks
        self.told = Announcements(host.listen, host.watch)
        self.journal: TurnJournal = journal or NoJournal()
        self.chores: Chores | None = None
        """What a heartbeat looks after; without them it leaves to the model whether there is anything to do."""
        self._runs: dict[str, KeptSteps] = {}
        """The tasks that were run where nothing is kept on a disk."""
        self.view = ModelView(self)
        self.draw: Callable[[int], object] = lambda before: None
        """Draws what lasts from the turns before this one; asked after an outcome, where turns left the prompt."""
        self.turn_id = 0
        self.spent: dict[str, int] = {"input": 0, "output": 0, "requests": 0}
        """What the model cost in all turns, also in those that failed."""
        self._silent_turns = 0
        """Those in which no user spoke."""
        self._turn = self.turn_class(self, None)
        self._introduce_parts()

    def _introduce_parts(self) -> None:
        """Let the parts know each other that tell one another something in a turn."""
        self.memory.on_unkept = getattr(self.toolbox.memory, "hold", None)
        self.toolbox.books.on_note = self.told.tell_operation
        self.toolbox.books.meter = self.context_usage

    # --- who opens a turn

    def observe(self, text: str, *, all_said: bool = False) -> None:
        """Open a turn with the user's words; ``all_said`` where they are the user's own whatever their length."""
        check_words(text, "what the user says")
        turn = self._open(text, all_said=all_said)
        self.journal.opened(self.turn_id, text, by_user=True)  # before older messages give way, which may take long
        turn.add({"role": "user", "content": text})

    def respond(self, text: str | None = None, *, all_said: bool = False) -> AgentResponse:
        """Answer ``text``, or what was observed last."""
        if text is not None:
            self.observe(text, all_said=all_said)
        elif self._turn.text is None:
            raise LoopError("There is nothing to respond to. Call observe(text) before, or respond(text).")
        return self._turn.run(self._turn.intend(self._turn.text))

    def heartbeat(self) -> AgentResponse:
        """Act without user input: do the chores that are due, then let the model act, where anything is pending."""
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
        """Do what the host program asks for, such as one step of a skill.

        The words are not the user's: they agree to nothing and are not kept as said.
        """
        turn = self._open(None)
        self.journal.opened(self.turn_id, instruction, by_user=False)
        turn.add({"role": "user", "name": INSTRUCTION, "content": instruction})
        return turn.run(turn.intend(instruction))

    def resume(self, turn: OpenTurn) -> AgentResponse:
        """Go on with a turn that was cut off: what its journal records is played again, and only the rest is done."""
        self.turn_id = turn.turn_id - 1
        if turn.text is None:
            return self.heartbeat()
        return self.respond(turn.text) if turn.by_user else self.carry_out(turn.text)

    def inject_observation(self, found: str | Found | Sequence[Found], source: str = "environment") -> None:
        """Add what a tool or the surroundings report to the prompt, as data that taints.

        What ``memory.search`` returned goes in with the ids to cite, and taints only where it is tainted itself.
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
        """Take out of the prompt what came from outside and what was composed under it; return how many messages left.

        The next turn is clean then. What left stays findable, and taints whoever finds it.

        Raises:
            LoopError: An SDK keeps the conversation, and nothing can be taken out of it.
        """
        forget = getattr(self.model, "forget", None)
        if isinstance(self.model, Acts):
            if forget is None:
                raise LoopError("Here the conversation is kept by the SDK. Begin a new session instead.")
            forget()
        return self.view.clean()

    def interrupt(self) -> None:
        """End the running turn as soon as that leaves the session whole; may be called from any thread."""
        self._turn.deadline.interrupt()

    def heard_by(self, listen: Listener) -> AbstractContextManager[None]:
        """Tell ``listen`` of what happens in turns, as long as the block lasts."""
        return self.told.heard_by(listen)

    def _open(self, text: str | None, *, all_said: bool = False) -> Turn:
        self.toolbox.books.taint(taint_in(self.memory.main.messages))
        if text is not None:
            self.view.leave_outside()
        self.view.open(text)
        self.turn_id += 1
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
        """Return what every tier knows about ``query``, one labelled block per tier."""
        at_hand = ranked(query, "working", working_lines(self.working))[:k]
        return [*self.memory.recall(query, k), *([Block("working", tuple(at_hand))] if at_hand else [])]

    def prompt(self) -> list[Message]:
        """Return what the model would see now: the system message, the conversation, recalled data."""
        return self.view.messages()

    def context_usage(self) -> dict[str, JSON]:
        """Return how many tokens the prompt takes, of how many, and in which tiers; ``used`` is their sum."""
        return self.view.usage()

    def execute_plan(self, task: Any, state: Any = None, *, evaluator: Evaluator | None = None, **more: Any) -> PlanRun:
        """Choose how to do ``task`` and do it, step by step under policy, planning anew where a step fails.

        ``more`` goes to the planner's executor, such as ``observe``, ``journal`` and ``max_replans``. A task that names
        an evaluator is evolved. What came of it is remembered, with the task it belongs to where one runs.
        """
        run = run_plan(self.planner, self.toolbox, self.working, task, state, evaluator=evaluator, **more)
        judged = run.outcome(task)
        if judged is not None and self.tasks.episode is None:
            self.tasks.conclude(judged)
        return run

    def run(self, task_id: str, steps: Sequence[AnyStep]) -> TaskRun:
        """Do the steps of a task in order, each once over any number of kills, and remember what came of it.

        A step is an instruction to this agent, a function, a name with a function, or a `TaskStep`, whose idempotency
        key lets it be done again after it was cut off. Where long-term memory lies on the disk the journal does, too.

        Raises:
            SessionInUse: Another process runs the task.
            LoopError: There are no steps, or two of one name.
        """
        from .task_run import KeptSteps, run_task

        folder = getattr(self.memory.archive, "state_folder", None)
        kept = KeptSteps(task_id, folder) if folder else self._runs.setdefault(task_id, KeptSteps(task_id, None))
        return run_task(self, kept, task_id, steps)

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

    def _remember_outcome(self, outcome: TaskOutcome, taint: Sequence[str]) -> str | None:
        """Offer an outcome to the gate; where the model told one itself in this turn, it only moves confidence."""
        memory: Any = self.toolbox.memory
        if not hasattr(memory, "remember_outcome"):
            return None
        memory.note_taint(taint)
        self.toolbox.books.collect()
        if any(told.get("type") == "outcome" for told in self.toolbox.books.ledger.written()):
            memory.learn(outcome.used, outcome.succeeded, outcome.text)
            return None
        key = self.journal.key_of(f"call-{self.turn_id}-0")
        with self.toolbox.repeatable(key):
            kept: str | None = memory.remember_outcome(
                outcome.text, outcome.succeeded, outcome.used,
                action=outcome.action, outcome=outcome.outcome, lesson=outcome.lesson,
            )  # fmt: skip
        return kept


# What the prompt of a session holds, taken down to be put back: nothing said in between enters what is kept.


class PromptHeld(NamedTuple):
    """The conversation, its books and the task at hand, at one moment."""

    messages: tuple[Message, ...]
    summary: str
    turns: tuple[Message, ...]
    """Those that no recall memory keeps."""
    unkept: tuple[Any, ...]
    """The same as the memory tools find them."""
    known_ids: frozenset[str]
    working: dict[str, JSON]

    @classmethod
    def by(cls, loop: AgentLoop) -> PromptHeld:
        """Return what the prompt of ``loop`` holds now."""
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
        """Let the prompt of ``loop`` hold this again; turns are counted on, since calls are told apart by them."""
        main = loop.memory.main
        main.restore(self.messages, self.summary)
        loop.memory.turns[:] = self.turns
        tools: Any = loop.toolbox.memory
        if hasattr(tools, "unkept"):
            tools.unkept[:] = self.unkept
        loop.toolbox.books.known_ids.clear()
        loop.toolbox.books.known_ids.update(self.known_ids)
        vars(loop.working).update(vars(WorkingMemory.from_data(self.working)))
