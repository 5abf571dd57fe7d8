"""The reference model: rules instead of a network, so that memory, policies and plans can be seen and tested.

It sees what any model sees, messages and tool specs, and does everything through tool calls. A turn is a script that
asks for tool calls; each completion plays the script again over the results so far, so the model itself keeps nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memkit.errors import UsageError
from memkit.llm.providers import Patience
from memkit.llm.rules import acting, small_talk
from memkit.llm.rules.acting import read_gap, read_skill_request
from memkit.llm.rules.answering import answer
from memkit.llm.rules.claims import read_claims, read_replacement
from memkit.llm.rules.questions import LONGEST_MESSAGE, is_question, sentences_of
from memkit.llm.rules.reading import Heard, Script, spoken_of, with_antecedent
from memkit.llm.rules.remembering import finish, forget, remember, replace_value, told_together
from memkit.llm.rules.requests import read_action, read_forget, read_task
from memkit.runtime.loop.consent import consent_in
from memkit.runtime.loop.interface import Completion, Message, ToolCall, ToolSpec
from memkit.runtime.loop.virtual_context import INSTRUCTION

RETRACT = "memory_retract"
NO_RETRACTION = "I cannot take anything back here: there is no tool for it. `memkit memory forget ID` does it."
NOT_KEPT = "All right: I keep that message in this conversation only, and stored nothing of it."
MOST_CLAIMS = 6
"""Statements that one turn stores; each is a tool call, and a turn has few of them."""
TOO_MANY = "That is a lot at once: I took the first {most}. Tell me the rest in another message."


class ReferenceModel:
    """Answers by rule, through tool calls, the same way every time."""

    @classmethod
    def open(
        cls, argument: str, model: str | None = None, folder: Path | None = None, patience: Patience | None = None
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
            return Completion(str(ended.value))
        return Completion(tool_calls=(ToolCall(f"call-{len(messages)}", call[0], call[1]),))


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
    text = heard.text.strip()
    gap = read_gap(text) if heard.offers("propose_subtasks") else None
    if gap is not None:
        return (yield from acting.propose(gap))
    short = text[:LONGEST_MESSAGE]
    bare = small_talk.OPENING.sub("", short)
    said = small_talk.small_talk(short, heard.earlier) or small_talk.small_talk(bare, heard.earlier)
    if said is None:
        said = yield from _request(heard, bare)
    return (
        said
        or small_talk.beyond_rules(text)
        or (yield from _sentences(heard, text))
        or small_talk.not_understood(short)
    )


def _request(heard: Heard, text: str) -> Script:
    """Do what a message asks for as a whole: forget, plan, act or follow a skill; an empty text for anything else."""
    what = read_forget(text)
    if what is not None:
        return (yield from forget(heard, what)) if heard.offers(RETRACT) else NO_RETRACTION
    task = read_task(text, heard.tools)
    if task is not None:
        return (yield from acting.plan(task))
    skill = read_skill_request(text, heard)
    if skill is not None and (told := (yield from skill)):
        return told
    action = read_action(text, heard.tools)
    return (yield from acting.act(action)) if action is not None else ""


def _sentences(heard: Heard, text: str) -> Script:
    answers: list[str] = []
    claims = 0
    sentences = sentences_of(small_talk.OPENING.sub("", text))
    if len(sentences) > 1 and "" in map(read_forget, sentences):
        return NOT_KEPT
    for place, sentence in enumerate(sentences):
        told: list[Message] = [{"role": "user", "content": one} for one in sentences[:place]]
        if consent_in(sentence) is not None:
            continue
        if is_question(sentence):
            from memkit.llm.rules.recounting import recount

            answers.append((yield from recount(heard, sentence) or answer(heard, sentence)))
            continue
        # Who was asked what is right says it without a word like "no".
        replacement = read_replacement(f"no, {sentence}" if small_talk.asked_what_is_right(heard.earlier) else sentence)
        if replacement is not None:
            answers.append((yield from replace_value(heard, replacement, spoken_of(heard.earlier))))
            continue
        sentence = with_antecedent(sentence, [*heard.earlier, *told])
        closed = yield from finish(heard, sentence.rstrip(".! "))
        for claim in read_claims(sentence) if not closed else ():
            if claims == MOST_CLAIMS:
                return told_together([*filter(None, answers), TOO_MANY.format(most=MOST_CLAIMS)])
            claims += 1
            answers.append((yield from remember(heard, claim)))
        answers.append(closed)
    return told_together([answer for answer in answers if answer])
