"""Slash commands of a chat: requests to the program itself, without the model."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memkit.cli.chat.conversation import LOOKED_AT, OFF_RECORD, TerminalConversation
from memkit.cli.chat.pages import missed_by, what_came
from memkit.cli.output import require_person, suggestion
from memkit.errors import NotFound, UsageError
from memkit.llm.providers import introduced
from memkit.runtime.host.terminal import one_line, tainted
from memkit.runtime.loop.tiers import working_lines
from memkit.runtime.memory.record.record import Record
from memkit.use_cases.accounts import TurnAccount, explain_turn
from memkit.use_cases.memory import mark_entry, undo_turn
from memkit.use_cases.models import model_named
from memkit.use_cases.recall import search_memory

# The slash commands about past turns: ``/why`` explains one, ``/undo`` takes back what it wrote.

SHOWN = 20
"""The most losers of a search that are named."""

Named = Callable[[str], str]
"""Returns a record's id with the beginning of its text."""


def show_reasons(conversation: TerminalConversation, argument: str) -> str:
    """Return the reasons for a turn's course: the last one's, or those of the turn whose number is given."""
    turn = _number(argument, "/why")
    account = explain_turn(conversation.workspace, user=conversation.user, session=conversation.session, turn=turn)
    if account.turn is None:
        which = f"turn {turn} of this session" if turn is not None else "this session yet"
        return f"Nothing was recalled, written or judged in {which}."

    def named(record_id: str) -> str:
        stored = conversation.workspace.archive.get(record_id, user_id=conversation.user)
        return f"{record_id} “{one_line(stored.record.text, 70)}”" if stored else record_id

    return "\n".join([f"Turn {account.turn}:", *_reasons(account, named)])


def undo(conversation: TerminalConversation, argument: str) -> str:
    """Take back the writes of the last turn that wrote anything, or of the turn whose number is given."""
    turn = _number(argument, "/undo")
    undone = undo_turn(conversation.workspace, user=conversation.user, session=conversation.session, turn=turn)
    if undone.turn is None or not (undone or undone.before):
        which = "this session" if undone.turn is None else f"turn {undone.turn}"
        return f"Nothing to undo: {which} wrote nothing."
    if undone.before:
        return f"Nothing to undo: turn {undone.turn} was already undone. Say it again to restore it."
    conversation.changed = True
    conversation.agent.reload_core()
    core = conversation.agent.main.core
    lines = [f"Undone: [{record.id}] {one_line(record.text, 100)}" for record in undone.records]
    lines += [
        f"Undone: core memory, {name} reads {one_line(core.get(name) or 'nothing', 100)}" for name in undone.sections
    ]
    lines += [
        f"Not changed: core memory, {name} was edited after turn {undone.turn} ('memkit core set' changes it) and "
        f"still reads {one_line(core.get(name) or 'nothing', 100)}"
        for name in undone.kept
    ]
    lines += [
        f"Undone: the pending edit of core memory, {name}, is withdrawn; its text is unchanged."
        for name in undone.withdrawn
    ]
    lines += [f"Undone: your confirmation of [{record.id}] {one_line(record.text, 80)}" for record in undone.evidence]
    lines += [f"Remembered again: [{record.id}] {one_line(record.text, 80)}" for record in undone.remembered]
    return "\n".join(lines)


def approve(conversation: TerminalConversation, argument: str) -> str:
    """Release what waits for a person: a record, an edit of core memory, or an agent's request to change a record."""
    if not argument:
        raise UsageError("/approve needs the id of a pending item: /approve ID.")
    require_person("/approve")
    standing = mark_entry(conversation.workspace, "approve", argument, user=conversation.user)
    conversation.changed = True
    conversation.agent.reload_core()
    outdated = f" {standing.outdated} has been edited since and no longer says this." if standing.outdated else ""
    return f"Approved: [{one_line(argument)}], now {standing.status}.{outdated}"


def clean(conversation: TerminalConversation, _argument: str) -> str:
    """Remove outside content, and whatever was made of it, from the conversation."""
    left = conversation.agent.clean()
    return f"Clean: {left} messages left the conversation. They can still be found, and taint what uses them."


