"""One turn of an agent: intent, recall, plan or act under policy, evaluate the outcome, memory operations.

Every step is a method; subclass ``AgentLoop`` and override one to change what it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .clients import as_model
from .fencing import fence, new_marker
from .interface import CallData, Message, Model, ToolCall
from .plan_run import PlanRun, run_plan
from .planner import Evaluator, HybridPlanner
from .prompt import Persona, as_persona, data_message, system_prompt
from .session_memory import SessionTools
from .tasks import Learn, Remember, TaskMemory
from .toolbox import Toolbox
from .turn import AgentResponse, Intent, Reply, read_intent, response_of
from .virtual_context import INSTRUCTION, Block, VirtualContextMemory
from .working import WorkingMemory

HEARTBEAT = "No user is waiting. Finish open work with your tools, or answer with nothing."
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
    ) -> None:
        self.memory = memory if memory is not None else VirtualContextMemory()
        self.planner = planner
        self.model: Model | None = None if model is None else as_model(model)
        self.toolbox = toolbox if toolbox is not None else Toolbox(SessionTools(self.memory), planner=planner)
        self.persona = as_persona(persona)
        self.working = working or WorkingMemory()
        self.tasks = TaskMemory(self.working, remember, learn)
        self.max_tool_calls = max_tool_calls
        self.turn_id = 0
        self._user_text: str | None = None
        self._words: str | None = None
        """The user's words as the prompt shows them."""
        self._recalled: str = ""

    # --- what a host calls

    def observe(self, text: str) -> None:
        """Open a turn with the user's words."""
        self._open_turn(text)
        self._add({"role": "user", "content": text})
        kept = self.memory.main.messages
        if kept and kept[-1].get("role") == "user":
            # Words that alone would pass the budget were shortened; the prompt must not bring them back whole.
            self._words = str(kept[-1].get("content") or "")

    def inject_observation(self, text: str, source: str = "environment") -> None:
        """Add what a tool or the surroundings report to the prompt, as data that is not trusted."""
        self.toolbox.lower_trust("candidate")
        self._add(data_message(fence(text, source, new_marker())))

    def respond(self, text: str | None = None) -> AgentResponse:
        """Answer ``text``, or what was observed last."""
        if text is not None:
            self.observe(text)
        return self._turn(self.intend(self._user_text))

    def heartbeat(self) -> AgentResponse:
        """Act without user input, within the bound on tool calls."""
        self._open_turn(None)
        self._add({"role": "user", "name": "heartbeat", "content": HEARTBEAT})
        return self._turn(self.intend(None))

    def carry_out(self, instruction: str) -> AgentResponse:
        """Do what the host program asks for, such as one step of a skill.

        The words are not the user's: they agree to nothing and are not kept as said. No user's turn lies between one
        instruction and the next, so trust that fell stays fallen.
        """
        trust = self.toolbox.ledger.trust
        self._open_turn(None)
        self.toolbox.lower_trust(trust)
        self._add({"role": "user", "name": INSTRUCTION, "content": instruction})
        return self._turn(self.intend(instruction))

    def recall(self, query: str, k: int = 5) -> list[Block]:
        """Return what every tier knows about ``query``, one labelled block per tier."""
        return self.memory.recall(query, k)

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

    # --- the steps of a turn

    def _turn(self, intent: Intent) -> AgentResponse:
        self._recalled = self.recall_for(intent)
        reply = self.act(intent)
        return self.remember(self.evaluate(reply))

    def intend(self, text: str | None) -> Intent:
        """Decide what the user's words are, and whether to recall anything for them."""
        return read_intent(text)

    def recall_for(self, intent: Intent) -> str:
        """Return, fenced, the constraints that hold for this turn and what failed before in one like it."""
        if not intent.recall:
            self.toolbox.recall_skipped(intent.kind)
            return ""
        blocks = {
            "constraints": self.memory.constraints(intent.query),
            "warning: this failed before": self.memory.warnings(intent.query),
        }
        found = [item for items in blocks.values() for item in items]
        self.toolbox.recalled(
            {"op": "recall", "tier": "archive", "query": intent.query, "ids": [item.id for item in found if item.id]}
        )
        for item in found:
            self.toolbox.lower_trust(item.trust)
        return self.memory.render(Block(name, tuple(items)) for name, items in blocks.items() if items)

    def act(self, intent: Intent) -> Reply:
        """Let the model call tools until it answers; without a model, answer from memory alone."""
        if self.model is None:
            return Reply(self._answer_from_memory(intent))
        calls = 0
        while calls < self.max_tool_calls:
            completion = self.model.complete(self.prompt(), self.toolbox.specs())
            if not completion.tool_calls:
                return Reply(completion.text, calls)
            calls = self._run_calls(completion.text, completion.tool_calls, calls)
        closing = self.model.complete(self.prompt(), ())
        return Reply("" if closing.tool_calls else closing.text, self.max_tool_calls, limited=True)

    def evaluate(self, reply: Reply) -> Reply:
        """Say what the model did not: that it gave no answer, or that the turn ended at its bound."""
        text = reply.text.strip()
        if reply.limited:
            bound = f"(I stopped after {reply.calls} tool calls in one turn; that is the most I may make.)"
            return Reply(f"{text}\n{bound}".strip(), reply.calls, limited=True)
        if not text and self._user_text is not None:
            return Reply(NO_ANSWER, reply.calls)
        return Reply(text, reply.calls)

    def remember(self, reply: Reply) -> AgentResponse:
        """Keep the reply in the session and return it with the report of the turn."""
        citations = self.toolbox.citations(reply.text)
        self.tasks.use(citations)
        message = self.toolbox.receipts(reply.text)
        if message:
            self._add({"role": "assistant", "content": message})
        report = self.toolbox.report(message)
        return response_of({**report, "citations": citations})

    def prompt(self) -> list[Message]:
        """Return what the model sees: the system message, the conversation, recalled data before the last words."""
        done = [*self.working.done_lines()]
        system: Message = {
            "role": "system",
            "content": system_prompt(self.persona, self.memory.main, self.toolbox.guard, done),
        }
        history: list[Message] = list(self.memory.main.messages)
        if self._words is not None and not _has_user_words(history, self._words):
            history = [{"role": "user", "content": self._words}, *history]
        if self._recalled:
            place = _last_user(history)
            history = [*history[:place], data_message(self._recalled), *history[place:]]
        return [system, *history]

    # --- how the steps do it

    def _open_turn(self, text: str | None) -> None:
        self.turn_id += 1
        self._user_text = self._words = text
        self._recalled = ""
        self.toolbox.begin_turn(text, self.turn_id)

    def _add(self, message: Message) -> None:
        evicted = self.memory.add(message)
        if evicted:
            self.toolbox.note({"op": "page_out", "messages": evicted})

    def _run_calls(self, text: str, calls: Sequence[ToolCall], done: int) -> int:
        """Run the calls of one completion and splice their results into the conversation."""
        stamped = [(f"call-{self.turn_id}-{done + number}", call) for number, call in enumerate(calls, 1)]
        data: list[CallData] = [
            {"id": call_id, "name": call.name, "args": dict(call.args) if not isinstance(call.args, str) else {}}
            for call_id, call in stamped
        ]
        results: list[Message] = []
        for call_id, call in stamped:
            answer = self._run_call(call) if done < self.max_tool_calls else "Not run: too many calls in one turn."
            results.append({"role": "tool", "tool_call_id": call_id, "name": call.name, "content": answer})
            done += 1
        self._add({"role": "assistant", "content": text, "tool_calls": data})
        for result in results:
            self._add(result)
        return done

    def _run_call(self, call: ToolCall) -> str:
        return self.toolbox.call(call.name, call.args).text

    def _answer_from_memory(self, intent: Intent) -> str:
        found = [item for block in self.memory.recall(intent.query) for item in block.found]
        others = [item for item in found if item.text != self._user_text]
        if not others:
            return "I do not know: nothing in memory is about that, and no model was handed in."
        self.toolbox.recalled({"op": "search", "query": intent.query, "ids": [item.id for item in others if item.id]})
        lines = [f"- {item.text}" + (f" [{item.id}]" if item.id else f" ({item.tier})") for item in others]
        return "\n".join(["What memory holds on that:", *lines])


def _has_user_words(history: Sequence[Message], text: str) -> bool:
    return any(message.get("role") == "user" and message.get("content") == text for message in history)


def _last_user(history: Sequence[Message]) -> int:
    places = [place for place, message in enumerate(history) if message.get("role") == "user"]
    return places[-1] if places else len(history)
