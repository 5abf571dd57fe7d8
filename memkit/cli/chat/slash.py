"""Slash commands of a chat: what a person may ask of the program itself, without the model."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from memkit.cli.chat.conversation import Conversation
from memkit.errors import UsageError
from memkit.store.schema import suggestion
from memkit.terminal import one_line
from memkit.use_cases.explain_turn import explain_turn
from memkit.use_cases.search_memory import search_memory
from memkit.use_cases.undo_turn import undo_turn

SHOWN = 20
"""How many records ``/memory`` lists."""


def run_slash(chat: Conversation, line: str) -> str:
    """Run a line such as ``/search coffee`` and return what it shows."""
    name, _, argument = line.strip().partition(" ")
    if name not in COMMANDS:
        raise UsageError(f"There is no {name}.{suggestion(name, list(COMMANDS))} /help lists the commands.")
    return COMMANDS[name][0](chat, argument.strip())


def _help(chat: Conversation, argument: str) -> str:
    return "\n".join(f"{name:<10} {about}" for name, (_, about) in COMMANDS.items())


def _memory(chat: Conversation, argument: str) -> str:
    records = chat.workspace.archive.records(user_id=chat.user)
    lines = [f"[{record.id}] {record.type}: {one_line(record.text, 100)}" for record in records[-SHOWN:]]
    consent = chat.workspace.archive.consent(chat.user)
    state = {True: "granted", False: "withdrawn", None: "not given yet"}[consent]
    return "\n".join(
        [f"{len(records)} records of {one_line(chat.user)}; consent to long-term memory: {state}.", *lines]
    )


def _core(chat: Conversation, argument: str) -> str:
    sections = {name: text for name, text in chat.agent.main.core.items() if text}
    return "\n".join(f"{name}:\n{text}" for name, text in sections.items()) or "Core memory is empty."


def _context(chat: Conversation, argument: str) -> str:
    main = chat.agent.main
    tiers = "\n".join(f"  {name:<10} {tokens:>7}" for name, tokens in main.usage().items())
    return f"{main.used()} of {main.max_tokens} tokens in use:\n{tiers}"


def _search(chat: Conversation, argument: str) -> str:
    if not argument:
        raise UsageError("/search needs words to look for: /search coffee.")
    report = search_memory(chat.workspace, argument, user=chat.user)
    lines = [f"[{hit.id}] {hit.score:.2f} {one_line(hit.text, 100)}" for hit in report.hits]
    return "\n".join(lines) or "Nothing relevant."


def _skills(chat: Conversation, argument: str) -> str:
    skills = chat.workspace.skills.values()
    return "\n".join(f"{skill.name}: {one_line(skill.description, 100)}" for skill in skills) or "No skills."


def _policy(chat: Conversation, argument: str) -> str:
    rules = chat.workspace.live_guard.advice()
    fault = chat.workspace.live_guard.fault
    if fault is not None:
        return f"The policies do not load, so every tool call is denied: {fault}"
    return "\n".join(f"{rule.name}: {one_line(rule.rule, 160)}" for rule in rules) or "No policies."


def _why(chat: Conversation, argument: str) -> str:
    account = explain_turn(chat.workspace, user=chat.user, session=chat.session)
    if account.turn is None:
        return "Nothing was recalled, written or judged in this session yet."
    lines = [f"Turn {account.turn}:"]
    lines += [f"looked nothing up: {account.skipped}"] if account.skipped else []
    for search in account.searches:
        lines.append(
            f"searched “{one_line(str(search['query']), 80)}”: {', '.join(search['ids'] or ()) or 'nothing relevant'}"
        )
        lines += [f"  lost: {loser['id']} ({loser['reason']})" for loser in (search["candidates"] or ())[:SHOWN]]
    lines += [f"  left out of the prompt: {one['id']} ({one['reason']})" for one in account.left_out[:SHOWN]]
    lines += [f"cited: {', '.join(account.cited)}"] if account.cited else []
    for event in account.writes:
        reason = f" ({event['reason']})" if event["reason"] else ""
        lines.append(f"{event['event']}: {', '.join(event['ids'] or []) or 'nothing stored'}{reason}")
    for event in account.plans:
        lines += _way(event["choice"], event["outcome"])
    for event in account.policy:
        lines += [
            f"policy {found['name']} decided {found['decision']} on {event['tool']}: {found['reason']}"
            for found in event["policies"]
        ]
    return "\n".join(lines)


def _way(choice: Mapping[str, Any] | None, outcome: str) -> list[str]:
    """Return which way a task was solved, and what else was considered."""
    if choice is None:
        return [f"planned: {outcome}"]
    lines = [f"planned by {choice['kind']} ({outcome}): {one_line(choice['reason'], 160)}"]
    others = (other for other in choice["considered"] if not other["fits"])
    return lines + [f"  not by {other['kind']}: {one_line(other['reason'], 160)}" for other in others]


def _undo(chat: Conversation, argument: str) -> str:
    undone = undo_turn(chat.workspace, user=chat.user, session=chat.session)
    if not undone:
        return "Nothing to undo: this session wrote nothing that is still live."
    chat.changed = True
    return "\n".join(f"Undone: [{record.id}] {one_line(record.text, 100)}" for record in undone)


def _export(chat: Conversation, argument: str) -> str:
    messages = chat.agent.recall.turns(chat.session, chat.user)
    turns = [{"at": turn.at, "role": turn.role, "text": turn.text, "turn": turn.turn_id} for turn in messages]
    text = "\n".join(json.dumps(turn, ensure_ascii=False) for turn in turns)
    if not argument:
        return text or "Nothing was kept of this session."
    path = Path(argument).expanduser()
    try:
        # What was said here is for this user of the machine only.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    except FileExistsError:
        raise UsageError(f"{path} exists already, and stays as it is. Name another file.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}.") from error
    wrote = f"Wrote {len(turns)} turn{'' if len(turns) == 1 else 's'} of this session to {path}."
    return f"{wrote} Everything that is held on you: memkit memory export --user {shlex.quote(chat.user)}"


def _quit(chat: Conversation, argument: str) -> str:
    return "Goodbye."


COMMANDS: dict[str, tuple[Callable[[Conversation, str], str], str]] = {
    "/help": (_help, "List these commands."),
    "/memory": (_memory, "List what is remembered of you."),
    "/core": (_core, "Show core memory, which is in every prompt."),
    "/context": (_context, "Show how full the prompt is, tier by tier."),
    "/search": (_search, "Search long-term memory: /search WORDS."),
    "/skills": (_skills, "List the store's skills."),
    "/policy": (_policy, "List the rules that every action is judged by."),
    "/why": (_why, "Say what the last turn recalled, what lost, how it planned, and which policy decided."),
    "/undo": (_undo, "Take back what the last turn wrote."),
    "/export": (
        _export,
        "Print this session, or write it: /export FILE (all of memory: memkit memory export).",
    ),
    "/quit": (_quit, "Leave."),
}
