"""What the model sees: the prompt of the running turn, what enters it and what leaves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from .books import usage_of
from .interface import JSON, Message, ToolSpec
from .prompt import Persona, Prompt, TurnParts
from .reply import Announcements
from .taint import BROUGHT, marked, new_marker, without_outside, without_tainted
from .tiers import WorkingMemory, working_lines
from .tools import Tools
from .virtual_context import Block, Found, VirtualContextMemory, is_data

CONSTRAINTS = "constraints"
"""The block for which old messages leave the prompt."""
FITTING = {"archive": "remembered", "recall": "said before"}
"""What the block of a tier is called whose pieces fit the user's words."""
NO_PROMPT = ("system", "tools", "recalled", "working")
"""Tiers that nothing is in where no model is asked."""


class PromptSources(Protocol):
    """What the prompt is made of; looked up each time, because a host may put another one in its place."""

    @property
    def memory(self) -> VirtualContextMemory:
        """Return core and the conversation."""

    @property
    def toolbox(self) -> Tools:
        """Return the tools, the policies, and the books of the turn."""

    @property
    def working(self) -> WorkingMemory:
        """Return the task at hand."""

    @property
    def told(self) -> Announcements:
        """Return whoever listens."""

    @property
    def model(self) -> object | None:
        """Return what reads the prompt, if anything does."""

    @property
    def persona(self) -> Persona:
        """Return who the agent is."""