def _number(argument: str, command: str) -> int | None:
    if not argument:
        return None
    if not (argument.isascii() and argument.isdigit() and len(argument) < 10):
        raise UsageError(f"{command} takes a turn number; {one_line(argument, 40)} is not one.")
    return int(argument)


def _reasons(account: TurnAccount, named: Named) -> Iterator[str]:
    if account.skipped:
        yield f"looked nothing up: {account.skipped}"
    for search in account.searches:
        yield from _search(search, named)
    for one in account.left_out[:SHOWN]:
        yield f"left out of the prompt: {named(one['id'])} ({one['reason']})"
    for record_id in dict.fromkeys(account.cited):
        yield f"cited: {named(record_id)}"
    for event in account.writes:
        yield _write(event, named)
    for event in account.plans:
        yield from _way(event["choice"], event["outcome"])
    for event in account.policy:
        yield from _verdict(event)


def _search(search: Mapping[str, Any], named: Named) -> Iterator[str]:
    found = [str(record_id) for record_id in search["ids"] or ()]
    turns = [one for one in search.get("paged_in") or () if not isinstance(one, str)]
    count = len(found) + len(turns)
    outcome = f"{count} recalled" if count else "nothing relevant"
    yield f"searched {_asked(search.get('query'))}{missed_by(search)}: {outcome}"
    yield from (f"  recalled: {named(record_id)}" for record_id in found)
    if turns:
        yield f"  recalled: {what_came(turns)}"
    lost = search["candidates"] or ()
    yield from (f"  lost: {named(loser['id'])} ({loser['reason']})" for loser in lost[:SHOWN])
    if len(lost) > SHOWN:
        yield f"  and {len(lost) - SHOWN} more not chosen"


def _asked(query: str | None) -> str:
    """Return the query of a search; without the user's consent the account omits their words."""
    if query is None:
        return "words that were not kept"
    return f"“{one_line(query, 80)}”" if query.strip() else "with no words to look for"


def _write(event: Mapping[str, Any], named: Named) -> str:
    reason = f" ({event['reason']})" if event["reason"] else ""
    if event.get("section"):
        return f"{event['event']}: core memory, {event['section']}{reason}"
    return f"{event['event']}: {', '.join(map(named, event['ids'] or [])) or 'nothing stored'}{reason}"


def _way(choice: Mapping[str, Any] | None, outcome: str) -> Iterator[str]:
    """Yield how a task was solved, and what else was considered."""
    if choice is None:
        yield f"planned: {outcome}"
        return
    yield f"planned by {choice['kind']} ({outcome}): {one_line(choice['reason'], 160)}"
    others = (other for other in choice["considered"] if not other["fits"])
    yield from (f"  not by {other['kind']}: {one_line(other['reason'], 160)}" for other in others)


def _verdict(event: Mapping[str, Any]) -> Iterator[str]:
    if not event["policies"]:
        yield f"no policy objected to {event['tool']}"
    for found in event["policies"]:
        yield f"policy {found['name']} decided {found['decision']} on {event['tool']}: {one_line(found['reason'], 160)}"


# The slash commands about memory: ``/memory``, ``/core``, ``/search`` and ``/export``.

ON_AGAIN = "Memory is on again. What was said while it was off is not kept, and has left the prompt."
CONSENT = {True: "granted", False: "withdrawn", None: "not given yet"}


def show_memory(conversation: TerminalConversation, argument: str) -> str:
    """Return the user's newest records, or everything about one; ``off`` and ``on`` switch memory for this chat."""
    if argument in ("off", "on"):
        was_off = conversation.agent.is_off_record
        conversation.agent.switch_memory(on=argument == "on")
        return OFF_RECORD if argument == "off" else ON_AGAIN if was_off else "Memory is already on."
    if argument:
        return _record(conversation, argument)
    records = conversation.workspace.archive.records(user_id=conversation.user)
    lines = [_listed(record) for record in records[-SHOWN:]]
    consent = CONSENT[conversation.workspace.archive.consent(conversation.user)]
    left = f" The newest {SHOWN}:" if len(records) > SHOWN else ""
    counted = f"{len(records)} record{'' if len(records) == 1 else 's'}"
    whose = one_line(conversation.user) or "nobody"
    lines += list(_open(conversation))
    return "\n".join([f"{counted} of {whose}; consent to long-term memory: {consent}.{left}", *lines])


