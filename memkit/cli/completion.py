"""``memkit completion``, and the completions for shells: names, ids, users, settings, sessions, targets.

A shell waits for the answer at each Tab, so nothing is imported here that the names do not need
(docs/decisions/0091-a-terminal-people-like.md has the figures). An error offers nothing: nobody could see it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, add_completion_class, split_arg_string

from memkit.cli.output import KNOWN_NAMES, Front, SuggestingChoice, memkit_command

Known = Iterable[tuple[str, str]]
"""Names, each with a short description."""


def _files_in(folder: str) -> Callable[[Front], Known]:
    def names(front: Front) -> Known:
        from memkit.store.layout import find_store

        return [(path.stem, "") for path in sorted((find_store(front.store) / folder).glob("*.yaml"))]

    return names


def _settings(_front: Front) -> Known:
    from memkit.store.manifest import meanings

    return [(one.key, one.meaning) for one in meanings()]


def _targets(_front: Front) -> Known:
    from memkit.resources import resource

    return [(path.parent.name, "") for path in sorted(resource("templates").glob("*/target.yaml"))]


def _rules(_front: Front) -> Known:
    from memkit.lint.rules import RULES

    return [(rule.code, rule.name) for rule in RULES.values()]


def _tokens(front: Front) -> Known:
    from memkit.store.tokens import ServerTokens

    return [(one.id, one.user_id) for one in ServerTokens(front.root).all()]


def _sections(front: Front) -> Known:
    return [(name, "") for name in ("human", "system", *front.workspace.settings["core.sections"])]


def _keys(front: Front) -> Known:
    records = front.workspace.archive_at(None).records(user_id=front.workspace.user(None))
    found = [(record.to_data().get("key"), record.text) for record in records]
    return [(str(key), text) for key, text in found if key]


KNOWN_NAMES |= {
    "skill": _files_in("skills"), "policy": _files_in("policies"), "domain": _files_in("domains"), "setting": _settings,
    "target": _targets, "rule": _rules, "token": _tokens, "section": _sections, "key": _keys,
}  # fmt: skip


# The scripts. Click's own script for bash inserts names unquoted, even those that a shell would split or execute, and
# the one for fish cuts them at a comma.


class _Typed(NamedTuple):
    """A command line up to the cursor."""

    words: list[str]
    """The complete words before the current one, as the program would receive them."""
    incomplete: str
    quote: str
    """The open quotation mark of the incomplete word, or an empty string."""


_CURSOR = "\x01"
LINE = "MEMKIT_LINE"
"""The variable that holds the line up to the cursor."""


def typed(line: str) -> _Typed:
    r"""Return the words of a command line up to the cursor.

    >>> typed("memkit memory list --user Ada\\ L")
    _Typed(words=['memory', 'list', '--user'], incomplete='Ada L', quote='')
    >>> typed("memkit skill show 'my ")
    _Typed(words=['skill', 'show'], incomplete='my ', quote="'")
    """
    words = split_arg_string(line + _CURSOR)
    return _Typed(words[1:-1], words[-1].rstrip(_CURSOR), _open_quote(line))


def _open_quote(line: str) -> str:
    quote, escaped = "", False
    for char in line:
        if escaped:
            escaped = False
        elif char == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
    return quote


def quoted(text: str, quote: str) -> str:
    r"""Return a text escaped so that bash reads it as one word, behind the open quotation mark.

    >>> print(quoted("Ada L", ""), quoted("it's", "'"), quoted('a"$b', '"'))
    Ada\ L it'\''s a\"\$b
    """
    if quote == "'":
        return text.replace("'", "'\\''")
    special = '"$`\\!' if quote else "".join(char for char in set(text) if not (char.isalnum() or char in "_-./,+@%:="))
    return "".join(f"\\{char}" if char in special else char for char in text)


def _script(shell: str) -> str:
    return Path(__file__).with_name(f"completion.{shell}").read_text(encoding="utf-8")


@add_completion_class
class QuotingBash(BashComplete):
    """Bash, with names quoted as on the line, without the part that bash counts as an earlier word."""

    source_template: ClassVar[str] = _script("bash")

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, and the one at it."""
        if LINE not in os.environ:  # a start-up file holds the script of an earlier memkit
            return super().get_completion_args()
        line = typed(os.environ[LINE])
        return line.words, line.incomplete

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Return a line for the script: its type, and the rest of the word as it is to be inserted."""
        if LINE not in os.environ:
            return super().format_completion(item)
        line = typed(os.environ[LINE])
        # Bash begins a new word at ":" and "=", and replaces only the text after them.
        word = "".join(split_arg_string(os.environ.get("MEMKIT_WORD", ""))) if line.incomplete else ""
        before = "" if line.quote or (word in ("", ":", "=") and not line.incomplete) else _cut(line.incomplete, word)
        return f"{item.type}\t{quoted(str(item.value).removeprefix(before), line.quote)}"


def _cut(incomplete: str, word: str) -> str:
    """Return the beginning of the incomplete word, before the part that bash considers it to be."""
    if word in (":", "="):
        return incomplete
    return incomplete.removesuffix(word) if incomplete.endswith(word) and word else ""


@add_completion_class
class WholeFish(FishComplete):
    """Fish, with names that contain a comma kept whole."""

    source_template: ClassVar[str] = _script("fish")


@memkit_command("completion")
@click.argument("shell", type=SuggestingChoice(["bash", "zsh", "fish"]))
def completion(front: Front, shell: str) -> None:
    """Print the completion script for SHELL; add its output to the shell's start-up file."""
    from click.shell_completion import get_completion_class

    from memkit.cli.main import cli

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(cli, {}, "memkit", "_MEMKIT_COMPLETE").source()
    front.answer({"shell": shell, "script": script}, script)
