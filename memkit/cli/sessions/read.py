"""``memkit sessions list``, ``search`` and ``show``."""

from __future__ import annotations

from typing import Any

import click

from memkit.cli.chat.showing import call_line
from memkit.cli.memory.options import record_line, user_option
from memkit.cli.output import Front, MemkitCommand
from memkit.cli.sessions.words import Session, card_data, card_line
from memkit.runtime.memory.recall import Turn
from memkit.skills.draft import read_call
from memkit.terminal import one_line
from memkit.use_cases.search_sessions import search_sessions
from memkit.use_cases.show_session import SessionAccount, show_session

limit_option = click.option("--limit", type=click.IntRange(min=1), help="How many at the most (default: all).")


@click.command("list", cls=MemkitCommand)
@user_option
@limit_option
@click.pass_obj
def list_command(front: Front, user: str | None, limit: int | None) -> None:
    """List the sessions of USER that have not expired, the one that was used last first."""
    workspace = front.workspace
    owner = workspace.user(user)
    book = workspace.session_book
    cards = book.of(owner)
    shown = cards[:limit]
    width = max((len(one_line(card.session)) for card in shown), default=0)
    lines = [card_line(card, workspace.clock(), width) for card in shown] or [f"No sessions of {one_line(owner)}."]
    listed = [card_data(card) | {"open": book.is_open(card)} for card in shown]
    front.answer({"sessions": listed, **_cut(len(cards), limit)}, [*lines, *_more(len(cards), limit)])


@click.command("search", cls=MemkitCommand)
@click.argument("query")
@user_option
@limit_option
@click.pass_obj
def search(front: Front, query: str, user: str | None, limit: int | None) -> None:
    """Search what was said in the sessions of USER; the turns around a fitting one are found with it."""
    workspace = front.workspace
    found = search_sessions(workspace, query, user=workspace.user(user))
    shown = found[:limit]
    data = {"turns": [_turn_data(turn) | {"score": round(score, 4)} for score, turn in shown]}
    lines = [f"{score:6.2f}  {one_line(turn.session_id)}  {_turn_line(turn, 100)}" for score, turn in shown]
    front.answer(
        data | _cut(len(found), limit),
        [*lines, *_more(len(found), limit)] if found else ["Nothing that was said is about that."],
        ok=bool(found),
    )


@click.command("show", cls=MemkitCommand)
@click.argument("session", type=Session())
@user_option
@click.pass_obj
def show(front: Front, session: str, user: str | None) -> None:
    """Print what is kept of SESSION, an id, a name or how an id begins."""
    workspace = front.workspace
    account = show_session(workspace, session, user=workspace.user(user))
    data = card_data(account.card) | {
        "open": workspace.session_book.is_open(account.card),
        "turns": [_turn_data(turn) for turn in account.turns],
        "calls": _calls(account),
        "writes": [record.id for record in account.writes],
        "summary": account.summary,
        "usage": account.usage,
    }
    front.answer(data, [card_line(account.card, workspace.clock()), *_account_lines(account)])


def _turn_data(turn: Turn) -> dict[str, Any]:
    return {"session": turn.session_id, "turn": turn.turn_id, "at": turn.at, "role": turn.role, "text": turn.text}


def _turn_line(turn: Turn, width: int = 0) -> str:
    text = "\n".join(map(_said, turn.text.split("\n"))) if turn.role == "assistant" else turn.text
    return f"{turn.at[:16]}  {turn.role:<9}  {one_line(text, width)}"


def _said(line: str) -> str:
    """Return a line of what the assistant said; a tool call as the chat showed it."""
    call = read_call(line)
    return line if call is None or not call.args else f"· {call_line(call.tool, call.args)}"


def _calls(account: SessionAccount) -> list[dict[str, Any]]:
    named = {"turn": "turn_id", "at": "at", "tool": "tool", "decision": "decision"}
    return [{key: call.get(source) for key, source in named.items()} for call in account.calls]


def _account_lines(account: SessionAccount) -> list[str]:
    card = account.card
    lines = [f"forked from {one_line(card.parent)}"] if card.parent else []
    lines += ["", *map(_turn_line, account.turns)]
    lines += ["", "What left the prompt, in short:", account.summary] if account.summary else []
    calls = [
        f"  turn {call.get('turn_id')}: {one_line(str(call.get('tool')))}, {call.get('decision')}"
        for call in account.calls
    ]
    lines += ["", "Calls:", *calls] if calls else []
    lines += ["", "Remembered:", *(f"  {record_line(record)}" for record in account.writes)] if account.writes else []
    told = ", ".join(f"{count:,} {kind}" for kind, count in (account.usage or {}).items())
    return lines + (["", f"Tokens of the model: {told}"] if told else [])


def _cut(total: int, limit: int | None) -> dict[str, bool]:
    return {} if limit is None else {"truncated": total > limit}


def _more(total: int, limit: int | None) -> list[str]:
    return [f"… {total - limit} more: raise --limit."] if limit is not None and total > limit else []
