"""The reference agent: the rooms of the runtime assembled over one store, for one user and one session."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memkit.errors import UsageError
from memkit.runtime.host.sessions import Session, SessionTerms, after
from memkit.runtime.host.terminal import speaker
from memkit.runtime.loop.agent_loop import AgentLoop
from memkit.runtime.loop.asking import model_of
from memkit.runtime.loop.bound import declared_tools
from memkit.runtime.loop.consent import RecordedConsent, retraction_tool
from memkit.runtime.loop.interface import JSON, CallKey, DeclaredTool, Model
from memkit.runtime.loop.journal import Resumed
from memkit.runtime.loop.plan_run import PlanningTools, Shelve
from memkit.runtime.loop.planner import HybridPlanner, Procedures, Proposals, skill_tools, skills_section
from memkit.runtime.loop.prompt import Persona
from memkit.runtime.loop.reply import NO_HOST, AgentConfig, AgentResponse, Host, Listener
from memkit.runtime.loop.tasks import TaskMemory
from memkit.runtime.loop.tools import Tools, working_memory_tool
from memkit.runtime.loop.virtual_context import OPEN_GOALS, Found, VirtualContextMemory
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.gate.secrets import mask, masked_tree
from memkit.runtime.memory.record.lines import NoSealer, Sealer, to_text
from memkit.runtime.memory.record.record import Origin
from memkit.runtime.memory.tiers.context import MainContext
from memkit.runtime.memory.tiers.recall import RecallMemory
from memkit.runtime.memory.tiers.sessions import Kept
from memkit.runtime.memory.tiers.tools import MemoryTools
from memkit.store.audit import recordable

if TYPE_CHECKING:
    from memkit.domains.files import StoreDomain
    from memkit.runtime.backends.redis_state import RedisState
    from memkit.runtime.guard.interface import PolicyJudge
    from memkit.runtime.host.side_model import SideModel
    from memkit.runtime.loop.agent_loop import PromptHeld
    from memkit.runtime.loop.chores import Chore, Chores
    from memkit.runtime.memory.tiers.conversation import Similar

TOLD = ("args", "context", "choice")
"""What the account records of a judged call and of a choice of planner."""
SEED = 0
"""For evolutionary search: the same question gets the same answer."""


@dataclass(frozen=True)
class Parts:
    """The parts that an agent of a store is made of."""

    archive: ArchivalStore
    root: Path
    sessions: Path
    clock: Callable[[], datetime]
    model: Model
    guard: PolicyJudge
    persona: str
    domains: Mapping[str, StoreDomain] = field(default_factory=dict)
    tools: Sequence[DeclaredTool] = ()
    objection: Callable[[str], str | None] = lambda name: None
    """Returns why a declared tool may not run now, if so; asked before each call of one."""
    procedures: Procedures | None = None
    """The store's skills, policies and learned methods, for the agent to read."""
    observe: Callable[[dict[str, Any]], None] | None = None
    sealer: Sealer | None = None
    """Encrypts what a session leaves on disk; without it that is stored in clear text."""
    shared: RedisState | None = None
    """Where other instances find sessions and turns; without it only this machine has them."""
    similar: Similar | None = None
    """Returns how close turns are to a question in meaning; without it they are found by their words."""
    cut_off_plans: Callable[[], Sequence[str]] = lambda: ()
    """Returns, for each run of a user's plan that was begun and not ended, how to continue it."""
    leave_traces: Callable[[bool], None] = lambda wanted: None
    """Turns the recording of events in the store on or off."""
    side_model: Callable[[Model], Model] | None = None
    """Returns the model that draws what lasts from turns, given the one that answers; without it rules do."""
    sums_up: bool = False
    """Whether that model also summarises what leaves the prompt; otherwise first sentences are kept."""
    notice: Callable[[str], None] = lambda message: None
    """Receives messages for the person about that model."""
    shelve: Shelve | None = None
    """Keeps proposals made under taint for a person to promote."""
    spent: dict[str, int] = field(default_factory=dict)
    """Tokens and requests that models cost; the summarising model adds to it as well."""


