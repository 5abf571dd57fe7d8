"""Kinds of tools: which tool names of agents and servers run a shell, and which argument holds the command."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from .checks import words_of
from .interface import JSON, Call, Path, PolicySetError, as_list

_SHELL_PARTS = (
    "bash zsh pwsh powershell shell terminal subprocess command_?line command_?prompt cmd_?exe ssh_?exec"
    " remote_?exec docker_?exec container_?exec exec_?(command|cmd) cmd_?run exec_?in_?(pod|container) pod_?exec"
)
"""Words showing that a tool runs commands, anywhere in its name."""
_SHELL_WORDS = (
    "sh ash dash ksh mksh fish tcsh csh cmd console tmux pty exec ssh system system[._]?run popen commands?"
    " write_stdin process"
)
"""Words showing the same as a separate word at the end of a name, after a server's name and a separator."""
_SHELL_VERBS = "run exec execute start launch spawn invoke perform issue do call eval evaluate open send"
_SHELL_NOUNS = "command cmd commands cmds process script_?command shell_?script cli program binary"


_CLIENTS = (
    "kubectl oc helm docker podman aws gcloud gsutil bq az git gh glab terraform tofu pulumi heroku flyctl npm"
    " redis_?cli psql mysql mongosh vercel wrangler stripe ansible vault rclone"
)
"""Programs that tools are named after, as in ``kubectl_generic`` and ``call_aws``."""
_LANGUAGES = "python python3 ipython py javascript js typescript node nodejs deno ruby perl php lua r rscript julia"
_CODE_NAMES = f"{_LANGUAGES} repl jupyter notebook_?exec code_?interpreter code_?execution code_?runner code_?executor"
_CODE_NOUNS = (
    f"{_LANGUAGES} code code_?block code_?snippet snippet cell notebook_?cell script ipython_?cell jupyter_?cell"
)

_DESTROYS = (
    "delete destroy purge wipe erase terminate truncate unlink shred rmdir rmtree rm trash obliterate nuke"
    " expunge unpublish deprovision decommission uninstall flushdb flushall del remove revoke overwrite"
    " force_?push"
)
"""Verbs in tool names whose meaning does not depend on their object."""
_KEPT = (
    "table tables database databases db collection collections index indexes schema column view keyspace"
    " partition topic stream queue queues bucket data dataset storage store volume disk trash bin recycle_?bin"
    " inbox mailbox folder directory history records rows keys all everything repo repository branch environment"
    " project cluster user users role messages"
)
_DESTROYS_SOME = {
    "drop reset clear empty flush prune discard": _KEPT,
    "format": "disk disks drive volume partition",
    "refund": "payment payments charge order invoice transaction",
    "create issue": "refund refunds payout",
    "cancel": "subscription subscriptions order orders booking reservation payment payments invoice transfer account",
}
"""Verbs that destroy only when their object is stored data: a filter is cleared, too."""
_LOOKS = (
    "get list search find count check preview is can should describe show read view fetch query explain simulate"
    " validate estimate plan dry_?run test audit log logs monitor undo restore recover history how suggest"
)
_HARMLESS = (
    "background backgrounds noise watermark duplicates filter filters highlight formatting whitespace accents reaction"
    " breakpoint listener selection label labels tag tags star emoji stopwords outliers headers bookmark"
)
"""Objects that are removed and restored equally easily."""
_DATABASES = (
    "sql query queries database postgres(?:ql)? mysql mariadb sqlite duckdb snowflake bigquery clickhouse redshift"
    " databricks supabase neon oracle db pg neo4j cypher mongo mongodb redis"
)


def _either(words: str) -> str:
    return "|".join(words.split())


def _spelled(words: str) -> str:
    """Return words in the spellings of names: ``delete`` or ``Delete``."""
    return "|".join(f"[{word[0]}{word[0].upper()}]{word[1:]}" for word in words.split())


_SERVER = r"(.*(__|[./:]))?"
"""A prefix before the tool's own name."""
_BEFORE = r"([A-Za-z0-9]+[-_ ])*"
_AFTER = r"(([-_ ][A-Za-z0-9]+|[A-Z0-9][A-Za-z0-9]*)([-_ ][A-Za-z0-9]+)*)?"


def _acts(verbs: str, objects: str = "") -> str:
    """Return the expression for names with a verb as a word, after others or in camel case; ``objects`` follow it."""
    lower, upper = _either(verbs), "|".join(word.capitalize() for word in verbs.split())
    following = rf"[-_ ]?({_spelled(objects)}){_AFTER}" if objects else _AFTER
    verb = rf"({lower}|{upper}|{_either(verbs.upper())}|[A-Za-z0-9]*[a-z0-9]({upper}))"
    return rf"^{_SERVER}{_BEFORE}{verb}{following}$"


