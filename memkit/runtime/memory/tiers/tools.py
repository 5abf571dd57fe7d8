"""The memory tools as an agent uses them, stamped by the host with user, session and turn."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import date
from typing import Any, Protocol

from ..gate.secrets import mask, masked_tree
from ..interface import (
    ACCOUNTED,
    ANYWHERE,
    Circumstances,
    Decision,
    Hit,
    MemorySettings,
    SearchReport,
    StoredRecord,
    accounted,
)
from ..record.lines import CHANCE_BITS, JSON, Refused, encode
from ..record.record import MAX_TEXT_BYTES, Draft, Origin, Record, union
from ..words.wording import content_words, facts
from .context import MainContext, Message
from .fence import fence, fence_turns, visible
from .recall import LEAST_SHARE, SHARE, RecallMemory, TurnRecall, asks_for_beginning, pieces_of, recall_for_turn
from .sessions import KNOWN, SessionTurn
from .specs import MAX_RESULTS, SPECS, ToolInputError, checked_arguments, ignored, own_names, specs_with

MAX_KEPT_TEXT = 4000
"""The most characters of a tool's result that recall keeps."""
RUNNING = 40
"""The most turns that a running turn may have added itself, which are not search results."""
MOST_UNKEPT = 1000
"""The most turns that may not be stored but can be searched."""
RECALLED_AT_MOST = 3
"""How many times more candidates than needed are examined: some are already in the prompt, or may not enter it."""
RECALL_SHARE = 0.5
"""Share of the prompt's budget for the records of one recall."""


class ToolArchive(Protocol):
    """The archive's interface for the tools."""

    settings: MemorySettings

    def offer(self, draft: Draft, origin: Origin, *, consented: bool = True) -> Decision:
        """Offer ``draft`` to the write gate and return its decision."""

    def search(
        self,
        query: str,
        *,
        user_id: str,
        k: int | None = None,
        types: Sequence[str] = (),
        min_confidence: float = 0.0,
        as_of: str | None = None,
        where: Circumstances = ANYWHERE,
    ) -> SearchReport:
        """Return the records that match ``query``."""

    def newest(
        self,
        user_id: str,
        k: int,
        *,
        types: Sequence[str] = (),
        as_of: str | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
    ) -> list[Record]:
        """Return the newest valid records with enough confidence for a prompt."""

    def asked_about(self, user_id: str) -> AbstractContextManager[None]:
        """Hold the archive while several questions about one user are asked."""

    def taint_of(self, record: Record, user_id: str) -> tuple[str, ...]:
        """Return the taint of this user's prompt if ``record`` enters it."""

    def core_taint(self, user_id: str, agent_id: str | None = None) -> tuple[str, ...]:
        """Return the taint of a prompt caused by its core sections."""

    def core_parents(self, user_id: str, agent_id: str | None = None) -> list[str]:
        """Return the ids of the core edits in the prompt that are in an agent's own words."""

    def today(self) -> date:
        """Return the day by the archive's clock."""

    def decision_under(self, first_id: str, *, user_id: str) -> Decision | None:
        """Return the decision on the offer that wrote a line with this id, if there is one."""

    def echo(self, record_id: str, origin: Origin) -> Decision:
        """Decide that an offer repeats a record that was recalled before."""

    def get(self, record_id: str, *, user_id: str | None = None) -> StoredRecord | None:
        """Return a record in its present state, None if it belongs to another user."""

    def learn(self, ids: Iterable[str], success: bool, origin: Origin, *, reason: str = "") -> list[str]:
        """Adjust the confidence of the live records among ``ids`` by an outcome, and return those records' ids."""

    def constraints(self, user_id: str, *, session_id: str | None = None, agent_id: str | None = None) -> list[Record]:
        """Return the live constraints that apply now, with enough confidence for a prompt."""

    def value(
        self, user_id: str, key: str, *, session_id: str | None = None, agent_id: str | None = None
    ) -> Record | None:
        """Return the newest clean record with this key."""

    def put(self, key: str, draft: Draft, origin: Origin, *, consented: bool = True) -> Decision:
        """Offer ``draft`` as the exact value under ``key``."""

    def core_sections(self, user_id: str, agent_id: str | None = None) -> dict[str, str]:
        """Return the core sections of this user's agent."""

    def edit_core(
        self, user_id: str, section: str, text: str, origin: Origin, *, reason: str = "", consented: bool = True
    ) -> Decision:
        """Offer ``text`` as the whole content of a core section."""