@dataclass(frozen=True)
class Setting:
    """Whom the agent talks to, and under which circumstances."""

    user: str = ""
    """Whose memory it is; without a user nothing is stored or recalled long-term."""
    session: str = ""
    """The session to continue or begin; ``open_chat`` also takes its name, or nothing for a new one."""
    context: Mapping[str, Any] = field(default_factory=dict)
    """What the host program says about its surroundings; policies can read it."""
    remembers: bool = True
    """False for a conversation that neither reads nor writes anything that lasts."""
    incognito: bool = False
    """Whether memory is read but nothing at all is written."""
    name: str | None = None
    """The name that the user gives the session from now on."""
    fork_of: str | None = None
    """The session that this new one starts as a copy of; ``open_chat`` also takes its name or a prefix of its id."""
    long_term: bool = True
    """Whether the store allows long-term memory at all."""
    max_tokens: int | None = None
    max_seconds: float | None = None
    """The longest that a turn may take; None for no limit."""
    agent_id: str | None = None
    """Which of the user's agents this is: its core memory and its own records reach no other agent."""
    host: Host = NO_HOST
    """Where a person's answers come from, and who is notified of what happens in a turn."""


class ReferenceAgent:
    """An agent over a store: it remembers what its user agreed to, and continues a session where it stopped."""

    def __init__(self, parts: Parts, setting: Setting) -> None:
        self.parts = parts
        self.setting = setting
        origin = Origin(actor="user", user_id=setting.user, session_id=setting.session, agent_id=setting.agent_id)
        self.consent = RecordedConsent(parts.archive, setting.user, origin)
        recall = RecallMemory(parts.sessions, parts.clock, *_recall_limits(parts), parts.sealer, similar=parts.similar)
        if parts.shared is not None:
            recall.share = parts.shared.push
        self.recall = recall.of_agent(setting.agent_id)
        self._side = self._side_model()
        summarise = self._side.summarise if self._side and parts.sums_up else None
        self.main = MainContext.configured(parts.archive.settings, setting.max_tokens, summarise)
        self._origin = origin
        self._before_off: PromptHeld | None = None
        """What the prompt held when memory was switched off during the conversation."""
        self._agent = self._remembering() if setting.remembers and setting.long_term else self._forgetful()
        self.parts.spent.update(self._agent.spent)
        self._agent.spent = self.parts.spent
        self.session = self._session()
        self.session.open(may_read=self._may_read(), fork_of=setting.fork_of)
        if self.is_off_record:
            self._set_traces(wanted=False)

    def _side_model(self) -> SideModel | None:
        which = self.parts.side_model
        if which is None:
            return None
        from memkit.runtime.host.side_model import SideModel

        return SideModel(lambda: which(self.parts.model), self.parts.spent, self.parts.notice)

    def _session(self) -> Session:
        parts, setting = self.parts, self.setting
        terms = SessionTerms(
            setting.user,
            setting.session,
            parts.sessions,
            self.may_remember,
            parts.sealer or NoSealer(),
            extract=self._side.extract if self._side and parts.archive.settings.write.extract == "auto" else None,
            waits=not parts.sums_up,
            instead="leave out --session and -c for a new one, or fork this one",
            shared=parts.shared,
        )
        begun = Kept(0, name=setting.name, agent_id=setting.agent_id, started_at=to_text(parts.clock()))
        return Session(self._agent, terms, settings=parts.archive.settings, clock=parts.clock, begun=begun)

    @property
    def memory(self) -> VirtualContextMemory:
        """Return the view over all memory tiers."""
        return self._agent.memory

    @property
    def toolbox(self) -> Tools:
        """Return the tools of the session."""
        return self._agent.toolbox

    @property
    def model(self) -> Model:
        """Return the model that answers."""
        return self.parts.model

    def answered_by(self, model: Model) -> None:
        """Use another model from the next turn on."""
        self.parts = replace(self.parts, model=model)
        self._agent.model = model_of(model)

    @property
    def turns(self) -> int:
        """Return how many turns the session has had."""
        return self._agent.turn_id

    def context_usage(self) -> dict[str, Any]:
        """Return how many tokens the prompt takes, the limit, and how they divide among the tiers."""
        return self._agent.context_usage()

    @property
    def spent(self) -> dict[str, int]:
        """Return the tokens and requests that the model cost in this session."""
        return self._agent.spent

    def open_goals(self) -> Sequence[Found]:
        """Return the user's open goals when a session begins; none when one is continued."""
        if self.turns:
            return ()
        offered = [item for block in self.memory.opening() if block.tier == OPEN_GOALS for item in block.found]
        return [item for item in offered if not item.taint]

    def may_remember(self) -> bool:
        """Return whether anything of this session may outlast it."""
        return self._may_read() and not self.is_off_record

    def _may_read(self) -> bool:
        """Return whether the user agreed to sessions being kept, so that there may be one to continue."""
        return self.setting.remembers and self.setting.long_term and self.consent.granted()

    @property
    def is_off_record(self) -> bool:
        """Return whether what is said now must leave no trace, whatever the user agreed to."""
        return self._before_off is not None or self.setting.incognito or not self.setting.remembers

    def switch_memory(self, *, on: bool) -> None:
        """Stop or resume leaving traces of what is said from now on; resuming stays within the user's consent.

        What was said in between leaves the prompt when memory is switched on again, and is not kept either.

        Raises:
            UsageError: The whole conversation was started to leave no trace.
        """
        if on and self._before_off is None and self.is_off_record:
            raise UsageError("This conversation was started without a trace and cannot keep one. Start a new one.")
        if on is not self.is_off_record:
            return
        if on and self._before_off is not None:
            self._before_off.put_back(self._agent)
            self._before_off = None
        elif not on:
            from memkit.runtime.loop.agent_loop import PromptHeld

            self._before_off = PromptHeld.by(self._agent)
        self._set_traces(wanted=on)

    def _set_traces(self, *, wanted: bool) -> None:
        self.toolbox.hears_consent = wanted
        self.parts.leave_traces(wanted)

    @property
    def tasks(self) -> TaskMemory:
        """Return the running task, its steps and its results."""
        return self._agent.tasks

    @property
    def max_tool_calls(self) -> int:
        """Return how many tool calls one turn may make."""
        return self._agent.config.max_tool_calls

    def finish(self) -> Resumed | None:
        """Finish a turn that was cut off, or set it aside if it is too old; return None if there is none."""
        return self.session.finish()

    def step(self, text: str, *, all_said: bool = False) -> AgentResponse:
        """Answer one message, after finishing any turn that was cut off; keep the session if its user agreed to that.

        With ``all_said`` the message counts as the user's own words whatever its length.
        """
        resumed = self.finish()
        self._agent.persona = self._persona()
        return self._run(lambda: self._agent.respond(text, all_said=all_said), resumed)

    def clean(self) -> int:
        """Remove outside content, and whatever was made of it, from the prompt; return how many messages left."""
        return self.session.clean()

    def interrupt(self) -> None:
        """End the running turn as soon as the session is left intact; may be called from any thread."""
        self._agent.interrupt()

    def heard_by(self, listen: Listener) -> AbstractContextManager[None]:
        """Pass the events of turns to ``listen`` for the duration of the block."""
        return self._agent.heard_by(listen)

    def heartbeat(self) -> AgentResponse:
        """Do what is due while no user waits, and let the model act if something is pending."""
        self._agent.chores = self._agent.chores or self._chores()  # they know when they last ran
        return self._run(self._agent.heartbeat, self.finish())

    def carry_out(self, instruction: str) -> AgentResponse:
        """Carry out the program's instruction, such as a step of a skill, and keep the session as after a message."""
        resumed = self.finish()
        if resumed is not None and resumed.reply is not None and resumed.turn.text == masked_tree(instruction):
            return resumed.reply  # the turn that was cut off was this very one
        return self._run(lambda: self._agent.carry_out(instruction), resumed)

    def end(self, *, single: bool = False) -> Sequence[Mapping[str, Any]]:
        """Draw what lasts from the turns not looked at yet, as the conversation ends; return what was kept."""
        with self.consent.held():
            return self.session.end(single=single)

    def close(self) -> None:
        """Release the session to other processes."""
        self.session.close()

    def _run(self, turn: Callable[[], AgentResponse], resumed: Resumed | None) -> AgentResponse:
        with self.consent.held():
            return after(resumed, self.session.run(turn, is_off_record=self.is_off_record))

    def take_back(self, record_id: str, reason: str, taint: Sequence[str] = ()) -> tuple[str, str | None]:
        """Reject a record in the user's name and return its text; under taint this waits, under the id returned."""
        stored = self.parts.archive.get(record_id, user_id=self.setting.user)
        origin = self._origin._replace(turn_id=self.turns)
        typed_by = speaker()
        origin = origin._replace(actor=typed_by, taint=tuple(taint)) if taint or typed_by != "agent" else origin
        waiting = None
        if stored is None or stored.status != "rejected":  # a resumed turn may have done it already
            waiting = self.parts.archive.mark("reject", record_id, origin, reason=reason)
        return (stored.record.text if stored else ""), waiting

    def reload_core(self) -> None:
        """Reload the core sections from the archive."""
        if isinstance(tools := self.toolbox.memory, MemoryTools):
            self.main.core.update(dict.fromkeys(self.main.core, ""))
            tools.reload_core()

    @property
    def _config(self) -> AgentConfig:
        setting = self.setting
        return AgentConfig(
            setting.user,
            setting.session,
            setting.agent_id,
            self.main.max_tokens,
            max_seconds=setting.max_seconds,
            context=setting.context,
            root=self.parts.root,
        )

    def _remembering(self) -> AgentLoop:
        parts, setting = self.parts, self.setting
        tools = MemoryTools(
            self.main,
            parts.archive,
            recall=self.recall,
            user_id=setting.user,
            session_id=setting.session,
            agent_id=setting.agent_id,
            consented=self.may_remember,
            speaker=speaker(),
        )
        memory = VirtualContextMemory(
            main=self.main,
            archive=parts.archive,
            recall=self.recall,
            config=self._config,
            procedures=parts.procedures,
            durable=self.may_remember,
        )
        return self._put_together(tools, memory)

    def _forgetful(self) -> AgentLoop:
        from memkit.runtime.loop.session_tools import SessionTools

        memory = VirtualContextMemory(main=self.main, config=self._config, procedures=self.parts.procedures)
        return self._put_together(SessionTools(memory), memory)

    def _put_together(self, memory_tools: Any, memory: VirtualContextMemory) -> AgentLoop:
        parts, proposals = self.parts, Proposals()
        planners = {name: DomainPlanner(domain, proposals) for name, domain in parts.domains.items()}
        planner = HybridPlanner(htn=planners, proposals=proposals)
        host = replace(self.setting.host, observe=self._observed, watch=self._watcher())
        remembers = isinstance(memory_tools, MemoryTools)
        tools = _ObjectingTools(
            memory_tools, parts.guard, config=self._config, host=host, consent=self.consent if remembers else None
        )
        tools.withdrawn = parts.objection
        if remembers:
            tools.add([retraction_tool(self.take_back, tools.books)])
        planning = PlanningTools(planner, searcher=formula_searcher, books=tools.books, shelve=parts.shelve)
        tools.add(planning.tools())
        if parts.procedures is not None:
            tools.add(skill_tools(parts.procedures))
        tools.add(declared_tools(parts.tools, parts.root, lambda: tools.deadline.left))
        tools.add([working_memory_tool(tools)])
        agent = AgentLoop(
            memory,
            planner,
            model=parts.model,
            toolbox=tools,
            persona=self._persona(),
            config=self._config,
            host=host,
        )
        agent.working.max_items = parts.archive.settings.working.max_items
        return agent

    def _chores(self) -> Chores:
        """Return the chores of a heartbeat: the prompt, and whatever of the user's has come due."""
        from memkit.agent_chores import ConsolidationChore, CutOffPlans, DueGoals, PageOutChore
        from memkit.runtime.loop.chores import Chores

        every: list[Chore] = [PageOutChore(self.main)]
        if self.setting.remembers and self.setting.long_term:
            archive, user, clock = self.parts.archive, self.setting.user, self.parts.clock
            every += [
                DueGoals(archive, user, self.setting.session, self.setting.agent_id, clock),
                CutOffPlans(self.parts.cut_off_plans),
                ConsolidationChore(archive, user, clock),
            ]
        bounds = self.parts.archive.settings.heartbeat
        return Chores(every, bounds.most, bounds.within)

    def _persona(self) -> Persona:
        """Return who the agent is, and the skills that the store has now."""
        procedures = self.parts.procedures
        main = self.main
        skills = skills_section(procedures, main.max_tokens, main.count) if procedures is not None else ""
        named = skills if "\n- " in skills else ""  # if none fits, the note that some exist would only take room
        description = "\n\n".join(filter(None, [self.parts.persona, named]))
        return Persona(name="the agent of this store", description=description)

    def _watcher(self) -> Listener | None:
        """Return a listener that reports turns to OpenTelemetry, if this program uses it and they may leave a trace."""
        if "opentelemetry" not in sys.modules:
            return None
        from memkit.runtime.host.telemetry import telemetry

        told = telemetry()
        if told is None:
            return None
        watch = told.watcher(self._served, lambda name: any(spec.name == name for spec in self.toolbox.specs()))
        return lambda event: None if self.is_off_record else watch(event)

    def _served(self) -> dict[str, str]:
        """Return the provider and name of the current model, as OpenTelemetry attributes."""
        model = self.parts.model
        vendor = getattr(model, "vendor", None)  # the reference and scripted models run in this process
        name = str(getattr(model, "name", "")) if vendor else ""
        return {"gen_ai.provider.name": vendor.provider if vendor else "memkit", "gen_ai.request.model": name}

    def _observed(self, event: dict[str, Any]) -> None:
        if self.parts.observe is not None and not self.is_off_record:
            who = {"user_id": self.setting.user, "session_id": self.setting.session, "actor": "agent"}
            # The query is the user's own words: without their consent the account says only that a recall happened,
            # and of a judged call, or a choice of planner, only that there was one.
            kept = self.may_remember()
            asked = mask(str(event["query"])) if event.get("query") is not None and kept else None
            told = {key: recordable(event[key]) if kept else None for key in TOLD if key in event}
            self.parts.observe({**event, **who, "query": asked, **told})