_DESTRUCTIVE: JSON = {
    "all": [
        {"any": [{"regex": _acts(_DESTROYS)}, *({"regex": _acts(*each)} for each in _DESTROYS_SOME.items())]},
        {"not": {"regex": rf"^{_SERVER}([A-Za-z0-9]+[-_])?({_spelled(_LOOKS)})[-_A-Z].*[a-z].*$"}},
        {"not": {"regex": rf"^{_SERVER}{_BEFORE}({_spelled('remove delete')})[-_ ]?({_spelled(_HARMLESS)}){_AFTER}$"}},
    ]
}
_RUNS = "[-_](repl|ast|exec|execute|run|tool|interpreter|executor|code|sandbox|eval).*"
_CODE = (
    rf"(?i)^({_SERVER}({_either(_CODE_NAMES)})({_RUNS})?|{_SERVER}i?python(repl|tool|interpreter|executor)"
    rf"|.*(run|exec|execute|eval|evaluate)[-_]?(a_?|the_?|in_?)?({_either(_CODE_NOUNS)})([-_].*|action)?"
    r"|.*(python|jupyter|notebook|ipython|node|repl|code|cell)[-_]?(run|exec|execute|eval|executor))$"
)
"""Names of tools that run code in a language of their own."""


KINDS: Mapping[str, JSON] = {
    "shell": {
        "regex": r"(?i)^((.*([^a-z]|run|exec|execute|local|remote|in|open|start|power))?("
        + _either(_SHELL_PARTS)
        + r").*|(.*[^a-z0-9])?(cli|ssh|cmd|console)_.*|(.*[^a-z0-9])?("
        + _either(_SHELL_WORDS)
        + r")|(.*[^a-z0-9])?("
        + _either(_SHELL_VERBS)
        + r")_?(a_?|the_?|in_?|on_?|async_?|interactive_?|local_?|remote_?|system_?)?("
        + _either(_SHELL_NOUNS)
        + r")([^a-z0-9].*|async|sync)?|.*(run|execute)(command|process)(tool)?"
        r"|(.*[^a-z0-9])?((call|run|use|exec|execute|invoke)_?)?("
        + _either(_CLIENTS)
        + r")([-_](cli|generic|command|cmd|exec|run|tool))?)$"
    },
    "code": {"regex": _CODE},
    "database": {
        "all": [
            {
                "regex": r"(?i)^(.*[^a-z])?([a-z]*(sql|query)|"
                + _either(_DATABASES)
                + r"|(run|exec|execute)_?(sql|query|queries|statements?))([^a-z].*)?$"
            },
            {"not": {"regex": r"(?i)doc|know|search|wiki|(^|[^a-z])web|faq|help|explain|schema|semantic|memory"}},
        ]
    },
    "destructive": _DESTRUCTIVE,
}
"""Kind of tool → the condition on the names of such tools."""

SAMPLE_NAMES: Mapping[str, tuple[str, ...]] = {
    "shell": (
        *("bash", "shell", "sh", "terminal", "Bash", "exec", "exec_command", "run_command", "execute_command"),
        *("run_shell_command", "run_terminal_cmd", "run_in_terminal", "*bash*", "*shell*", "*terminal*", "*_command"),
    ),
    "code": ("python", "python_repl", "execute_python", "run_python", "run_code", "execute_code", "code_interpreter"),
    "database": ("*sql*", "*query*", "*database*", "*postgres*", "*mysql*", "*sqlite*"),
    "destructive": ("*delete*", "*destroy*", "*purge*", "*wipe*", "*erase*", "*terminate*", "*drop*"),
}
"""The same for languages that only have globs: the names that agents and servers use most."""

_COMMAND_KEYS = words_of(
    "command commands cmd cmds cmdline cmd_line command_line commandline shell_command bash_command"
    " shellcommand script argv"
)
_COMMANDS = frozenset(["command", "cmd"])
"""Endings of the name of an argument that holds a command: ``cli_command``."""
_CODE_KEYS = words_of("code source script cell snippet expression program content query input command")
_INPUT_KEYS = frozenset(["code", "input", "stdin", "chars", "keys", "text", "source"])
"""Folded names of the arguments with the code of a shell tool; the second set applies if the first is absent.

``args.command`` stands for all of them.
"""

_BESIDE = frozenset(["args", "arguments", "argv", "params", "parameters"])
"""Arguments with the rest of the words when the command argument is only the program."""
_DEEPEST = 6
_NAMED_CLIENT = (
    rf"(?i)(?:.*[^a-z0-9])?(?:(?:call|run|use|exec|execute|invoke)_?)?({_either(_CLIENTS)})"
    r"(?:[-_](?:cli|generic|command|cmd|exec|run|tool))?$"
)
_INTERPRETERS: Mapping[str, str] = {
    **dict.fromkeys(("py", "python", "python3", "ipython", "jupyter", "notebook"), "python3"),
    **dict.fromkeys(("js", "javascript", "ts", "typescript", "node", "nodejs", "deno"), "node"),
    **dict.fromkeys(("sh", "bash", "zsh", "shell"), "sh"),
    **{name: name for name in ("ruby", "perl", "php", "lua", "julia")},
    **dict.fromkeys(("r", "rscript"), "rscript"),
}
_LANGUAGE_KEYS = ("language", "lang", "runtime", "kernel", "interpreter")