def _listed(record: Record) -> str:
    mark = tainted(record.taint)
    return f"[{record.id}] {record.type}: {one_line(record.text, 100)}{f' ({mark})' if mark else ''}"


def _open(conversation: TerminalConversation) -> Iterator[str]:
    """Yield the open questions between records of the user, and what waits for a person."""
    archive, user = conversation.workspace.archive, conversation.user
    for question in archive.open_questions(user_id=user, most=LOOKED_AT)[:SHOWN]:
        ids = " or ".join(f"[{one_line(id)}]" for id in question.ids)
        yield f"open: {question.why} {ids} Which holds: memkit memory resolve ID --holds [--since DATE]"
    for one in archive.waiting(user_id=user)[:SHOWN]:
        yield f"waits: [{one_line(one.id)}] {one.kind}: {one_line(one.text, 100)} Approve it: /approve ID"


def records_of(conversation: TerminalConversation) -> Iterable[tuple[str, str]]:
    """Return the arguments of ``/memory``: its switches, and the user's records by id, newest first."""
    yield from (("off", "Keep nothing of what is said from now on."), ("on", "Keep again what is agreed to."))
    records = conversation.workspace.archive.records(user_id=conversation.user)
    yield from ((record.id, record.text) for record in reversed(records))


def show_core(conversation: TerminalConversation, _argument: str) -> str:
    """Return the sections of core memory that are not empty."""
    sections = {name: text for name, text in conversation.agent.main.core.items() if text}
    return "\n".join(f"{name}:\n{text}" for name, text in sections.items()) or "Core memory is empty."


def search(conversation: TerminalConversation, argument: str) -> str:
    """Return the records in long-term memory that fit some words."""
    if not argument:
        raise UsageError("/search needs words to look for: /search coffee.")
    report = search_memory(conversation.workspace, argument, conversation.user)
    archive, user = conversation.workspace.archive, conversation.user
    marks = (tainted(archive.taint_of(hit.record, user)) for hit in report.hits)
    lines = [
        f"[{hit.id}] {hit.score:.2f} {one_line(hit.text, 100)}{f' ({mark})' if mark else ''}"
        for hit, mark in zip(report.hits, marks, strict=True)
    ]
    return "\n".join(lines) or "Nothing relevant."


def export(conversation: TerminalConversation, argument: str) -> str:
    """Return the turns of this session, or write them to a file that does not exist yet."""
    kept = conversation.agent.recall.turns(conversation.session, conversation.user)
    turns = [{"at": turn.at, "role": turn.role, "text": turn.text, "turn": turn.turn_id} for turn in kept]
    text = "\n".join(json.dumps(turn, ensure_ascii=False) for turn in turns)
    if not argument:
        return text or "Nothing was kept of this session."
    path = Path(argument).expanduser()
    try:
        # The conversation is for this user of the machine only.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    except FileExistsError:
        raise UsageError(f"{path} already exists and was left unchanged. Name another file.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}.") from error
    wrote = f"Wrote {len(turns)} turn{'' if len(turns) == 1 else 's'} of this session to {path}."
    return f"{wrote} All your data: memkit memory export --user {shlex.quote(conversation.user)}"


def _record(conversation: TerminalConversation, record_id: str) -> str:
    stored = conversation.workspace.archive.get(record_id, user_id=conversation.user)
    if stored is None:
        raise NotFound(f"You have no record {one_line(record_id, 60)}. /memory lists yours.")
    record = stored.record
    said = ", ".join(f"{name} {value}" for name, value in _facts(record.to_data()))
    history = [
        f"  {entry['at']} {entry['op']} by {entry['actor']}"
        + (", without effect" if entry.get("held") else "")
        + (f": {entry['reason']}" if entry["reason"] else "")
        for entry in stored.history
    ]
    return "\n".join([f"[{record.id}] {one_line(record.text)}", f"  {stored.status}, {said}", *history])


