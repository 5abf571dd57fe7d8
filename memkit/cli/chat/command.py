"""``memkit chat``: the options, and which kind of conversation they ask for."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import click

from memkit.cli.approval import Approvals
from memkit.cli.arguments import read_pairs
from memkit.cli.chat.conversation import Leaving, Outcomes, TerminalConversation, beginning, beginning_options
from memkit.cli.chat.pages import Outlet, PageShowing, open_page
from memkit.cli.chat.talk import answer_lines, is_slash, print_event, run_heartbeat, run_one_turn, talk, whole_input
from memkit.cli.memory.options import user_option
from memkit.cli.output import Front, MemkitCommand
from memkit.cli.trust import with_trust
from memkit.errors import UsageError
from memkit.runtime.host.terminal import beside
from memkit.runtime.loop.taint import with_brought
from memkit.use_cases.open_chat import open_chat


@click.command("chat", cls=MemkitCommand)
@user_option
@beginning_options
@click.option("-p", "prompt", metavar="TEXT", help="One turn: answer TEXT and leave.")
@click.option("--provider", help="reference, scripted:FILE, anthropic or openai (default: memkit.yaml).")
@click.option("--model", help="The model's name, for providers that have several.")
@click.option("--heartbeat", is_flag=True, help="No turn: look after what is due, say what is pending, and leave.")
@click.option("--consent", "consents", is_flag=True, help="Record that the user agrees to long-term memory.")
@click.option(
    "--context", "pairs", multiple=True, metavar="K=V", help="A fact for the policies, set by you; K:=JSON too."
)
@click.option("--said", is_flag=True, help="What you hand in is your own words, whatever its length.")
@click.option("--jsonl", is_flag=True, help="Each line of standard input is a turn, each answer a line of JSON.")
@click.option("--events", is_flag=True, help="With --json or --jsonl: what happens in a turn, each a line of JSON.")
@click.pass_obj
def chat(
    front: Front, /, user: str | None, prompt: str | None, provider: str | None, model: str | None,
    consents: bool, pairs: tuple[str, ...], jsonl: bool, events: bool, heartbeat: bool, said: bool, **begun: Any,
) -> None:  # fmt: skip
    """Talk to the agent of the store: one turn with -p or a pipe, a conversation on a terminal."""
    if events and not (jsonl or front.json):
        raise UsageError("--events prints lines of JSON: add --json or --jsonl.")
    if jsonl and prompt is not None:
        raise UsageError("-p is one turn and --jsonl as many as there are lines. Give one of them.")
    if heartbeat and (jsonl or prompt is not None):
        raise UsageError("--heartbeat answers nobody. Leave out -p and --jsonl.")
    is_talk = not (jsonl or front.json or heartbeat or prompt is not None) and sys.stdin.isatty()
    if is_talk and front.no_input:
        raise UsageError("With --no-input nobody is asked what to say: add -p TEXT, or use a pipe.")
    workspace = front.workspace
    user = user or workspace.settings["user"]
    if heartbeat and user and not (begun["session"] or begun["picks"] or begun["fork"] or begun["no_memory"]):
        begun["resume"] = any(card.agent_id == begun["agent"] for card in workspace.session_book.of(user))
    begins = beginning(front, user, consents=consents, **begun)
    page = None if jsonl or front.json else open_page(is_talk=is_talk)
    outlet = Outlet(print_event) if events else None if page is None else Outlet(PageShowing(page))
    still = page.still if page else lambda: None
    opening = partial(
        open_chat,
        workspace,
        user=user,
        provider=provider,
        model=model,
        context=read_pairs(pairs, "--context", reserved=("trust",)),
        approve=Approvals(still) if front.interactive else None,
        settle=Outcomes(still) if front.interactive else None,
        listen=outlet,
        **begins,
    )
    opened = with_trust(front, opening)
    conversation = TerminalConversation(workspace, opened, outlet=outlet, all_said=said)
    if consents and user is not None and not opened.consent.granted():
        workspace.archive.set_consent(user, True, workspace.person(user, session=opened.setting.session))
        conversation.changed = True
    with Leaving() as leaving:
        try:
            if heartbeat:
                run_heartbeat(front, conversation, shown=page is not None)
            elif jsonl:
                answer_lines(conversation)
            elif is_talk and page is not None:
                talk(front, conversation, page, leaving)
            else:
                text = whole_input() if prompt is None else prompt
                if prompt is not None and not is_slash(prompt):
                    text = with_brought(prompt, beside(sys.stdin, front.note))
                run_one_turn(front, conversation, text, shown=page is not None)
        finally:
            conversation.commit()  # first, because on a terminal that is gone nothing can be drawn any more
            if page is not None:
                page.still()