def kind_condition(data: JSON, path: Path) -> JSON:
    """Return the condition on ``tool`` that a ``tool_kind`` stands for."""
    kinds = as_list(data)
    for kind in kinds:
        if not isinstance(kind, str) or kind not in KINDS:
            raise PolicySetError(f"unknown kind of tool {kind!r}; known is {', '.join(KINDS)}", path=path)
    if not kinds:
        raise PolicySetError("the list is empty and could never match", path=path)
    found = [KINDS[kind] for kind in dict.fromkeys(kinds)]
    return found[0] if len(found) == 1 else {"any": found}


def without_kind(alternative: Mapping[str, JSON]) -> list[dict[str, JSON]]:
    """Return an alternative in plain keys, for readers of matches that do not use the engine.

    There are two if the command may have another name than ``command``: one key then stands for all others.
    """
    if "tool_kind" not in alternative:
        return [dict(alternative)]
    rest = {key: data for key, data in alternative.items() if key not in ("tool_kind", "args.command")}
    tools = kind_condition(alternative["tool_kind"], ("tool_kind",))
    rest["tool"] = {"all": [{"any": as_list(rest["tool"])}, tools]} if "tool" in rest else tools
    if "args.command" not in alternative:
        return [rest]
    return [{**rest, f"args.{name}": alternative["args.command"]} for name in ("command", "cmd")]


def commands_in(call: Call) -> tuple[list[tuple[str, JSON]], bool]:
    """Return the commands given to a shell tool, each with its argument name, and whether that name is a known one.

    If no name is known, every text is returned: a guess, in which unreadable text causes no doubt. Code is returned as
    the words that pass it to its interpreter, and words for the program that a tool is named after begin with it.
    """
    if languages := _languages_of(call):
        found = list(_under_known_names(call.args, "args", 0, _CODE_KEYS)) or [*call.args.items()]
        return [(name, given) for name, value in found for given in _as_code(languages, value)], True
    client = _client_of(call.tool)
    for keys in (_COMMAND_KEYS, _BESIDE, _INPUT_KEYS) if client else (_COMMAND_KEYS, _INPUT_KEYS):
        if found := list(_under_known_names(call.args, "args", 0, keys)):
            return [*found, *((name, _told(client, value)) for name, value in found if client)], True
    return [(f"args.{name}", value) for name, value in call.args.items() if isinstance(value, str | list)], False


@lru_cache(maxsize=1024)
def _client_of(tool: str) -> str:
    """Return the program that a tool's name names, such as ``git``; empty if it names none."""
    found = re.match(_NAMED_CLIENT, tool)
    return found.group(1).lower() if found else ""


def _told(client: str, value: JSON) -> JSON:
    """Return the command line of a client that is given only its arguments."""
    if isinstance(value, str):
        return value if value.split()[:1] == [client] else f"{client} {value}"
    return [client, *value] if isinstance(value, list | tuple) else value


@lru_cache(maxsize=1024)
def _languages_named(tool: str) -> tuple[str, ...]:
    """Return the interpreters of the code that a tool runs; empty if it runs none."""
    if not re.search(_CODE, tool):
        return ()
    named = tuple(program for word, program in _INTERPRETERS.items() if word in re.split(r"[^a-z0-9]+", tool.lower()))
    return named or ("python3", "node")


def _languages_of(call: Call) -> tuple[str, ...]:
    languages = _languages_named(call.tool)
    for name in _LANGUAGE_KEYS if languages else ():
        if (told := str(call.args.get(name, "")).lower()) in _INTERPRETERS:
            return (_INTERPRETERS[told],)
    return languages


def _as_code(languages: Sequence[str], value: JSON) -> Iterator[JSON]:
    code = "\n".join(map(str, value)) if isinstance(value, list | tuple) else value
    for language in languages if isinstance(code, str) else ():
        yield code if language == "sh" else [language, "-c", code]


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
        folded, end = _folded(str(name))
        if (folded in known or (end in _COMMANDS and end in known)) and not isinstance(value, Mapping):
            yield place, value
            if isinstance(value, str):
                yield from ((place, whole) for whole in _with_words_beside(data, name, value))
        if isinstance(value, Mapping | list | tuple):
            inner = list(_under_known_names(value, place, depth + 1, known))
            yield from inner
            if value and isinstance(value, Mapping) and not inner and folded in known and folded in _COMMAND_KEYS:
                yield place, value  # a command in a form of its own, which nobody can read


@lru_cache(maxsize=1024)
def _folded(name: str) -> tuple[str, str]:
    """Return an argument's name in small letters, with one line between its words, and the last of these."""
    folded = re.sub(r"[^a-z]+", "_", name.casefold())
    return folded, folded.rpartition("_")[2]


def _with_words_beside(data: Mapping[str, JSON], name: str, program: str) -> Iterator[JSON]:
    """Yield the command of a call that has the program in one argument and its words in another."""
    for other, words in data.items():
        if other == name or str(other).casefold() not in _BESIDE or not words:
            continue
        if isinstance(words, list | tuple) and all(isinstance(word, str) for word in words):
            yield [*program.split(), *words]
        elif isinstance(words, str):
            yield f"{program} {words}"