class MemoryTools:
    """Gives an agent its memory: every write passes the gate, and every recall is recorded.

    >>> tools = MemoryTools(MainContext(), ArchivalStore(), user_id="ada")
    >>> _ = tools.begin_turn("I prefer espresso", 1)
    >>> tools.call("archival_memory_insert", {"text": "Ada prefers espresso"}).partition(" ")[0]
    'admitted:'
    >>> [spec["name"] for spec in tools.specs()][:2]
    ['archival_memory_insert', 'archival_memory_search']
    """

    def __init__(
        self,
        main: MainContext,
        archive: ToolArchive,
        *,
        recall: RecallMemory | None = None,
        user_id: str | None = "local",
        session_id: str | None = None,
        agent_id: str | None = None,
        consented: Callable[[], bool] = lambda: True,
        speaker: str = "agent",
    ) -> None:
        self.main = main
        self.archive = archive
        self.recall = recall or RecallMemory(None)
        self.user_id = user_id or ""
        """Whose memory it is; without a user the gate keeps nothing and a search finds nothing."""
        self.session_id = session_id
        self.agent_id = agent_id
        """Which of the user's agents this is; records for one agent reach no other."""
        self.consented = consented
        self.speaker = speaker
        """The writer: the agent, or ``agent:NAME``, a program that types in the user's place without being the user."""
        self.events: list[dict[str, Any]] = []
        """Memory operations of the running turn, for the loop to drain."""
        self.unkept: list[SessionTurn] = []
        """The newest turns of this process that recall memory may not store; they end with the process."""
        self._origin = self._program()
        self.task_tags: tuple[str, ...] = ()
        self._recalled: dict[str, Record] = {}
        self._fits_turn: Mapping[str, Hit] = {}
        """The results of the search for the running turn, by id."""
        self._shown: dict[str, Record] = {}
        """Records recalled in this or an earlier turn, any of which a model may repeat."""
        self._shown_elsewhere: set[str] = set()
        """Ids of records that another process showed in this session, until they are looked up."""
        self._key: TurnCall | None = None
        """The key of the running call, if it may have been made before."""
        self._kept_before: Counter[tuple[str, str]] = Counter()
        """What recall memory holds of a replayed turn."""
        self.reload_core()
        if main.on_append is None:
            main.on_append = self._keep_turn

    def begin_turn(
        self,
        user_text: str | None,
        turn_id: int | None,
        *,
        taint: Sequence[str] = (),
        parents: Sequence[str] = (),
        task_tags: Sequence[str] = (),
    ) -> None:
        """Stamp what follows with a turn; only words in ``user_text`` count as the user's own. Discards old events.

        Args:
            user_text: What the user said; None if nobody spoke.
            turn_id: The number of the turn.
            taint: Origins that may have steered the prompt at the start of the turn; ``note_taint`` adds more.
            parents: Ids of records that entered the prompt in an earlier turn since the user spoke.
            task_tags: The words of the current task.
        """
        self._origin = Origin(
            actor=self.speaker,
            user_id=self.user_id,
            session_id=self.session_id,
            agent_id=self.agent_id,
            turn_id=turn_id,
            user_text=(user_text or "") if self.speaker == "agent" else "",
            taint=tuple(taint),
            parents=tuple(parents),
        )
        self.task_tags = tuple(task_tags)
        self._recalled, self._fits_turn = {}, {}
        self.events = []

    def note_taint(self, origins: Iterable[str]) -> None:
        """Note that text of these origins is in the prompt."""
        self._origin = self._origin._replace(taint=union(self._origin.taint or (), tuple(origins)))

    def note_recalled(self, ids: Iterable[str]) -> None:
        """Note that the host itself showed the model these records: repeating them is not new evidence."""
        # Records that fitted the turn were already read for it.
        found = (self._fits_turn.get(id) or self.archive.get(id, user_id=self.user_id) for id in ids)
        self._recall({one.record.id: one.record for one in found if one})

    def note_known(self, ids: Iterable[str]) -> None:
        """Note what the session knew when an earlier process saved it: repeating that is not new evidence either."""
        self._shown_elsewhere.update(ids)

    @contextmanager
    def under_key(self, key: "TurnCall") -> Iterator[None]:
        """Let the call within the block write only what was not yet written under its key."""
        self._key = key
        try:
            yield
        finally:
            self._key, self._origin = None, self._origin._replace(first_id=None)

    def repeat_turn(self, turn_id: int) -> None:
        """Note that an interrupted turn is being replayed: what recall memory has of it is not stored twice."""
        turns = self.recall.turns(self.session_id or "", self.user_id)
        self._kept_before = Counter((turn.role, turn.text) for turn in turns if turn.turn_id == turn_id)

    def masked(self, value: Any) -> Any:
        """Return ``value`` in a form for reports, with every secret in it hidden."""
        return masked_tree(value)

    def end_turn(self) -> None:
        """End the running turn: what is written now is the host program's own."""
        self._origin = self._program()

    def _program(self) -> Origin:
        return Origin(actor="program", user_id=self.user_id, session_id=self.session_id, agent_id=self.agent_id)

    def reload_core(self) -> None:
        """Reload the core sections from the archive."""
        self.main.core.update(self.archive.core_sections(self.user_id, self.agent_id))

    def archival_memory_insert(
        self,
        text: str | None = None,
        tags: Sequence[str] | None = (),
        *,
        content: str | None = None,
        type: str | None = None,
        supersedes: str | None = None,
        importance: float | None = None,
    ) -> str:
        """Offer a statement to long-term memory and return its record's id; raise Refused with the reasons."""
        from ..gate.extraction import draft_from_tool

        said = _either(text, content, "text")
        origin = self._stamped()
        echoed = self._echo_of(said, origin)
        taken: dict[str, Any] = {}
        if echoed is not None:
            decision = self.archive.echo(echoed.id, origin)
        else:
            today = self.archive.today()
            draft = draft_from_tool(said, origin, type=type, tags=_tags(tags), supersedes=supersedes, today=today)
            draft = draft._replace(importance=importance)
            if draft.source == "inferred":
                draft = draft._replace(source_url=next(iter(_addresses(origin.tainted_by)), None))
            decision = self.archive.offer(draft, origin, consented=self.consented())
            taken = {"type": draft.type} | {key: draft.extra[key] for key in ("due",) if key in draft.extra}
            if decision.decision == "refused" and decision.reasons[0].code == "transient":
                taken["passing"] = said
        return self._concluded("archival_memory_insert", decision, **taken)

    def memory_value(self, key: str, value: str | None = None) -> Record | str | None:
        """Return the record whose text is the exact value under ``key``, or store ``value`` there and return its id.

        Returns None if no clean record has the key; raises Refused with the gate's reasons.
        """
        if value is None:
            found = self.archive.value(self.user_id, key, session_id=self.session_id, agent_id=self.agent_id)
            self._recall({found.id: found} if found else {})
            self._record("value_read", key=mask(key), ids=[found.id] if found else [])
            return found
        from ..gate.extraction import draft_from_tool

        origin = self._stamped()
        draft = draft_from_tool(value, origin, type="fact", today=self.archive.today())._replace(tags=())
        decision = self.archive.put(key, draft, origin, consented=self.consented())
        return self._concluded("memory_value", decision, key=mask(key))

    def note_drawn(self, decision: Decision, text: str) -> None:
        """Report the decision on a piece that was drawn from earlier turns."""
        reasons = [{"code": reason.code, "message": reason.message} for reason in decision.reasons]
        if decision.decision != "refused":
            self._record("extracted", id=decision.id, decision=decision.decision, reasons=reasons, text=mask(text))

    def program_origin(self) -> Origin:
        """Return the origin of what is drawn from this session, without the turns themselves."""
        return self._program()._replace(actor=self.speaker)

    def sources_of(self, ids: Iterable[str]) -> list[dict[str, JSON]]:
        """Return the sources of the records that an answer cites; one drawn from several pages appears for each."""
        found = [stored.record for id in ids if (stored := self.archive.get(id, user_id=self.user_id))]
        return [
            {"id": record.id, "session_id": record.session_id, "turn_id": record.turn_id, "source_url": address}
            for record in found
            for address in _addresses((record.source_url or "", *record.taint)) or (None,)
        ]

    def recall_for_turn(self, words: str, task: str, shown: str) -> TurnRecall:
        """Return what fits the user's words, or else the current task, and is not yet in the ``shown`` prompt.

        ``retrieval.per_turn: 0`` switches it off.
        """
        if self.archive.settings.retrieval.per_turn <= 0 or not self.user_id:
            return TurnRecall()
        with self.archive.asked_about(self.user_id):
            return self._recall_for_turn(words, task, shown)

    def _recall_for_turn(self, words: str, task: str, shown: str) -> TurnRecall:
        settings = self.archive.settings.retrieval
        hits: dict[str, Hit] = {}
        lost: dict[str, str] = {}
        for query in dict.fromkeys((words, task)):
            if content_words(query):
                report = self.archive.search(
                    query,
                    user_id=self.user_id,
                    k=RECALLED_AT_MOST * settings.per_turn,
                    min_confidence=settings.min_confidence,
                    where=self,
                )
                hits = {hit.id: hit for hit in report.hits if _is_told_unasked(hit)} | hits
                lost |= {loser.id: loser.reason for loser in report.losers}
        turns = self.recall.holding(words, self.user_id, LEAST_SHARE) if content_words(words) else []
        earlier = [(share, turn) for share, turn in turns if not turn.text.rstrip().endswith("?")]
        ranked = sorted(hits.values(), key=lambda hit: (-hit.score, hit.id))
        self._fits_turn = hits
        pieces = pieces_of(ranked, earlier, self.taint_of)
        budget = int(self.main.max_tokens * SHARE)
        found = recall_for_turn(pieces, settings.per_turn, budget, self.main.count, shown)
        other = [{"id": id, "reason": reason} for id, reason in lost.items() if id not in hits]
        return found._replace(lost=(*found.lost, *other)[:ACCOUNTED])

    def archival_memory_search(
        self,
        query: str,
        top_k: int | None = None,
        *,
        limit: int | None = None,
        type: str | None = None,
        as_of: str | None = None,
    ) -> list[Hit]:
        """Return the records that best match ``query``, sure enough for a prompt; then the applicable constraints.

        A query without words lists the newest records. ``type`` limits the result to such records, and ``as_of``, a
        day, to what was true then.
        """
        hits, constraints, _ = self._search(query, _size(top_k, limit), type, as_of)
        return [*hits, *constraints]

    def core_memory_append(self, section: str, text: str | None = None, *, content: str | None = None) -> str:
        """Add a line to a core section and return the outcome."""
        line = _either(text, content, "text")
        old = self._section(section)
        new = f"{old}\n{line}" if old else line
        if not line.strip():
            return self._unchanged("core_memory_append", section, "there is no text to add")
        return self._edit_core("core_memory_append", section, new)

    def core_memory_replace(self, section: str, old: str, new: str) -> str:
        """Replace ``old`` by ``new`` in a core section and return the outcome."""
        now = self._section(section)
        found = now.count(old) if old else 0
        changed = now.replace(old, new) if old else now
        if found != 1:
            several = f"the old text occurs {found} times; quote more around it"
            return self._unchanged("core_memory_replace", section, several if found else "the old text is not there")
        if not changed.strip():
            return self._unchanged("core_memory_replace", section, "that would leave it empty; give its new text")
        return self._edit_core("core_memory_replace", section, changed)

    def learn(self, ids: Iterable[str], success: bool, reason: str = "") -> list[str]:
        """Adjust the confidence of the records that an action used by its outcome, and return their ids.

        A tainted turn changes none.
        """
        if not self.consented():
            return []
        learned = self.archive.learn(ids, success, self._stamped(), reason=reason)
        if learned:
            self._record("learn", ids=learned, success=success)
        return learned

    def remember_outcome(
        self, text: str, succeeded: bool, used: Sequence[str] = (), *, action: str, outcome: str, lesson: str,
    ) -> str | None:  # fmt: skip
        """Offer the outcome of a task, as ``text`` and in three keys, and adjust the records that the task relied on.

        Returns the record's id, None without the user's consent; raises Refused with the gate's reasons.
        """
        if not self.consented():
            return None
        told: dict[str, JSON] = {"action": action, "outcome": outcome, "lesson": lesson}
        self._origin = self._origin._replace(first_id=self._first_id(OUTCOME, told))
        origin = self._stamped()
        first_id = origin.first_id
        decision = None if first_id is None else self.archive.decision_under(first_id, user_id=self.user_id)
        if decision is None:
            from ..gate.extraction import INFERRED_CONFIDENCE

            tag = "succeeded" if succeeded else "failed"
            draft = Draft(text, "outcome", tags=(tag,), confidence=INFERRED_CONFIDENCE, source="learned", extra=told)
            if origin.actor == "agent":
                origin = origin._replace(parents=union(origin.parents, tuple(used)))
            decision = self.archive.offer(draft, origin)
            self._origin = self._origin._replace(first_id=None)
            if decision.decision != "refused":
                self.learn(used, succeeded, f"a task that used it {tag}")
        return self._concluded(OUTCOME, decision, type="outcome") or None

    def conversation_search(
        self, query: str, limit: int | None = None, *, top_k: int | None = None
    ) -> list[SessionTurn]:
        """Return this user's turns that best match ``query``, from every session, excluding the running turn.

        A question about what was said first returns the beginning of this session.
        """
        size, running = _size(top_k, limit), (self.session_id or "", self._origin.turn_id)
        if asks_for_beginning(query):
            kept = self.recall.turns(self.session_id or "", self.user_id)
            found = [turn for turn in [*kept, *self.unkept] if turn.role == "user"]
        else:
            found = self.recall.search(query, self.user_id, size + RUNNING, beside=self.unkept)
        turns = [turn for turn in found if (turn.session_id, turn.turn_id) != running or running[1] is None][:size]
        shown = [{"session": turn.session_id, "turn": turn.turn_id, "at": turn.at} for turn in turns]
        taint = union(*(turn.taint for turn in turns))
        self.note_taint(taint)
        under = union(*(turn.parents for turn in turns))
        self.note_recalled(under)
        more = {"paged_in": shown, "taint": list(taint)} | ({"parents": list(under)} if under else {})
        self._record("conversation_search", query=mask(query), found=len(turns), **more)
        return turns

    def specs(self) -> list[dict[str, Any]]:
        """Return name, description and JSON schema of each tool."""
        return [dict(spec) for spec in specs_with(self.main.core)]

    def own_names(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``args`` under the tool's own names, as policies judge them and the tool receives them."""
        return own_names(name, args, self.main.core)

    def call(self, name: str, args: Mapping[str, Any]) -> str:
        """Run one tool by name and return the text for the model; recalled text is fenced."""
        checked = checked_arguments(name, args, self.main.core)
        left_out = ", ".join(f"{visible(key):.40}" for key in ignored(name, args, self.main.core))
        return self._called(name, checked) + (
            f"\n(ignored, not an argument of {name}: {left_out:.200})" if left_out else ""
        )

    def _called(self, name: str, checked: dict[str, Any]) -> str:
        if name == "archival_memory_insert" and self._origin.actor == "agent":
            pieces = facts(checked["text"])
            if len(pieces) > 1:
                return self._inserted_apart(pieces, checked)
        self._origin = self._origin._replace(first_id=self._first_id(name, checked))
        earlier = self._written_before(name, checked)
        if earlier is not None:
            return earlier
        if name == "archival_memory_search":
            hits, constraints, overflow = self._search(
                checked["query"], checked.get("top_k"), checked.get("type"), checked.get("as_of")
            )
            more = f"{overflow} further constraints apply and are not shown." if overflow else ""
            return fence([*hits, *constraints], overflow=more)
        if name == "conversation_search":
            return fence_turns(self.conversation_search(**checked))
        if name == "archival_memory_insert":
            return self._told_insert(self.archival_memory_insert(**checked))
        if name == "memory_value":
            return self._told_value(checked["key"], self.memory_value(**checked))
        return str(getattr(self, name)(**checked))

    def _inserted_apart(self, pieces: Sequence[str], args: Mapping[str, Any]) -> str:
        """Insert the facts of one text as separate records; the one most like the old record corrects it."""
        from ..gate.duplicates import likeness

        old = self.archive.get(args["supersedes"], user_id=self.user_id) if "supersedes" in args else None
        corrects = max(pieces, key=lambda piece: likeness(piece, old.record.text if old else ""))
        told: list[str] = []
        ids: list[str] = []
        refused: list[Refused] = []
        for piece in pieces:
            left_out = () if piece == corrects else ("supersedes",)
            one = {key: value for key, value in args.items() if key not in left_out} | {"text": piece}
            try:
                told.append(self._called("archival_memory_insert", one))
                ids.append(str(self.events[-1]["id"]))
            except Refused as error:
                refused.append(error)
        if not told:
            raise refused[0]
        return "\n".join([*told, *(f"refused: {error}" for error in refused), f"ids: {', '.join(ids)}"])

    def _told_insert(self, record_id: str) -> str:
        return f"{self.events[-1]['decision']}: [{record_id}]" + _taken(self.events[-1]) + _why(self.events[-1])

    def _told_value(self, key: str, found: Record | str | None) -> str:
        if isinstance(found, str):
            return self._told_insert(found)
        return fence([found]) if found else f"Nothing clean is stored under {visible(key)}."

    def _first_id(self, name: str, args: Mapping[str, Any]) -> str | None:
        if self._key is None or name not in WRITING:
            return None
        return id_of_call(self._key, self.user_id, name, args)

    def _written_before(self, name: str, args: Mapping[str, Any]) -> str | None:
        """Return the running call's answer from before it was cut off, if it wrote something then."""
        first_id = self._origin.first_id
        decision = None if first_id is None else self.archive.decision_under(first_id, user_id=self.user_id)
        if decision is None:
            return None
        if "section" not in args:
            return self._told_insert(self._concluded(name, decision))
        self.reload_core()
        return self._told_edit(name, decision, str(args["section"]))

    def _search(
        self, query: str, k: int | None, type: str | None = None, as_of: str | None = None
    ) -> tuple[list[Hit], list[Hit], int]:
        least = self.archive.settings.retrieval.min_confidence
        report = self.archive.search(
            query,
            user_id=self.user_id,
            k=k,
            types=(type,) if type else (),
            min_confidence=least,
            as_of=as_of,
            where=self,
        )
        listed = report.hits if content_words(query) else self._newest(k or _size(None, None), type, as_of)
        hits, crowded_out = self._fitting(listed[:k])
        constraints, overflow = self._constraints(query, {hit.id for hit in listed}) if not type else ([], [])
        self._recall({hit.id: hit.record for hit in [*hits, *constraints]})
        taint = union(*(self.taint_of(hit.record) for hit in [*hits, *constraints]))
        self.note_taint(taint)
        self._record(
            "archival_memory_search",
            query=mask(query),
            ids=[hit.id for hit in [*hits, *constraints]],
            abstained=report.abstained,
            lost=accounted(report.losers),
            left_out=[hit.id for hit in [*crowded_out, *overflow]][:ACCOUNTED],
            taint=list(taint),
        )
        return hits, constraints, len(overflow)

    def _newest(self, k: int, type: str | None, as_of: str | None) -> Sequence[Hit]:
        """Return the result of a query without words: the newest records with enough confidence for a prompt."""
        types = (type,) if type else ()
        found = self.archive.newest(
            self.user_id, k, types=types, as_of=as_of, session_id=self.session_id, agent_id=self.agent_id
        )
        return [Hit(record, 0.0, {}) for record in found]

    def _recall(self, records: Mapping[str, Record]) -> None:
        self._recalled |= records
        self._shown = {id: record for id, record in self._shown.items() if id not in records} | dict(records)
        while len(self._shown) > KNOWN:
            del self._shown[next(iter(self._shown))]

    def _fitting(self, hits: Sequence[Hit]) -> tuple[list[Hit], list[Hit]]:
        """Return the hits that fit their share of the prompt, always including the best, and the other hits."""
        room, used = self.main.budget * RECALL_SHARE, 0
        for place, hit in enumerate(hits):
            used += self.main.count(hit.text)
            if place and used > room:
                return list(hits[:place]), list(hits[place:])
        return list(hits), []

    def _constraints(self, query: str, shown: set[str]) -> tuple[list[Hit], list[Hit]]:
        """Return the constraints that apply to ``query`` and are not ``shown`` yet, and those beyond the limit."""
        limit = self.archive.settings.retrieval.constraints_limit
        asked = set(content_words(query)) | {word for tag in self.task_tags for word in content_words(tag)}
        fitting = [
            Hit(record, 0.0, {"constraint": 1.0})
            for record in self.archive.constraints(self.user_id, session_id=self.session_id, agent_id=self.agent_id)
            if record.id not in shown and _applies(record, asked) and not self.taint_of(record)
        ]
        return fitting[:limit], fitting[limit:]

    def _echo_of(self, text: str, origin: Origin) -> Record | None:
        """Return the earlier recalled record that ``text`` repeats, unless the user is now saying it again."""
        from ..gate.extraction import says_own_words

        if len(text) > MAX_TEXT_BYTES or says_own_words(text, origin):
            return None  # longer text is refused, so it need not be compared first
        found = (self.archive.get(id, user_id=self.user_id) for id in sorted(self._shown_elsewhere))
        self._shown = {stored.record.id: stored.record for stored in found if stored} | self._shown
        self._shown_elsewhere.clear()
        if not self._shown:
            return None
        from ..gate.duplicates import likeness

        at = self.archive.settings.write.duplicate_at
        return next((record for record in self._shown.values() if likeness(text, record.text) >= at), None)

    def _edit_core(self, op: str, section: str, text: str) -> str:
        if len(text) > self.main.limit_of(section):
            why = f"{section} would have {len(text):,} characters; the limit is {self.main.limit_of(section):,}"
            return self._unchanged(op, section, why)
        decision = self.archive.edit_core(
            self.user_id, section, text, self._stamped(), reason=op, consented=self.consented()
        )
        if decision.decision == "admitted":
            self.main.core[section] = text
        return self._told_edit(op, decision, section)

    def _told_edit(self, op: str, decision: Decision, section: str) -> str:
        self._concluded(op, decision, section=section)
        if decision.decision == "quarantined":
            return f"Nothing changed yet: the new text of {section} waits for a person." + _why(self.events[-1])
        self.main.fit()
        return f"{section} now reads:\n{self.main.core[section]}"

    def _section(self, section: str) -> str:
        if section not in self.main.core:
            raise ToolInputError(f"There is no core section {section!r:.60}. There are {', '.join(self.main.core)}.")
        return self.main.core[section]

    def _unchanged(self, op: str, section: str, why: str) -> str:
        self._record(op, decision="unchanged", section=section)
        return f"Nothing changed: {why}."

    def _stamped(self) -> Origin:
        parents: dict[str, None] = {}
        if self._origin.actor == self.speaker:
            in_core = self.archive.core_parents(self.user_id, self.agent_id)
            parents = dict.fromkeys((*self._origin.parents, *self._recalled, *in_core))
        return self._origin._replace(session_id=self.session_id, parents=tuple(parents))

    def core_taint(self) -> tuple[str, ...]:
        """Return the taint of a prompt caused by its core memory."""
        return self.archive.core_taint(self.user_id, self.agent_id)

    def taint_of(self, record: Record) -> tuple[str, ...]:
        """Return the taint of a prompt that this record enters."""
        return self.archive.taint_of(record, self.user_id)

    def _concluded(self, op: str, decision: Decision, **more: Any) -> str:
        reasons = [{"code": reason.code, "message": reason.message} for reason in decision.reasons]
        stored = self.archive.get(decision.id) if decision.id and self._origin.taint else None
        marked = {"taint": list(stored.record.taint)} if stored and stored.record.taint else {}
        self._record(op, id=decision.id, decision=decision.decision, reasons=reasons, **marked, **more)
        if decision.decision == "refused":
            raise Refused(decision.reasons)
        return decision.id or ""

    def _record(self, op: str, **more: Any) -> None:
        self.events.append({"op": op, **more})

    def hold(self, message: Message) -> None:
        """Keep a message that may not be stored: it can be found for as long as this process lasts."""
        role, text = str(message.get("role", "user")), str(message.get("content") or "")
        where = self.user_id, self.session_id or "", self._origin.turn_id
        self.unkept.append(self.recall.stamped(*where, role, text, tuple(message.get("taint") or ())))
        del self.unkept[:-MOST_UNKEPT]

    def _keep_turn(self, message: Message) -> None:
        if message.get("role") == "system" or message.get("name") in MEMORY_TOOL_NAMES:
            # The results of memory tools are recalled text; storing it would make it look newly said.
            return
        calls = [f"[called {call.get('name')} {call.get('args')}]" for call in message.get("tool_calls") or ()]
        text = "\n".join(part for part in (str(message.get("content") or ""), *calls) if part)
        bounded = text[:MAX_KEPT_TEXT] if message.get("role") == "tool" else text
        if bounded:
            role = str(message.get("role", "user"))
            if self._was_kept(role, bounded):
                return
            taint = tuple(message.get("taint") or ())
            under = () if role == "user" else union(self._origin.parents, tuple(self._recalled))
            self.recall.append(self.user_id, self.session_id or "", self._origin.turn_id, role, bounded, taint, under)

    def _was_kept(self, role: str, text: str) -> bool:
        """Return whether recall memory has this part of a replayed turn, once for each time it has it."""
        said = (role, mask(text)) if self._kept_before else None
        if said is None or not self._kept_before[said]:
            return False
        self._kept_before[said] -= 1
        return True


OUTCOME = "outcome"
"""The operation with which the loop reports the outcome of a task."""
WRITING = frozenset({"archival_memory_insert", "core_memory_append", "core_memory_replace", "memory_value", OUTCOME})
MEMORY_TOOL_NAMES = frozenset(str(spec["name"]) for spec in SPECS)


def _is_told_unasked(hit: Hit) -> bool:
    """Return whether a record fits a turn that did not ask for it: what shares no word with it has to mean much of it.

    Something always resembles a request for a joke a little.
    """
    is_meant_alone = "similarity" in hit.parts and not hit.parts["coverage"] and "relation" not in hit.parts
    return not is_meant_alone or hit.parts["similarity"] >= LEAST_SHARE


def _applies(record: Record, asked: set[str]) -> bool:
    """Return whether a constraint shares a tag or word with the question; one without tags always applies."""
    told = {word for tag in record.tags for word in content_words(tag)} | set(content_words(record.text))
    return not record.tags or bool(told & asked)


def _either(first: str | None, second: str | None, name: str) -> str:
    value = first if first is not None else second
    if first is not None and second is not None:
        raise ToolInputError(f"{name} is given twice, once as content.")
    if not isinstance(value, str):
        raise ToolInputError(f"{name} is missing.")
    return value


def _size(*given: int | None) -> int:
    wanted = next((size for size in given if size is not None), 5)
    return max(1, min(int(wanted), MAX_RESULTS))


def _tags(tags: Sequence[str] | None) -> tuple[str, ...]:
    return (tags,) if isinstance(tags, str) else tuple(tags or ())


def _taken(event: Mapping[str, Any]) -> str:
    """Return how the wording of a record was interpreted, unless it is a plain fact."""
    due = f", due {event['due']}" if "due" in event else ""
    return f" ({event['type']}{due})" if event.get("type", "fact") != "fact" else ""


def _why(event: Mapping[str, Any]) -> str:
    return "".join(f" {reason['message']}" for reason in event.get("reasons", ()))


def _addresses(origins: Iterable[str]) -> tuple[str, ...]:
    """Return the pages among the origins of a taint, without repeats, in the order in which they were read."""
    return tuple(dict.fromkeys(one for one in origins if one.startswith(("https://", "http://"))))


NUMBER_BITS = 16
"""The bits of an id's random part that keep the writes of one turn in order."""


class TurnCall(Protocol):
    """Identifies a call within a turn."""

    @property
    def name(self) -> str:
        """Return a name that is the same whenever the turn is replayed."""

    @property
    def moment(self) -> int:
        """Return when the turn was opened, in milliseconds since 1970."""

    @property
    def number(self) -> int:
        """Return the number of the call in its turn."""


def id_of_call(key: TurnCall, user_id: str, tool: str, args: Mapping[str, JSON]) -> str:
    """Return the id of the first line that a call writes; with other arguments it would be another call."""
    told = json.dumps([user_id, key.name, tool, args], sort_keys=True, default=str)
    digest = hashlib.sha256(told.encode(errors="backslashreplace")).digest()
    chance = int.from_bytes(digest[: (CHANCE_BITS - NUMBER_BITS) // 8])
    number = key.number % (1 << NUMBER_BITS) << CHANCE_BITS - NUMBER_BITS
    return encode(key.moment << CHANCE_BITS | number | chance)
