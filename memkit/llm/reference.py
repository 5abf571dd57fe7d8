"""The reference model: rules instead of a network, so that memory, policies and plans can be seen and tested.

It sees what any model sees, messages and tool specs, and does everything through tool calls. A turn is a script that
asks for tool calls; each completion plays the script again over the results so far, so the model itself keeps nothing.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.llm.claims import MANY, Claim, read_claim, read_claims, slot_of, to_second_person
from memkit.llm.gaps import read_gap, subtasks_for
from memkit.llm.patience import Patience
from memkit.llm.questions import Asked, key_words, read_question
from memkit.llm.recalled import Recalled, recalled_records, said_turns
from memkit.llm.requests import Action, read_action, read_forget, read_task
from memkit.loop.consent import consent_in
from memkit.loop.fencing import unfenced
from memkit.loop.interface import Completion, Message, ToolCall, ToolSpec
from memkit.loop.turn import QUESTION
from memkit.loop.virtual_context import INSTRUCTION

Script = Generator[tuple[str, dict[str, Any]], str, str]
"""Yields tool calls, receives their results, returns the answer."""

SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
HELLO = r"(?:hi|hello|hey|good (?:morning|afternoon|evening)|greetings)(?: there| again| everybody)?"
GREETING = re.compile(rf"^{HELLO}(?:,? \w+)?\W*$", re.IGNORECASE)
OPENING = re.compile(rf"^{HELLO}\s*[,.!]+\s*(?=\w)", re.IGNORECASE)
THANKS = re.compile(r"^(?:many )?(?:thanks|thank you|thx|cheers|great|perfect|cool|nice)\b.{0,30}$", re.IGNORECASE)
BYE = re.compile(r"^(?:bye|goodbye|see you|good night)\b.{0,20}$", re.IGNORECASE)
HELP = re.compile(r"^(?:help|what can you do|how does this work|who are you)\b", re.IGNORECASE)
STORED = re.compile(r"\[([^\[\]\s]+)\]")

HELP_TEXT = """I am memkit's reference model: simple rules, no network. You can
- tell me things ("My dog is called Rex", "I prefer espresso") and correct them ("no, my dog is called Max"),
- ask about them later, also in another session ("What is my dog called?"): I answer with the record's id,
- have something forgotten ("don't remember that", "forget where I live"),
- ask for a task of a domain ("deliver book shop", "plan: release web production"),
- ask for an action ("run `rm -rf /srv`", "deploy to production", "send hello to bob"); policies judge it first."""

NO_ACTION = "I read this step and did nothing: it names no tool that I could call."


@dataclass(frozen=True)
class Heard:
    """What a turn consists of, as the messages show it."""

    text: str
    results: tuple[str, ...]
    earlier: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    is_instruction: bool = False
    """Whether a program says what to do, and nobody tells of themselves."""

    def offers(self, name: str) -> bool:
        """Return whether there is a tool of this name."""
        return any(tool.name == name for tool in self.tools)


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
        script = _carry_out(heard) if heard.is_instruction else _answer(heard)
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


def _answer(heard: Heard) -> Script:
    """Answer a whole message: one kind of request, or sentence by sentence."""
    text = heard.text.strip()
    gap = read_gap(text) if heard.offers("propose_subtasks") else None
    if gap is not None:
        return (yield from _propose(gap))
    small = _small_talk(text)
    if small is not None:
        return small
    text = OPENING.sub("", text)
    forget = read_forget(text)
    if forget is not None and heard.offers("memory_retract"):
        return (yield from _forget(heard, forget))
    task = read_task(text, heard.tools)
    if task is not None:
        return (yield from _plan(task))
    action = read_action(text, heard.tools)
    if action is not None:
        return (yield from _act(action))
    answers: list[str] = []
    for sentence in filter(str.strip, SENTENCE.split(text)):
        answers.append((yield from _sentence(heard, sentence.strip())))
    said = list(dict.fromkeys(answer for answer in answers if answer))
    return " ".join(said) or "Tell me something about yourself, ask me about it, or say 'help'."


def _carry_out(heard: Heard) -> Script:
    """Do what one step of a skill names: a task to plan or a tool to call. The rest is for people and other models."""
    task = read_task(heard.text, heard.tools)
    if task is not None:
        return (yield from _plan(task))
    action = read_action(heard.text, heard.tools)
    # Prose begins with a capital, and "Make sure" is no call of make.
    if action is None or str(action.args.get("command", "")[:1]).isupper():
        return NO_ACTION
    return (yield from _act(action))


def _small_talk(text: str) -> str | None:
    agreed = consent_in(text)
    if agreed is not None and read_claim(text.split(".")[0]) is None:
        if agreed:
            return "Thank you. From now on I remember what you tell me; say again what I should know from before."
        return "All right, I store nothing from now on."
    for pattern, answer in (
        (HELP, HELP_TEXT),
        (GREETING, "Hello! Tell me something to remember, ask me about it, or say 'help'."),
        (THANKS, "You are welcome."),
        (BYE, "Goodbye."),
    ):
        if pattern.match(text):
            return answer
    return None


def _sentence(heard: Heard, sentence: str) -> Script:
    if consent_in(sentence) is not None:
        return ""
    claims = [] if sentence.endswith("?") else read_claims(sentence)
    if claims:
        answers = []
        for claim in claims:
            answers.append((yield from _remember(heard, claim)))
        return " ".join(answers)
    if QUESTION.search(sentence):
        return (yield from _look_up(heard, sentence))
    return ""


# --- remembering


def _remember(heard: Heard, claim: Claim) -> Script:
    if not heard.offers("archival_memory_insert"):
        return "I have no long-term memory in this conversation, so this stays in it."
    old = (yield from _superseded(claim)) if claim.corrects else None
    args = {"text": claim.text, **({"supersedes": old.id} if old else {})}
    result = yield "archival_memory_insert", args
    if "(consent)" in result:
        return (
            "I may not keep that for later: you have not agreed to long-term memory (consent). "
            'Say "yes, you may remember" and tell me again.'
        )
    if result.startswith(("Error", "Policy")):
        return f"I did not store that: {_reason(result)}"
    told = to_second_person(claim.text)
    if result.startswith("quarantined"):
        return f"I set that aside until a person approves it: {told}."
    if result.startswith("merged"):
        return f"I knew that already: {told}."
    if claim.slot == "name" and heard.offers("core_memory_append"):
        yield from _keep_in_core(claim, old)
    if old:
        return f"Corrected: {told}. It replaces what I had: “{old.text}”."
    return f"Noted: {told}."


def _keep_in_core(claim: Claim, old: Recalled | None) -> Generator[tuple[str, dict[str, Any]], str, None]:
    """Put the user's name where every prompt shows it."""
    if old is not None:
        replaced = yield "core_memory_replace", {"section": "human", "old": old.text, "new": claim.text}
        if replaced.startswith("human"):
            return
    yield "core_memory_append", {"section": "human", "text": claim.text}