def _facts(data: Mapping[str, object]) -> list[tuple[str, object]]:
    wanted = ("type", "scope", "confidence", "source", "trust", "taint", "session_id", "turn_id", "supersedes")
    return [(name.removesuffix("_id"), data[name]) for name in (*wanted, "valid_until") if data.get(name) is not None]


# The slash commands about the agent's surroundings: ``/context``, ``/skills`` and ``/policy``.

BAR = 30
APART = "summary_"
"""The prefix of the counts that summaries cost."""


def show_context(conversation: TerminalConversation, _argument: str) -> str:
    """Return how many tokens of the prompt each tier takes, as bars, and what the session cost."""
    usage = conversation.agent.context_usage()
    budget, tiers = usage["budget"], [("in all", usage["used"]), *usage["tiers"].items()]
    return "\n".join(
        [
            f"The prompt may have {budget:,} tokens.",
            *(meter(name, tokens, budget) for name, tokens in tiers),
            cost(conversation.agent.spent),
        ]
    )


def show_task(conversation: TerminalConversation, _argument: str) -> str:
    """Return the current task: what is done, wanted and decided, and what comes next."""
    working = working_lines(conversation.agent.tasks.working)
    return "\n".join(one_line(line, 160) for line in working) or "No current task."


def meter(name: str, tokens: int, budget: int) -> str:
    """Return a line with a bar; anything above zero is visible.

    >>> meter("core", 2000, 8000)
    '  core        ████████······················   2,000  25 %'
    """
    share = tokens / budget if budget else 0.0
    full = min(BAR, max(round(share * BAR), 1 if tokens else 0))
    return f"  {name:<10}  {'█' * full:·<{BAR}} {tokens:>7,} {share:>4.0%}".replace("%", " %")


def cost(usage: Mapping[str, int]) -> str:
    """Return what a session cost, and how much of that is an estimate.

    >>> cost({"input": 1200, "output": 30, "requests": 4, "cached": 800, "estimated": 1})
    'The model was asked 4 times: 1,200 tokens in (800 from its cache), 30 out. Of 1 answer they are estimated.'
    """
    summaries = {key.removeprefix(APART): count for key, count in usage.items() if key.startswith(APART)}
    apart = "\n" + _cost("For summaries a model", {"input": 0, "output": 0, **summaries}) if summaries else ""
    return _cost("The model", usage) + apart


def _cost(who: str, usage: Mapping[str, int]) -> str:
    again = f" ({usage['retries']} more after an error)" if usage.get("retries") else ""
    cached = f" ({usage['cached']:,} from its cache)" if usage.get("cached") else ""
    said = f"{who} was asked {_times(usage['requests'])}{again}: {usage['input']:,} tokens in{cached}, "
    guessed = usage.get("estimated", 0)
    of = f" Of {guessed} answer{'' if guessed == 1 else 's'} they are estimated." if guessed else ""
    return f"{said}{usage['output']:,} out.{of}"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"


def show_model(conversation: TerminalConversation, argument: str) -> str:
    """Return the name of the model, or switch to another model of the same provider, if its server knows it."""
    if not argument:
        model = conversation.agent.model
        how = "/model NAME lets another one answer" if hasattr(model, "vendor") else "'memkit setup' chooses another"
        return f"{introduced(model)} answers; {how}."
    conversation.agent.answered_by(model_named(conversation.workspace, conversation.provider, argument))
    return f"{introduced(conversation.agent.model)} answers from now on, here. For good: memkit setup."


def show_skills(conversation: TerminalConversation, argument: str) -> str:
    """Return the store's skills, or the steps of one."""
    skills = conversation.workspace.skills
    if not argument:
        return "\n".join(f"{one.name}: {one_line(one.description, 100)}" for one in skills.values()) or "No skills."
    if argument not in skills:
        raise NotFound(f"There is no skill {one_line(argument, 60)}.{suggestion(argument, skills)}")
    skill = skills[argument]
    steps = [f"  {number}. {one_line(step)}" for number, step in enumerate(skill.steps, 1)]
    checks = [f"  check: {one_line(check)}" for check in skill.safety_checks]
    return "\n".join([f"{skill.name}: {one_line(skill.description)}", *steps, *checks])


