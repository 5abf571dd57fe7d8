"""``memkit sessions list``, ``search``, ``show``, ``rename`` and ``rm``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from memkit.cli.display import ListCell, ListRow, beginnings, record_line
from memkit.cli.output import (
    Front,
    SessionName,
    memkit_command,
    require_person,
    tail_option,
    user_option,
    words_argument,
)
from memkit.errors import UsageError
from memkit.runtime.host.terminal import counted, one_line
from memkit.runtime.memory.record.lines import parse_time

if TYPE_CHECKING:
    from memkit.runtime.memory.tiers.sessions import SessionTurn
    from memkit.store.sessions import SessionCard
    from memkit.use_cases.sessions import Foreign, RemovedSession, SessionAccount

# Shared by the session commands: naming a session on the command line, and printing one.

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))
"""Short units for a pipe; a terminal spells ages out."""


def card_data(card: SessionCard) -> dict[str, Any]:
    """Return a session as ``--json`` prints it."""
    return card._asdict()


def card_line(card: SessionCard, now: datetime, width: int = 0, short: str = "") -> ListRow:
    """Return a session as one line of a list; ids are padded to ``width``, and ``short`` replaces the id."""
    name = [ListCell(f"“{one_line(card.name, 40)}”", "name")] if card.name else []
    first = [ListCell(one_line(card.first, 60))] if card.first else []
    turns = f"{card.turns} turn{'' if card.turns == 1 else 's'}"
    about = "  ".join(cell.plain for cell in (*name, *first))
    id = one_line(card.session)
    return ListRow(
        ListCell(id, "id", short or id),
        ListCell(card.last_at, "time"),
        ListCell(turns, "number"),
        *(first and name),
        *(first or name),
        plain=f"{id:<{width}}  {age(card.last_at, now):>7}  {turns:>9}  {about}".rstrip(),
    )


def age(at: str, now: datetime) -> str:
    """Return how long ago something was, in the largest unit that fits.

    >>> from datetime import UTC
    >>> age("2026-03-01T10:00:00Z", datetime(2026, 3, 3, 11, tzinfo=UTC))
    '2 d ago'
    """
    seconds = (now - parse_time(at)).total_seconds()
    return next((f"{seconds // size:.0f} {unit} ago" for size, unit in _UNITS if seconds >= size), "now")


limit_option = click.option("--limit", type=click.IntRange(min=1), help="How many at most (default: all).")


@memkit_command("list")
@user_option
@limit_option
@tail_option
def list_command(front: Front, user: str | None, limit: int | None, tail: int | None) -> None:
    """List the unexpired sessions of USER, most recently used first."""
    if limit and tail:
        raise UsageError("--limit shows the newest first, --tail shows them last. Give one of them.")
    workspace = front.workspace
    owner = workspace.user(user)
    book = workspace.session_book
    cards = book.of(owner)
    shown = cards[:tail][::-1] if tail else cards[:limit]
    width = max((len(one_line(card.session)) for card in shown), default=0)
    short = beginnings(card.session for card in cards)
    lines: list[str] = [card_line(card, workspace.clock(), width, short[card.session]) for card in shown]
    lines = lines or [f"No sessions of {one_line(owner)}."]
    listed = [card_data(card) | {"open": book.is_open(card)} for card in shown]
    nobody = [] if cards else front.nobody(owner)
    data = {"sessions": listed, **_cut(len(cards), limit)}
    front.answer(data, [*lines, *_more(len(cards), limit)], diagnostics=nobody)


@memkit_command("search")
@words_argument("query")
@user_option
@limit_option
def search(front: Front, query: str, user: str | None, limit: int | None) -> None:
    """Search what was said in the sessions of USER; a match includes the turns around it."""
    from memkit.use_cases.sessions import search_sessions

    workspace = front.workspace
    found = search_sessions(workspace, query, user=workspace.user(user))
    shown = found[:limit]
    data = {"turns": [_turn_data(turn) | {"score": round(score, 4)} for score, turn in shown]}
    lines = [
        ListRow(
            ListCell(f"{score:6.2f}", "number"),
            ListCell(one_line(turn.session_id), "id", one_line(turn.session_id)),
            ListCell(turn.at[:16], "time", turn.at),
            ListCell(f"{turn.role:<9}", "name"),
            ListCell(_words_of(turn, 100)),
        )
        for score, turn in shown
    ]
    front.answer(
        data | _cut(len(found), limit),
        [*lines, *_more(len(found), limit)] if found else ["Nothing that was said matches."],
        ok=bool(found),
    )


@memkit_command("show")
@click.argument("session", type=SessionName())
@user_option
@click.option("--tail", type=click.IntRange(min=1), metavar="N", help="Only the last N lines of what was said.")
def show(front: Front, session: str, user: str | None, tail: int | None) -> None:
    """Print what is kept of SESSION, given by id, name or prefix of its id."""
    from memkit.use_cases.sessions import show_session

    workspace = front.workspace
    account = show_session(workspace, session, user=workspace.user(user))
    turns = account.turns[-tail:] if tail else account.turns
    data = card_data(account.card) | {
        "open": workspace.session_book.is_open(account.card),
        "turns": [_turn_data(turn) for turn in turns],
        "calls": _calls(account),
        "writes": [record.id for record in account.writes],
        "summary": account.summary,
        "usage": account.usage,
    }
    front.answer(data, [card_line(account.card, workspace.clock()), *_account_lines(account, turns)])


def _turn_data(turn: SessionTurn) -> dict[str, Any]:
    return {"session": turn.session_id, "turn": turn.turn_id, "at": turn.at, "role": turn.role, "text": turn.text}


def _turn_line(turn: SessionTurn) -> ListRow:
    return ListRow(
        ListCell(turn.at[:16], "time", turn.at),
        ListCell(f"{turn.role:<9}", "name" if turn.role == "user" else "aside"),
        ListCell(_words_of(turn)),
    )


def _words_of(turn: SessionTurn, width: int = 0) -> str:
    text = "\n".join(map(_said, turn.text.split("\n"))) if turn.role == "assistant" else turn.text
    return one_line(text, width)


def _said(line: str) -> str:
    """Return a line that the assistant said; a tool call as the chat displayed it."""
    from memkit.cli.chat.pages import call_line
    from memkit.skills.draft import read_call

    call = read_call(line)
    return line if call is None or not call.args else f"· {call_line(call.tool, call.args)}"


def _calls(account: SessionAccount) -> list[dict[str, Any]]:
    named = {"turn": "turn_id", "at": "at", "tool": "tool", "decision": "decision"}
    return [{key: call.get(source) for key, source in named.items()} for call in account.calls]


def _call_line(call: Mapping[str, Any]) -> str:
    what = f"{one_line(str(call['tool']))}, {call.get('decision')}" if call.get("tool") else "[sealed]"
    return f"  turn {call.get('turn_id')}: {what}"


def _account_lines(account: SessionAccount, turns: Sequence[SessionTurn]) -> list[str]:
    card = account.card
    lines = [f"forked from {one_line(card.parent)}"] if card.parent else []
    lines += ["", *map(_turn_line, turns)]
    lines += ["", "Summary of what left the prompt:", account.summary] if account.summary else []
    calls = [_call_line(call) for call in account.calls]
    lines += ["", "Calls:", *calls] if calls else []
    lines += ["", "Remembered:", *(record_line(record).below(2) for record in account.writes)] if account.writes else []
    told = ", ".join(f"{count:,} {kind}" for kind, count in (account.usage or {}).items())
    return lines + (["", f"Tokens of the model: {told}"] if told else [])


def _cut(total: int, limit: int | None) -> dict[str, bool]:
    return {} if limit is None else {"truncated": total > limit}


def _more(total: int, limit: int | None) -> list[str]:
    return [f"… {total - limit} more: raise --limit."] if limit is not None and total > limit else []


@memkit_command("rename")
@click.argument("session", type=SessionName())
@words_argument("name")
@user_option
def rename(front: Front, session: str, name: str, user: str | None) -> None:
    """Call SESSION by NAME from now on; its id stays."""
    from memkit.use_cases.sessions import rename_session

    card = rename_session(front.workspace, session, name, user=front.workspace.user(user))
    data = {"session": card.session, "name": name, "was": card.name}
    front.answer(data, f"{one_line(card.session)} is now “{one_line(name)}”.")


@memkit_command("adopt")
@click.argument("name", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
def adopt(front: Front, name: str | None, yes: bool) -> None:
    """Continue sessions found here that this clone did not write: from a copy, a backup, or a lost key.

    With them come their turns, access counts, events and runs. An erasure or an update that was cut off there and the
    open steps of a turn are never carried out. Do this only if you know who wrote them: a session is what an agent
    believes that you said.
    """
    require_person("'memkit sessions adopt'")

    def agree(foreign: Foreign) -> None:
        front.confirm(f"Take over {counted(foreign.files, 'file')} of sessions from {foreign.state}?", yes=yes)

    from memkit.use_cases.sessions import adopt_sessions

    foreign, left = adopt_sessions(front.workspace, name, agree=agree)
    taken = foreign.files - left
    data = {"adopted": foreign.name, "files": taken, "left": left}
    stays = f" {counted(left, 'file')} stayed in {foreign.state}." if left else ""
    front.answer(data, f"Took over {counted(taken, 'file')}.{stays}")


@memkit_command("rm")
@click.argument("sessions", type=SessionName(), nargs=-1, required=True)
@user_option
@click.option("--memories", is_flag=True, help="Also retire the records that belong to these sessions alone.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def remove(front: Front, sessions: tuple[str, ...], user: str | None, memories: bool, yes: bool) -> None:
    """Remove SESSIONS from this machine: the conversations, the contents of their prompts, and unfinished steps.

    The audit log keeps that something was done, without its words. What long-term memory took from a session stays;
    'memkit memory revoke --session' takes that back, and 'memkit memory erase' removes everything on a user.
    """
    from memkit.use_cases.sessions import remove_sessions

    workspace = front.workspace

    def agree(doomed: list[RemovedSession]) -> None:
        if not front.json and not yes:
            for one in doomed:
                front.note(card_line(one.card, workspace.clock()))
        front.confirm(f"Remove {counted(len(doomed), 'session')} from this machine?", yes=yes)

    removed = remove_sessions(workspace, sessions, user=workspace.user(user), agree=agree, memories=memories)
    data = {"removed": [_data(one) for one in removed], "memories_retired": memories}
    front.answer(data, [line for one in removed for line in _lines(one, memories=memories)])


def _data(one: RemovedSession) -> dict[str, Any]:
    return {
        "session": one.card.session,
        "name": one.card.name,
        "turns": one.turns,
        "files": one.files,
        "audit_withheld": one.withheld,
        "session_records": [record.id for record in one.only_there],
    }


def _lines(one: RemovedSession, *, memories: bool) -> list[str]:
    kept = f"; {counted(one.withheld, 'event')} of the audit log lost their words" if one.withheld else ""
    lines = [f"Removed {one_line(one.card.session)}: {counted(one.turns, 'line')} of talk{kept}."]
    if one.only_there:
        told = "retired" if memories else "kept, but recalled nowhere else; --memories retires them"
        lines += [f"  {counted(len(one.only_there), 'record')} of this session alone, {told}:"]
        lines += [record_line(record).below(4) for record in one.only_there]
    return lines
