"""Lines typed with history and completion, by prompt_toolkit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from memkit.cli.chat.conversation import TerminalConversation
from memkit.cli.chat.slash import COMMANDS, FILES
from memkit.cli.output import GOES_ON
from memkit.runtime.host.terminal import harmless, one_line
from memkit.runtime.loop.agent_loop import HEARTBEAT
from memkit.runtime.loop.taint import as_brought


class LineEditor:
    """Reads messages: Enter sends, Alt-Enter or a backslash before Enter begins another line."""

    def __init__(self, conversation: TerminalConversation) -> None:
        self._session: PromptSession[str] = PromptSession(
            history=SpokenHistory(conversation),
            completer=SlashCompleter(conversation),
            complete_while_typing=Condition(lambda: get_app().current_buffer.text.startswith("/")),
            key_bindings=_keys(),
            multiline=True,
            prompt_continuation=lambda width, line, is_wrapped: "" if is_wrapped else "… ",
        )

    def read(self, prompt: str) -> str:
        """Return what was typed; raises ``EOFError`` at Ctrl-D, ``KeyboardInterrupt`` at Ctrl-C on an empty line."""
        return self._session.prompt(prompt)


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith(GOES_ON):
            buffer.delete_before_cursor(len(GOES_ON))
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _begin_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add(Keys.BracketedPaste)
    def _paste(event: KeyPressEvent) -> None:
        pasted = event.data.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
        buffer = event.current_buffer
        if "\n" not in pasted:
            buffer.insert_text(pasted)
            return
        # The marks say whose words they are; anyone who pastes their own words removes the marks again.
        before = "" if buffer.document.text_before_cursor.endswith("\n") or not buffer.text else "\n"
        buffer.insert_text(f"{before}{as_brought(pasted)}\n")

    @keys.add("c-c")
    def _clear_or_leave(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt, style="class:aborting")

    return keys


class SpokenHistory(History):
    """The user's earlier messages, read from the turns that are kept with their consent.

    Nothing else is written: what is forgotten, sealed or erased there is so here as well, and a conversation that
    leaves no trace leaves none here.
    """

    def __init__(self, conversation: TerminalConversation) -> None:
        super().__init__()
        self._conversation = conversation

    def load_history_strings(self) -> Iterator[str]:
        """Yield the user's messages, newest first."""
        if not self._conversation.agent.may_remember():
            return
        turns = (turn for turn in self._conversation.agent.recall.everything(self._conversation.user))
        said = (turn for turn in turns if turn.role == "user" and turn.text != HEARTBEAT)
        # Text that a program added to a turn under the user's role comes after the words that opened it.
        opening = [next(group) for _, group in groupby(said, key=lambda turn: (turn.session_id, turn.turn_id))]
        last = ""
        for turn in sorted(opening, key=lambda turn: turn.at, reverse=True):
            if turn.text != last:
                yield harmless(turn.text)
            last = turn.text

    def store_string(self, string: str) -> None:
        """Store nothing: the turn itself is kept."""


class SlashCompleter(Completer):
    """Completes slash commands and their arguments."""

    def __init__(self, conversation: TerminalConversation) -> None:
        self._conversation = conversation
        self._files = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield the completions at the cursor."""
        text = document.text_before_cursor
        name, space, argument = text.partition(" ")
        if not text.startswith("/") or "\n" in text:
            return
        if not space:
            for command, known in COMMANDS.items():
                if command.startswith(name):
                    yield Completion(command, start_position=-len(name), display_meta=known.about)
        elif name in COMMANDS and COMMANDS[name].words is FILES:
            yield from self._files.get_completions(Document(argument), complete_event)
        elif name in COMMANDS:
            for word, about in COMMANDS[name].words(self._conversation):
                if word.startswith(argument):
                    yield Completion(word, start_position=-len(argument), display_meta=one_line(about, 60))
