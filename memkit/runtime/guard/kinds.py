"""Tools by what they do: which names of agents' and servers' tools run a shell, and where the command stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from .checks import words_of
from .interface import JSON, Path, PolicySetError, as_list

_SHELL_PARTS = (
    "bash zsh pwsh powershell shell terminal subprocess command_?line command_?prompt cmd_?exe ssh_?exec"
    " remote_?exec docker_?exec container_?exec exec_?(command|cmd) cmd_?run"
)
"""What alone says that a tool runs commands, wherever it stands in the name."""
_SHELL_WORDS = "sh ash dash ksh mksh fish tcsh csh cmd console tmux pty exec ssh system popen commands? write_stdin"
"""What says so as a word of its own at the end of a name, after a server's name and a separator."""
_SHELL_VERBS = "run exec execute start launch spawn invoke perform issue do call eval evaluate open send"
_SHELL_NOUNS = "command cmd commands cmds process script_?command shell_?script cli program binary"


def _either(words: str) -> str:
    return "|".join(words.split())


KINDS: Mapping[str, str] = {
    "shell": (
        r"(?i)^((.*([^a-z]|run|exec|execute|local|remote|in|open|start|power))?("
        + _either(_SHELL_PARTS)
        + r").*|(.*[^a-z0-9])?(cli|ssh|cmd|console)_.*|(.*[^a-z0-9])?("
        + _either(_SHELL_WORDS)
        + r")|(.*[^a-z0-9])?("
        + _either(_SHELL_VERBS)
        + r")_?(a_?|the_?|in_?|on_?|async_?|interactive_?|local_?|remote_?|system_?)?("
        + _either(_SHELL_NOUNS)
        + r")([^a-z0-9].*|async|sync)?)$"
    )
}
"""Kind of tool → the expression that the names of such tools match, in any case."""

SAMPLE_NAMES: Mapping[str, tuple[str, ...]] = {
    "shell": (
        *("bash", "shell", "sh", "terminal", "Bash", "exec", "exec_command", "run_command", "execute_command"),
        *("run_shell_command", "run_terminal_cmd", "run_in_terminal", "*bash*", "*shell*", "*terminal*", "*_command"),
    )
}
"""The same for languages that know only globs: the names that agents and servers use most."""

_COMMAND_KEYS = words_of(
    "command commands cmd cmds cmdline cmd_line command_line commandline shell_command bash_command"
    " shellcommand script argv"
)
_INPUT_KEYS = frozenset(["code", "input", "stdin", "chars", "keys", "text", "source"])
"""Names of the arguments, folded, that hold what a shell tool runs; the second where there is none of the first.

``args.command`` stands for all of them.
"""

_BESIDE = ("args", "arguments", "argv", "params", "parameters")
"""Arguments that hold the rest of the words where the command is the program alone."""
_DEEPEST = 6


def kind_condition(data: JSON, path: Path) -> JSON:
    """Return the condition on ``tool`` that a ``tool_kind`` stands for."""
    kinds = as_list(data)
    for kind in kinds:
        if not isinstance(kind, str) or kind not in KINDS:
            raise PolicySetError(f"unknown kind of tool {kind!r}; known is {', '.join(KINDS)}", path=path)
    if not kinds:
        raise PolicySetError("the list is empty and could never match", path=path)
    found = [{"regex": KINDS[kind]} for kind in dict.fromkeys(kinds)]
    return found[0] if len(found) == 1 else {"any": found}


def without_kind(alternative: Mapping[str, JSON]) -> list[dict[str, JSON]]:
    """Return an alternative in plain keys, for who reads matches without asking the engine.

    There are two where the command may stand under another name than ``command``: that one stands for all others.
    """
    if "tool_kind" not in alternative:
        return [dict(alternative)]
    rest = {key: data for key, data in alternative.items() if key not in ("tool_kind", "args.command")}
    tools = kind_condition(alternative["tool_kind"], ("tool_kind",))
    rest["tool"] = {"all": [{"any": as_list(rest["tool"])}, tools]} if "tool" in rest else tools
    if "args.command" not in alternative:
        return [rest]
    return [{**rest, f"args.{name}": alternative["args.command"]} for name in ("command", "cmd")]


def commands_in(args: Mapping[str, JSON]) -> tuple[list[tuple[str, JSON]], bool]:
    """Return what a shell tool is given to run, with the name of each, and whether its name says so.

    Where no name is a known one, it is every text: a guess, in which what cannot be read is no doubt.
    """
    for known in (_COMMAND_KEYS, _INPUT_KEYS):
        if found := list(_under_known_names(args, "args", 0, known)):
            return found, True
    return [(f"args.{name}", value) for name, value in args.items() if isinstance(value, str | list)], False


def _under_known_names(data: JSON, spelled: str, depth: int, known: frozenset[str]) -> Iterator[tuple[str, JSON]]:
    if depth > _DEEPEST:
        return
    if isinstance(data, list | tuple):
        for element in data:
            if isinstance(element, Mapping | list | tuple):
                yield from _under_known_names(element, spelled, depth + 1, known)
    if not isinstance(data, Mapping):
        return
    for name, value in data.items():
        place = f"{spelled}.{name}"
        if re.sub(r"[^a-z]+", "_", str(name).casefold()) in known and not isinstance(value, Mapping):
            yield place, value
            if isinstance(value, str):
                yield from ((place, whole) for whole in _with_words_beside(data, name, value))
        if isinstance(value, Mapping | list | tuple):
            yield from _under_known_names(value, place, depth + 1, known)


def _with_words_beside(data: Mapping[str, JSON], name: str, program: str) -> Iterator[JSON]:
    """Yield the command of a call that has the program in one argument and its words in another."""
    for other, words in data.items():
        if other == name or str(other).casefold() not in _BESIDE or not words:
            continue
        if isinstance(words, list | tuple) and all(isinstance(word, str) for word in words):
            yield [*program.split(), *words]
        elif isinstance(words, str):
            yield f"{program} {words}"