def skills_of(conversation: TerminalConversation) -> Iterable[tuple[str, str]]:
    """Return the store's skills by name."""
    return ((skill.name, skill.description) for skill in conversation.workspace.skills.values())


def show_policy(conversation: TerminalConversation, argument: str) -> str:
    """Return the rules that judge every action, or one of them in full."""
    guard = conversation.workspace.live_guard
    guard.begin_turn()  # as the next turn will
    rules = {rule.name: rule.rule for rule in guard.advice()}
    if guard.fault is not None:
        return f"The policies do not load, so every tool call is denied: {guard.fault}"
    if not argument:
        return "\n".join(f"{name}: {one_line(rule, 160)}" for name, rule in rules.items()) or "No policies."
    if argument not in rules:
        raise NotFound(f"There is no policy {one_line(argument, 60)}.{suggestion(argument, rules)}")
    return f"{argument}: {one_line(rules[argument])}\nAll of it: memkit policy show {argument}"


def policies_of(conversation: TerminalConversation) -> Iterable[tuple[str, str]]:
    """Return the policies by name."""
    return ((rule.name, rule.rule) for rule in conversation.workspace.live_guard.advice())


Words = Callable[[TerminalConversation], Iterable[tuple[str, str]]]
"""The possible arguments of a command, each with a short description."""


def no_words(_conversation: TerminalConversation) -> Iterable[tuple[str, str]]:
    """Return that there are no particular arguments."""
    return ()


FILES: Words = lambda _conversation: ()  # noqa: E731 - a mark: the editor completes the names of files
"""The arguments of a command that takes a file."""


@dataclass(frozen=True)
class SlashCommand:
    """What a command does, and its help."""

    run: Callable[[TerminalConversation, str], str]
    about: str
    argument: str = ""
    words: Words = no_words


def run_slash(conversation: TerminalConversation, line: str) -> str:
    """Run a line such as ``/search coffee`` and return its output."""
    name, _, argument = line.strip().partition(" ")
    if name not in COMMANDS:
        raise UsageError(f"There is no {name}.{suggestion(name, COMMANDS)} /help lists the commands.")
    return COMMANDS[name].run(conversation, argument.strip())


def _help(_conversation: TerminalConversation, _argument: str) -> str:
    usages = {f"{name} {command.argument}".strip(): command.about for name, command in COMMANDS.items()}
    width = max(map(len, usages))
    return "\n".join(f"{usage:<{width}}  {about}" for usage, about in usages.items())


COMMANDS: dict[str, SlashCommand] = {
    "/help": SlashCommand(_help, "List these commands."),
    "/memory": SlashCommand(
        show_memory, "List what is remembered of you, show one record, or keep nothing more.", "[ID|off|on]", records_of
    ),
    "/core": SlashCommand(show_core, "Show core memory, which is in every prompt."),
    "/context": SlashCommand(show_context, "Show how full the prompt is, tier by tier."),
    "/task": SlashCommand(show_task, "Show the task at hand: what is done, wanted, decided and next."),
    "/search": SlashCommand(search, "Search long-term memory.", "WORDS"),
    "/model": SlashCommand(show_model, "Say who answers, or let another model answer.", "[NAME]"),
    "/skills": SlashCommand(show_skills, "List the store's skills, or show one.", "[NAME]", skills_of),
    "/policy": SlashCommand(show_policy, "List the rules that judge every action, or show one.", "[NAME]", policies_of),
    "/why": SlashCommand(show_reasons, "Say what a turn recalled, what lost, and which policy decided.", "[TURN]"),
    "/approve": SlashCommand(approve, "Release what waits for a person.", "ID"),
    "/clean": SlashCommand(clean, "Take what came from outside, and what was made of it, out of the conversation."),
    "/undo": SlashCommand(undo, "Take back what the last turn wrote, or another one.", "[TURN]"),
    "/export": SlashCommand(export, "Print this session, or write it to a file.", "[FILE]", FILES),
    "/quit": SlashCommand(lambda _conversation, _argument: "Goodbye.", "Leave."),
}
