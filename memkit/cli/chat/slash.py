"""Slash commands of a chat: what a person may ask of the program itself, without the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from memkit.cli.chat.conversation import Conversation
from memkit.cli.chat.slash_account import show_reasons, undo
from memkit.cli.chat.slash_memory import export, records_of, search, show_core, show_memory
from memkit.cli.chat.slash_store import policies_of, show_context, show_policy, show_skills, skills_of
from memkit.cli.output import suggestion
from memkit.errors import UsageError

Words = Callable[[Conversation], Iterable[tuple[str, str]]]
"""What may stand behind a command, each with a word on what it is."""


def no_words(_conversation: Conversation) -> Iterable[tuple[str, str]]:
    """Return that nothing in particular may."""
    return ()


FILES: Words = lambda _conversation: ()  # noqa: E731 - a mark: the editor completes the names of files
"""The words of a command that takes a file."""


@dataclass(frozen=True)
class SlashCommand:
    """What a command does, and what is said about it."""

    run: Callable[[Conversation, str], str]
    about: str
    argument: str = ""
    words: Words = no_words


def run_slash(conversation: Conversation, line: str) -> str:
    """Run a line such as ``/search coffee`` and return what it shows."""
    name, _, argument = line.strip().partition(" ")
    if name not in COMMANDS:
        raise UsageError(f"There is no {name}.{suggestion(name, COMMANDS)} /help lists the commands.")
    return COMMANDS[name].run(conversation, argument.strip())


def _help(_conversation: Conversation, _argument: str) -> str:
    usages = {f"{name} {command.argument}".strip(): command.about for name, command in COMMANDS.items()}
    width = max(map(len, usages))
    return "\n".join(f"{usage:<{width}}  {about}" for usage, about in usages.items())


def _quit(_conversation: Conversation, _argument: str) -> str:
    return "Goodbye."


COMMANDS: dict[str, SlashCommand] = {
    "/help": SlashCommand(_help, "List these commands."),
    "/memory": SlashCommand(
        show_memory, "List what is remembered of you, show one record, or keep nothing more.", "[ID|off|on]", records_of
    ),
    "/core": SlashCommand(show_core, "Show core memory, which is in every prompt."),
    "/context": SlashCommand(show_context, "Show how full the prompt is, tier by tier."),
    "/search": SlashCommand(search, "Search long-term memory.", "WORDS"),
    "/skills": SlashCommand(show_skills, "List the store's skills, or show one.", "[NAME]", skills_of),
    "/policy": SlashCommand(show_policy, "List the rules that judge every action, or show one.", "[NAME]", policies_of),
    "/why": SlashCommand(show_reasons, "Say what a turn recalled, what lost, and which policy decided.", "[TURN]"),
    "/undo": SlashCommand(undo, "Take back what the last turn wrote, or another one.", "[TURN]"),
    "/export": SlashCommand(export, "Print this session, or write it to a file.", "[FILE]", FILES),
    "/quit": SlashCommand(_quit, "Leave."),
}