def _superseded(claim: Claim) -> Generator[tuple[str, dict[str, Any]], str, Recalled | None]:
    """Return the record that the user corrects: the same subject with another value."""
    asked = _subject(claim)
    for query in asked.queries:
        found = recalled_records((yield "archival_memory_search", {"query": query}))
        for record in found:
            slot, value = slot_of(record.text)
            same = slot == claim.slot if claim.slot not in MANY else _alike(record.text, claim.text)
            if same and value.lower() != claim.value.lower():
                return record
    return None


def _subject(claim: Claim) -> Asked:
    questions = {"name": "What is my name?", "home": "Where do I live?", "work": "Where do I work?"}
    if claim.slot in questions:
        return read_question(questions[claim.slot])
    if claim.slot.startswith("my "):
        return Asked(claim.slot, (claim.slot.removeprefix("my "),))
    return Asked(claim.slot, (" ".join(key_words(claim.text)),))


def _alike(one: str, other: str) -> bool:
    """Return whether two statements share at least half of the words of the shorter one."""
    first, second = set(key_words(one)), set(key_words(other))
    return 2 * len(first & second) >= min(len(first), len(second)) > 0


# --- answering


def _look_up(heard: Heard, sentence: str) -> Script:
    asked = read_question(sentence)
    if not heard.offers("archival_memory_search"):
        return (yield from _look_back(heard, sentence, asked))
    found: dict[str, Recalled] = {}
    for query in asked.queries:
        result = yield "archival_memory_search", {"query": query}
        records = recalled_records(result)
        found |= {record.id: record for record in records if asked.slot in (None, slot_of(record.text)[0])}
        if found and asked.slot != "taste":
            break
    if not found:
        return (yield from _look_back(heard, sentence, asked))
    return _told(asked, list(found.values()))


