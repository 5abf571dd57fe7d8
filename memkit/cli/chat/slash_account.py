"""The slash commands that look back on a turn: ``/why`` explains it, ``/undo`` takes back what it wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from memkit.cli.chat.conversation import Conversation
from memkit.cli.chat.showing import missed_by, what_came
from memkit.errors import UsageError
from memkit.terminal import one_line
from memkit.use_cases.explain_turn import TurnAccount, explain_turn
from memkit.use_cases.undo_turn import undo_turn

SHOWN = 20
"""How many losers of a search are named."""

Named = Callable[[str], str]
"""Return a record's id with the beginning of its text."""


def show_reasons(conversation: Conversation, argument: str) -> str:
    """Return why a turn went as it did: the last one, or the one whose number is given."""
    turn = _number(argument, "/why")
    account = explain_turn(conversation.workspace, user=conversation.user, session=conversation.session, turn=turn)
    if account.turn is None:
        which = f"turn {turn} of this session" if turn is not None else "this session yet"
        return f"Nothing was recalled, written or judged in {which}."

    def named(record_id: str) -> str:
        stored = conversation.workspace.archive.get(record_id, user_id=conversation.user)
        return f"{record_id} “{one_line(stored.record.text, 70)}”" if stored else record_id

    return "\n".join([f"Turn {account.turn}:", *_reasons(account, named)])


def undo(conversation: Conversation, argument: str) -> str:
    """Take back what the last turn that wrote anything wrote, or the turn whose number is given."""
    turn = _number(argument, "/undo")
    undone = undo_turn(conversation.workspace, user=conversation.user, session=conversation.session, turn=turn)
    if undone.turn is None or not (undone or undone.before):
        which = "this session" if undone.turn is None else f"turn {undone.turn}"
        return f"Nothing to undo: {which} wrote nothing."
    if undone.before:
        return f"Nothing to undo: what turn {undone.turn} wrote was taken back already. Tell it again to have it back."
    conversation.changed = True
    conversation.agent.reload_core()
    core = conversation.agent.main.core
    lines = [f"Undone: [{record.id}] {one_line(record.text, 100)}" for record in undone.records]
    lines += [
        f"Undone: core memory, {name} reads {one_line(core.get(name) or 'nothing', 100)}" for name in undone.sections
    ]
    lines += [f"Undone: that you said again [{record.id}] {one_line(record.text, 80)}" for record in undone.evidence]
    lines += [f"Remembered again: [{record.id}] {one_line(record.text, 80)}" for record in undone.remembered]
    return "\n".join(lines)


def _number(argument: str, command: str) -> int | None:
    if not argument:
        return None
    if not (argument.isascii() and argument.isdigit() and len(argument) < 10):
        raise UsageError(f"{command} takes the number of a turn, and {one_line(argument, 40)} is none.")
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
        yield f"  and {len(lost) - SHOWN} more that lost"


def _asked(query: str | None) -> str:
    """Return what was searched for; without the user's consent their words are not in the account."""
    if query is None:
        return "words that were not kept"
    return f"“{one_line(query, 80)}”" if query.strip() else "with no words to look for"


def _write(event: Mapping[str, Any], named: Named) -> str:
    reason = f" ({event['reason']})" if event["reason"] else ""
    if event.get("section"):
        return f"{event['event']}: core memory, {event['section']}{reason}"
    return f"{event['event']}: {', '.join(map(named, event['ids'] or [])) or 'nothing stored'}{reason}"


def _way(choice: Mapping[str, Any] | None, outcome: str) -> Iterator[str]:
    """Yield which way a task was solved, and what else was considered."""
    if choice is None:
        yield f"planned: {outcome}"
        return
    yield f"planned by {choice['kind']} ({outcome}): {one_line(choice['reason'], 160)}"
    others = (other for other in choice["considered"] if not other["fits"])
    yield from (f"  not by {other['kind']}: {one_line(other['reason'], 160)}" for other in others)


def _verdict(event: Mapping[str, Any]) -> Iterator[str]:
    if not event["policies"]:
        yield f"no policy had anything against {event['tool']}"
    for found in event["policies"]:
        yield f"policy {found['name']} decided {found['decision']} on {event['tool']}: {one_line(found['reason'], 160)}"
