"""The reference model: a few rules instead of a network, so that memory, policies and plans can be seen and tested.

It sees what any model sees, messages and tool specs, and does everything through tool calls. A turn is a script that
asks for tool calls; each completion plays the script again over the results so far, so the model itself keeps nothing.
It understands plain sentences only, and of what it does not understand it stores nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memkit.errors import UsageError
from memkit.llm.providers import REFERENCE, ModelAddress, Patience
from memkit.llm.rules import acting
from memkit.llm.rules.acting import read_action, read_gap, read_skill_request, read_task
from memkit.llm.rules.answering import (
    GREETING,
    NOT_READ,
    STAND_IN,
    answer,
    finish,
    forget,
    read_forget,
    remember,
    small_talk,
)
from memkit.llm.rules.reading import INSERT, Heard, Script
from memkit.runtime.loop.consent import consent_in
from memkit.runtime.loop.interface import Completion, Message, ToolCall, ToolSpec
from memkit.runtime.loop.virtual_context import INSTRUCTION
from memkit.runtime.memory.gate.statements import is_question, read_message, sentences_of

LONGEST = 20_000
"""Characters of a message that are looked at."""


class ReferenceModel:
    """Answers by rule, through tool calls, the same way every time."""

    introduction = REFERENCE

    @classmethod
    def open(
        cls,
        argument: str,
        model: str | None = None,
        folder: Path | None = None,
        patience: Patience | None = None,
        address: ModelAddress | None = None,
    ) -> ReferenceModel:
        """Return the model; it takes no argument."""
        if argument:
            raise UsageError(f"The reference provider takes no argument, and got '{argument}'.")
        return cls()

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return the next tool call of the turn, or its answer."""
        heard = hear(messages, tools)
        if heard is None:
            return Completion("")
        script = acting.carry_out(heard, heard.text) if heard.is_instruction else _respond(heard)
        try:
            call = next(script)
            for result in heard.results:
                call = script.send(result)
        except StopIteration as ended:
            text = str(ended.value)
            first = text and not heard.is_instruction and not any(map(_is_answer, heard.earlier))
            return Completion(f"{text}\n{STAND_IN}" if first else text)
        return Completion(tool_calls=(ToolCall(f"call-{len(messages)}", call[0], call[1]),))


def _is_answer(message: Message) -> bool:
    """Return whether a message shows that the session has begun before: an answer, or a summary of what left."""
    summed_up = message.get("role") == "system" and "Summary of earlier messages" in (message.get("content") or "")
    return message.get("role") == "assistant" or summed_up


def hear(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Heard | None:
    """Return the running turn, or None when no user is waiting for an answer."""
    spoken = [place for place, message in enumerate(messages) if message.get("role") == "user"]
    spoken = [place for place in spoken if messages[place].get("name") != "memory"]
    if not spoken or messages[spoken[-1]].get("name") == "heartbeat":
        return None
    start = spoken[-1]
    results = tuple(message.get("content", "") for message in messages[start:] if message.get("role") == "tool")
    said = messages[start]
    return Heard(
        said.get("content", ""), results, tuple(messages[:start]), tuple(tools), said.get("name") == INSTRUCTION
    )


def _respond(heard: Heard) -> Script:
    """Answer a whole message: one kind of request, or sentence by sentence."""
    text = heard.text.strip()[:LONGEST]
    gap = read_gap(text) if heard.offers("propose_subtasks") else None
    if gap is not None:
        return (yield from acting.propose(gap))
    said = small_talk(text, heard.earlier, remembers=heard.offers(INSERT)) or (yield from _request(heard, text))
    return said or (yield from _sentences(heard, text)) or NOT_READ


def _request(heard: Heard, text: str) -> Script:
    """Do what a message asks for as a whole: forget, plan, act or follow a skill; an empty text for anything else."""
    what = read_forget(text)
    if what is not None:
        return (yield from forget(heard, what))
    task = read_task(text, heard.tools)
    if task is not None:
        return (yield from acting.plan(task))
    skill = read_skill_request(text, heard)
    if skill is not None and (told := (yield from skill)):
        return told
    action = read_action(text, heard.tools)
    return (yield from acting.act(action)) if action is not None else ""


def _sentences(heard: Heard, text: str) -> Script:
    """Answer each question, and store each plain statement; where a part of the message is doubtful, none."""
    answers: list[str] = []
    said = [one for one in sentences_of(text) if consent_in(one) is None and not GREETING.match(one)]
    told = read_message(said, text, heard.said)
    for sentence, statements in zip(said, told, strict=True):
        if is_question(sentence):
            answers.append((yield from answer(heard, sentence)))
            continue
        answers.append((yield from finish(heard, sentence)))
        for statement in statements if not answers[-1] else ():
            answers.append((yield from remember(heard, statement)))
    return " ".join(dict.fromkeys(filter(None, answers)))