def _told(asked: Asked, records: Sequence[Recalled]) -> str:
    if asked.slot == "taste":
        return " ".join(f"{_clause(record)} [{record.id}]." for record in records)
    if asked.slot is None:
        return f"{_clause(records[0])} [{records[0].id}]."
    newest = sorted(records, key=lambda record: record.date, reverse=True)
    others = [record for record in newest[1:] if slot_of(record.text)[1].lower() != slot_of(newest[0].text)[1].lower()]
    answer = f"{_clause(newest[0])} [{newest[0].id}]."
    if others:
        answer += (
            " I also have: " + "; ".join(f"{_clause(record)} [{record.id}]" for record in others) + ". Which is right?"
        )
    return answer


def _clause(record: Recalled) -> str:
    doubt = "" if record.facts.get("trust", "verified") == "verified" else " (not confirmed)"
    return to_second_person(record.text.strip().rstrip(".!")) + doubt


def _look_back(heard: Heard, sentence: str, asked: Asked) -> Script:
    """Answer from what was said in conversations, when long-term memory has nothing."""
    unknown = "I do not know. Nothing I remember is about that."
    if not heard.offers("conversation_search"):
        return unknown
    wanted = set(key_words(sentence))
    for turn in said_turns((yield "conversation_search", {"query": " ".join(asked.queries)})):
        if turn.role != "user":
            continue
        for said in SENTENCE.split(turn.text):
            fits = (
                slot_of(said)[0] == asked.slot if asked.slot else 2 * len(wanted & set(key_words(said))) > len(wanted)
            )
            if fits and said.strip() and not QUESTION.search(said):
                return f"You said on {turn.at}: “{said.strip()}” I have no record of it in long-term memory."
    return unknown


# --- forgetting, planning, acting


def _forget(heard: Heard, what: str) -> Script:
    if what:
        asked = read_question(what if what.lower().startswith("where") else f"what is {what}?")
        ids: list[str] = []
        for query in dict.fromkeys((*asked.queries, " ".join(key_words(what)) or what)):
            records = recalled_records((yield "archival_memory_search", {"query": query}))
            ids = [record.id for record in records if asked.slot in (None, slot_of(record.text)[0])][:1]
            ids = ids or [record.id for record in records if _alike(record.text, what)][:1]
            if ids:
                break
    else:
        ids = _last_written(heard.earlier)
    if not ids:
        return "I found nothing to forget. Say it in the words you used when you told me."
    gone: list[str] = []
    for record_id in ids:
        result = yield "memory_retract", {"id": record_id}
        if result.startswith(("Error", "Policy")):
            return f"I could not forget that: {_reason(result)}"
        said = result.partition("which said: ")[2] or record_id
        gone.append(f"Forgotten: “{to_second_person(said)}”.")
    return " ".join([*gone, "It will not be stored again."])


def _last_written(earlier: Sequence[Message]) -> list[str]:
    """Return the ids that the newest turn with a write wrote."""
    ids: list[str] = []
    for message in reversed(earlier):
        if message.get("role") == "tool" and message.get("name") == "archival_memory_insert":
            ids += STORED.findall(message.get("content", ""))
        elif message.get("role") == "user" and ids:
            break
        elif message.get("role") == "assistant" and not ids:
            ids += re.findall(r"\((?:stored|already known): ([^\s()]+)\)", message.get("content", ""))
    return list(dict.fromkeys(ids))


def _propose(gap: Mapping[str, Any]) -> Script:
    """Answer a planner that no method helps on."""
    subtasks = subtasks_for(gap)
    if subtasks:
        yield "propose_subtasks", {"subtasks": subtasks}
    return ""


def _plan(task: str) -> Script:
    result = yield "plan_task", {"task": task}
    if result.startswith(("Error", "Policy")):
        return f"I could not plan that: {_reason(result)}"
    return result


def _act(action: Action) -> Script:
    result = yield action.tool, action.args
    if result.startswith("Policy"):
        return f"I did not do that. {_reason(result)}"
    if result.startswith("There is no tool"):
        return f"I cannot do that: there is no tool {action.tool!r} here, so nothing was done."
    if result.startswith("Error"):
        return f"That did not work: {_reason(result)}"
    return f"Done with {action.tool}: {unfenced(result)}"


def _reason(result: str) -> str:
    """Return what a tool said went wrong, without what it says to the model."""
    text = result.removeprefix("Error: ").split(" Tell the user")[0]
    return unfenced(text)
