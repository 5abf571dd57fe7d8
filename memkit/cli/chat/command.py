"""``memkit chat``: the options, and which kind of conversation they ask for."""

from __future__ import annotations

import sys

import click

from memkit.cli.approval import ask_person
from memkit.cli.chat.conversation import NO_USER, Conversation
from memkit.cli.chat.lines import answer_lines
from memkit.cli.chat.talk import talk
from memkit.cli.chat.turn import run_one_turn
from memkit.cli.memory.options import user_option
from memkit.cli.output import Front, MemkitCommand
from memkit.cli.pairs import read_pairs
from memkit.errors import UsageError
from memkit.use_cases.open_chat import open_chat


@click.command("chat", cls=MemkitCommand)
@user_option
@click.option("--session", help="The session to go on with or to begin (default: a new one).")
@click.option("-c", "--continue", "resume", is_flag=True, help="Go on with the last session of this user.")
@click.option("-p", "prompt", metavar="TEXT", help="One turn: answer TEXT and leave.")
@click.option("--provider", help="reference, scripted:FILE, anthropic or openai (default: memkit.yaml).")
@click.option("--model", help="The model's name, for providers that have several.")
@click.option("--consent", "consents", is_flag=True, help="Record that the user agrees to long-term memory.")
@click.option(
    "--context", "pairs", multiple=True, metavar="K=V", help="A fact for the policies, set by you; K:=JSON too."
)
@click.option("--jsonl", is_flag=True, help="Each line of standard input is a turn, each answer a line of JSON.")
@click.option("--no-memory", is_flag=True, help="Neither read nor write anything that lasts.")
@click.pass_obj
def chat(
    front: Front, user: str | None, session: str | None, resume: bool, prompt: str | None, provider: str | None,
    model: str | None, consents: bool, pairs: tuple[str, ...], jsonl: bool, no_memory: bool,
) -> None:  # fmt: skip
    """Talk to the agent of the store: one turn with -p or a pipe, a conversation on a terminal."""
    if session is not None and resume:
        raise UsageError("Give either --session or -c, not both.")
    workspace = front.workspace
    user = user or workspace.settings["user"]
    if user is None and (resume or consents):
        raise UsageError(f"Who is it? {NO_USER}")
    agent = open_chat(
        workspace,
        user=user,
        session=session,
        resume=resume,
        provider=provider,
        model=model,
        context=read_pairs(pairs, "--context"),
        remembers=not no_memory,
        approve=ask_person if front.interactive else None,
    )
    conversation = Conversation(workspace, agent)
    if consents and user is not None and not agent.consent.granted():
        workspace.archive.set_consent(user, True, workspace.person(user, session=agent.setting.session))
        conversation.changed = True
    try:
        if jsonl:
            answer_lines(conversation)
        elif prompt is not None or front.json or not sys.stdin.isatty():
            run_one_turn(front, conversation, prompt if prompt is not None else sys.stdin.read())
        else:
            talk(front, conversation)
    finally:
        conversation.commit()