class ModelView:
    """Keeps the prompt within its budget, and tells whoever listens what enters and leaves it."""

    def __init__(self, parts: PromptSources) -> None:
        """Show ``parts``."""
        self.recalled = ""
        """What the loop recalled for this turn, fenced."""
        self._given = parts
        self._words: str | None = None
        """The user's words, which the prompt has to show."""
        self._written: Prompt | None = None
        self._marker = new_marker()

    def open(self, words: str | None) -> None:
        """Make room for what every prompt needs, before anything of a turn enters."""
        if self._is_read:
            self._prompt.begin()
            self._tell_paged()
        self._words, self.recalled = words, ""

    def add(self, message: Message) -> None:
        """Append a message to the conversation; all but what the user says is composed under what stands there."""
        books = self._given.toolbox.books
        is_spoken = message.get("role") == "user" and not is_data(message)
        taint = (BROUGHT,) if is_spoken and books.brought.strip() else () if is_spoken else books.ledger.taint
        self._given.memory.add(marked(message, taint))
        self._tell_paged()

    def leave_outside(self) -> None:
        """Take out of the prompt what came from outside and was answered; what was made of it stays."""
        main = self._given.memory.main
        left = without_outside(main.messages)
        if left != list(main.messages):
            main.restore(left, main.summary)

    def clean(self) -> int:
        """Take everything tainted out of the prompt, and return how many messages left."""
        main, books, working = self._given.memory.main, self._given.toolbox.books, self._given.working
        before = len(main.messages)
        kept = without_tainted(main.messages)
        main.restore(kept, "" if books.standing else main.summary)
        if working.taint:
            working.__dict__.update(WorkingMemory(max_items=working.max_items).__dict__)
        self.recalled = ""
        books.clean()
        return before - len(kept)

    def fitting_memory(self, words: str, shown: str) -> tuple[list[Block], Sequence[Mapping[str, JSON]]]:
        """Return what memory holds that fits the user's words or the task and is not ``shown``, and what lost."""
        memory, main, working = self._given.toolbox.memory, self._given.memory.main, self._given.working
        find = getattr(memory, "recall_for_turn", None)
        if find is None:
            return [], ()
        said = [str(message.get("content") or "") for message in main.messages]
        task = " ".join([working.task, *(goal.text for goal in working.goals)]) if working.task else ""
        recalled = find(words, task, "\n".join([shown, main.render_core(), *said]))
        found: dict[str, list[Found]] = {}
        for piece in recalled.pieces:
            found.setdefault(FITTING[piece.tier], []).append(
                Found(piece.tier, piece.text, piece.fit, piece.id, parents=piece.parents)
            )
        self._given.toolbox.books.leave_out([""] * recalled.tainted, [])
        return [Block(name, tuple(items)) for name, items in found.items()], recalled.lost

    def show(self, blocks: Sequence[Block], query: str, lost: Sequence[Mapping[str, JSON]] = ()) -> str:
        """Return recalled blocks as the prompt shows them, as far as they fit, after taking them into the books."""
        blocks = self._fitting(self.clean_of(blocks))
        ids = [record_id for block in blocks for record_id in block.ids]
        operation: dict[str, JSON] = {"op": "recall", "tier": "archive", "query": query, "ids": ids}
        if under := list(dict.fromkeys(id for block in blocks for item in block.found for id in item.parents)):
            operation["parents"] = under
        self._given.toolbox.books.recalled(operation, lost)
        self._given.told.tell("recalled", blocks=[{"tier": block.tier, "ids": block.ids} for block in blocks])
        return self._given.memory.render(blocks)

    def clean_of(self, blocks: Sequence[Block]) -> list[Block]:
        """Return of recalled blocks what is clean, and enter what is left out."""
        tainted = [(block.tier, item) for block in blocks for item in block.found if item.taint]
        held = [item.id for tier, item in tainted if tier == CONSTRAINTS and item.id]
        self._given.toolbox.books.leave_out([item.id or "" for _, item in tainted], held)
        clean = [replace(block, found=tuple(item for item in block.found if not item.taint)) for block in blocks]
        if held:
            told = Found("archive", f"({len(held)} constraints came from outside and wait for a person; not shown)")
            clean = [
                replace(block, found=(*block.found, told)) if block.tier == CONSTRAINTS else block for block in clean
            ]
        return [block for block in clean if block.found]

    def messages(self) -> list[Message]:
        """Return the prompt; raises ``PromptTooLarge`` where what every prompt needs does not fit."""
        messages = self._prompt.messages(self._parts)
        self._tell_paged()
        return messages

    def specs(self, tools: Sequence[ToolSpec]) -> list[ToolSpec]:
        """Return tools as the prompt has room for them."""
        return self._prompt.specs(tools)

    def usage(self) -> dict[str, JSON]:
        """Return how many tokens the prompt takes, of how many, and in which tiers; ``used`` is their sum."""
        main = self._given.memory.main
        if not self._is_read:
            return usage_of({**dict.fromkeys(NO_PROMPT, 0), **main.usage()}, main.max_tokens)
        tiers = self._prompt.usage(self._parts)
        self._tell_paged()
        return usage_of(tiers, main.max_tokens)

    @property
    def _is_read(self) -> bool:
        """Return whether there is a model that reads the prompt."""
        return self._given.model is not None

    @property
    def _prompt(self) -> Prompt:
        """Return what writes the prompt; made anew when the tools, the budget or who writes changed."""
        parts = self._given.persona, self._given.memory.main, self._given.toolbox.guard, self._given.toolbox.specs()
        if self._written is None or not self._written.fits(*parts):
            self._written = Prompt(*parts, marker=self._marker)
        return self._written

    @property
    def _parts(self) -> TurnParts:
        return TurnParts(self._words, self.recalled, working_lines(self._given.working))

    def _fitting(self, blocks: Sequence[Block]) -> list[Block]:
        """Return of recalled blocks what may enter the prompt; old messages leave it for constraints only."""
        if not self._is_read:
            return list(blocks)
        rooms = {CONSTRAINTS: self._prompt.room_for_constraints()}
        fitting = []
        for block in blocks:
            room = rooms.get(block.tier, self._prompt.room_for_recalled())
            fitting.append(Block(block.tier, tuple(self._given.memory.fitting(block.found, room))))
        return fitting

    def _tell_paged(self) -> None:
        """Note and tell what left the prompt since this was asked last."""
        for gone in self._given.memory.paged_out():
            summary = self._given.toolbox.memory.masked(gone.summary)
            told = {"messages": gone.messages, "tokens": gone.tokens, "summary": summary}
            self._given.toolbox.books.note({"op": "page_out", **told})
            self._given.told.tell("paged_out", **told)