class _ObjectingTools(Tools):
    """Tools that check before each call whether it may still run: a store can change during a long conversation."""

    withdrawn: Callable[[str], str | None]
    """Returns why a tool may no longer run, or None."""

    def carry_out(
        self, name: str, args: Mapping[str, JSON] | str, decision: str, key: CallKey | None = None
    ) -> tuple[str, bool]:
        """Run a call that may run, and record it; one with an objection fails with that objection."""
        against = self.withdrawn(name)
        if against is None:
            return super().carry_out(name, args, decision, key)
        self.books.called(name, args, against, error=True, decision=decision)
        return against, True


class DomainPlanner:
    """A domain and what is known about it; the planner is loaded when the first plan is requested."""

    def __init__(self, known: StoreDomain, proposals: Proposals) -> None:
        self._known = known
        self._proposals = proposals
        self.known_tasks = known.tasks

    def __getattr__(self, name: str) -> Any:
        """Return the planner's own attribute of that name."""
        return getattr(self._planner, name)

    @cached_property
    def _planner(self) -> Any:
        from memkit.runtime.htn.planner import HTNPlanner

        known = self._known
        return HTNPlanner(domain=known.domain, llm_decompose=self._proposals, learned=known.learned)


def formula_searcher(pairs: Sequence[tuple[float, float]], seed_program: str | None = None) -> Any:
    """Return an evolutionary search for an expression that fits ``pairs`` of x and wanted y."""
    from memkit.runtime.evolve.core import EvolutionarySearcher, fitness_mean_squared_error

    fitness = partial(fitness_mean_squared_error, target=list(pairs))
    return EvolutionarySearcher(seed_program=seed_program or "lambda x: x", fitness_fn=fitness, seed=SEED)


def _recall_limits(parts: Parts) -> tuple[float, int]:
    policy = parts.archive.settings.recall
    return policy.ttl, policy.max_items
