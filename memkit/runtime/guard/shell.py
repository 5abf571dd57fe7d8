"""What a value would run, seen through wrappers: the commands in shell text, and the SQL in it or for a client."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING
from unicodedata import category, normalize

from .checks import shown, words_of
from .interface import JSON
from .shell_code import INTERPRETER, Inner, in_code, strings_of
from .shell_lists import read_shell_text
from .shell_programs import SHELLS, has_verbs, takes_verb, verbs_of
from .shell_words import ASSIGNED, RUN_TIME, SYNTAX, ShellDoubt, ShellValues, ShellWord, Simple, literal
from .shell_wrappers import POWER_SHELL_COMMENT, as_power_shell, inner_commands, set_to_run

if TYPE_CHECKING:
    from .sql_text import SqlView

_MAX_TEXT = 200_000
_MAX_DEPTH = 12
_MAX_COMMANDS = 2_000
_MAX_READ = 600_000
_MAX_FEEDERS = 500
_MAX_FED = 3_000_000
_NO_FILE = re.compile(r"/dev/(null|stdout|stderr|tty|fd/|full|shm/)|&|\d+$|>?\(")
_NAMES_PROGRAM = words_of("set-alias sal new-alias nal")
_COPIES = words_of("cp ln mv install hash alias cat") | _NAMES_PROGRAM
_PROGRAM_FILE = re.compile(r"(?:bin/|(?:which|command -v|type -p|type -P|whereis -b)\s+)([\w.+-]+)\W*$")
"""A file that is a program, or the substitution that finds one."""
_PRINTS_SETTINGS = re.compile(
    r"(?:\$\(|`)\s*(?:(?:ssh-agent|gpg-agent)(?:\s+-[\w-]+)*"
    r"|(direnv|mise|zoxide|starship|pyenv|rbenv|nodenv|goenv|jenv|fnm|opam|brew|luarocks|asdf|atuin|conda)"
    r"(?:\s+(?:hook|export|activate|init|env|shellenv|path|shell\.\w+)(?:\s+(?:-|--?[\w-]+|bash|zsh|fish|sh|hook))*))\s*[)`]"
)
"""Programs whose output is meant to be evaluated: it sets variables and hooks, and contains nothing of the call."""
_TOO_MUCH = ShellDoubt(RUN_TIME, "more than the shell view reads")
_NULL = ShellDoubt(RUN_TIME, "a null character, which shells drop or stop at")


@dataclass(frozen=True)
class Command:
    """One command that would run."""

    program: str | None
    """The program's path as written, or ``None`` if only the running shell knows it."""
    words: tuple[ShellWord, ...]
    """Its arguments, options included."""
    inputs: tuple[ShellWord, ...] = ()
    """Text that it reads: here-documents, here-strings, and the words of the command piped into it."""

    @cached_property
    def name(self) -> str:
        """Return the program without its directory, in lower case, with look-alike letters replaced."""
        name = (self.program or "").replace("\\", "/").rpartition("/")[2]
        if not name.isascii():
            name = "".join(char for char in normalize("NFKC", name) if category(char) != "Cf")
        return name.lower().removesuffix(".exe")

    @cached_property
    def verbs(self) -> tuple[ShellWord, ...]:
        """Return the words that tell it what to do."""
        return tuple(verbs_of(self.name, self.words))


@dataclass(frozen=True)
class ShellView:
    """Every command of a text."""

    commands: tuple[Command, ...]
    doubts: tuple[ShellDoubt, ...]
    redirections: tuple[Command, ...] = ()
    """Files that are overwritten, each as the program ``>`` with the file; with ``--empty`` if nothing is written."""

    @cached_property
    def names(self) -> frozenset[str] | None:
        """Return the programs of all commands, or ``None`` if some are only known when the shell runs."""
        if self.doubts or any(command.program is None for command in self.commands):
            return None
        return frozenset(command.name for command in (*self.commands, *self.redirections))


def read_shell(value: str | Sequence[str]) -> ShellView:
    """Return the view of shell text, or of a list of words run without a shell.

    No program name contains a space, so a list whose first item does is also read as a list of shell texts.
    """
    if isinstance(value, str):
        return _read_text(value)
    view = _Unwrapping()
    view.add(Simple([literal(word) for word in value]), 0)
    if value and len(value[0].split()) > 1:
        for text in value:
            view.add_text(literal(text), 0)
    return view.result()


@lru_cache(maxsize=64)
def _read_text(text: str) -> ShellView:
    view = _Unwrapping()
    view.add_text(literal(text), 0)
    return view.result()


_FETCHED_INTO = re.compile(r"-[a-zA-Z]*[oO]|--output(?:-document)?")
"""Options whose value is the file that a download is written to."""
_HOLDS_ARGUMENTS = re.compile(r"(TF_CLI_ARGS(?:_\w+)?|TAR_OPTIONS|ZIPOPT|RSYNC_ARGS)=")
"""Variables whose value a program reads as additional arguments."""


def _held_arguments(written: Sequence[ShellWord], words: Sequence[ShellWord]) -> Iterator[ShellWord]:
    """Yield the additional arguments that variables before a command hold for it."""
    for word in written[: len(written) - len(words)]:
        if found := _HOLDS_ARGUMENTS.match(word.text):
            yield from map(literal, word.text[found.end() :].split())


def _verb_is_made(words: Sequence[ShellWord]) -> bool:
    """Return whether the first word that is neither an option nor possibly the value of one is made at run time."""
    for before, word in zip((literal(""), *words), words, strict=False):
        if not word.text.startswith("-"):
            return not word.certain and not word.fixed and not before.text.startswith("-")
    return False


_MADE_SCRATCH = re.compile(
    r"(?<![\w$])(\w+)=[\"']?(?:\$\(|`)\s*mktemp(?:\s+(?:--?[\w-]+(?:=[\w./-]+)?|[\w./-]*XXX[\w.]*))*\s*[)`]"
)
_MAY_CHANGE = re.compile(r"\beval\b|\bsource\b|(?:^|[;&|\n])\s*\.\s|\balias\b|mktemp\s*\(|\bPATH=")
_TEMPORARY = ("/tmp/", "/var/tmp/", "/private/tmp/")
_REMOVERS = words_of("rm rmdir unlink shred")


def _scratch_of(text: str) -> frozenset[str]:
    """Return the names by which a text refers to files and folders that it made by ``mktemp`` and nothing else."""
    if "mktemp" not in text or _MAY_CHANGE.search(text):
        return frozenset()
    found = set()
    for name in _MADE_SCRATCH.findall(text):
        uses = re.findall(rf"\$\{{?{name}(?!\w)", text)
        plain = re.findall(rf"\${name}(?!\w)|\$\{{{name}(?::?\?[^}}]*)?\}}", text)
        if len(uses) == len(plain) and len(re.findall(rf"(?<![\w$/.{{-]){name}(?!\w)", text)) == 1:
            found |= {f"${name}", f"${{{name}}}"}
    return frozenset(found)


def _writes_nothing(words: Sequence[str]) -> bool:
    """Return whether a command outputs nothing, so that its redirection only empties a file."""
    match words:
        case [] | [":" | "true" | "false" | "exec" | "echo"] | ["echo" | "printf", "" | "-n"] | ["echo", "-n", ""]:
            return True
        case ["cat" | "head" | "tail", "/dev/null"]:
            return True
    return False


class _Unwrapping:
    """Collects commands, following what each of them runs."""

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.doubts: list[ShellDoubt] = []
        self.redirections: list[Command] = []
        self.copied: dict[str, str] = {}
        """Renamed programs, by their new name."""
        self.values = ShellValues()
        self.written: dict[str, tuple[ShellWord, ...]] = {}
        """What the text itself writes into files, by file name; without texts if the content is unknown."""
        self.replaced: set[str] = set()
        """Files that the text itself writes."""
        self.scratch: frozenset[str] = frozenset()
        """Expressions for temporary files and folders that the text itself makes."""
        self.sets = False
        """Whether a variable was set, which may be the search path of programs."""
        self.left = _MAX_READ
        self.fed_left = _MAX_FED
        """How much may still be read of what is piped: many commands may read the same."""

    def result(self) -> ShellView:
        return ShellView(tuple(self.commands), tuple(dict.fromkeys(self.doubts)), tuple(self.redirections))

    def add_text(self, text: ShellWord, depth: int, outer: Simple | None = None) -> None:
        """Add the commands of shell text; those without input read that of the surrounding command."""
        if not depth:
            self.scratch = _scratch_of(text.text)
        if not text.certain and self._prints_settings(text.text):
            return
        if not text.certain:
            self.doubts.append(ShellDoubt(RUN_TIME, f"commands made at run time by {text.text[text.fixed :][:40]}"))
        if len(text.text) > _MAX_TEXT or self._exhausted(depth):
            self.doubts.append(_TOO_MUCH)
            return
        self.left -= len(text.text)
        if "\0" in text.text:
            self.doubts.append(_NULL)
        self.values.read_loops(text.text)
        commands, doubts = read_shell_text(text.text)
        self.doubts += doubts
        if not depth and "<#" in text.text:  # a redirection in another shell
            commands += read_shell_text(POWER_SHELL_COMMENT.sub(" ", text.text))[0]
        for simple in commands:
            if outer and not (simple.inputs or simple.piped):
                simple = replace(simple, inputs=outer.inputs, piped=outer.piped, feeder=outer.feeder)
            self.add(simple, depth)

    def _prints_settings(self, text: str) -> bool:
        """Return whether text is the output of a known program that nothing before it could have replaced."""
        program = text.strip("$(`) ").split()[:1]
        before = {command.name for command in self.commands} - {"cd", "eval", *program}
        return not before and not self.sets and _PRINTS_SETTINGS.fullmatch(text) is not None

    def _exhausted(self, depth: int) -> bool:
        return depth > _MAX_DEPTH or len(self.commands) > _MAX_COMMANDS or self.left < 0

    def add(self, simple: Simple, depth: int) -> None:
        self._follow_all(set_to_run(simple.words), simple, depth + 1)
        if simple.inputs:
            simple = replace(simple, inputs=[text for word in simple.inputs for text in self.values.of(word)])
        for words in self.values.readings(simple.words):
            self._add_words(simple, words, depth)

    def _add_words(self, simple: Simple, words: list[ShellWord], depth: int) -> None:
        while words and ASSIGNED.match(words[0].text):
            words, self.sets = words[1:], True
        self._redirect(simple, words)
        if not words:
            return
        words = [*words, *_held_arguments(simple.words, words)]
        if self._exhausted(depth):
            self.doubts.append(_TOO_MUCH)
            return
        words = as_power_shell(words)
        program = words[0]
        if not program.certain or program.text.startswith("/proc/"):
            self.doubts.append(ShellDoubt(RUN_TIME, f"a program name made at run time: {program.text[:40]}"))
        inputs = (*simple.inputs, *self._fed(simple), *self._statements(words, simple.read_from))
        command = Command(program.text if program.certain else None, tuple(words[1:]), inputs)
        if command.name in _REMOVERS and self._is_scratch(command):
            return
        self.commands.append(command)
        if takes_verb(command.name) and _verb_is_made(command.words):
            self.doubts.append(ShellDoubt(RUN_TIME, f"what {command.name} is to do is made at run time"))
        self._copy(command)
        if command.name == "tee":
            self._tee(command)
        elif command.name in ("curl", "wget"):
            for word in command.words if command.name == "wget" else ():
                self.written[word.text.rpartition("/")[2]] = ()
            for option, target in pairwise(command.words):
                if _FETCHED_INTO.fullmatch(option.text):
                    self.written[target.text.rpartition("/")[2]] = ()
        if command.name in self.copied and depth < _MAX_DEPTH:
            other = literal(self.copied.pop(command.name))  # only once, so that two mutual names terminate
            self.add(replace(simple, words=[other, *words[1:]]), depth + 1)
            self.copied[command.name] = other.text
        piped = simple.piped or simple.reads
        inner = inner_commands(command.name, command.words, piped=piped, inputs=simple.inputs, fed=inputs)
        self._follow_all(inner, simple, depth + 1)
        self._follow_all(self._scripts(command), simple, depth + 1)

    def _fed(self, simple: Simple) -> Iterator[ShellWord]:
        """Yield the words, and the input texts, of the commands whose output is piped in, as far as they are read."""
        feeder, seen = simple.feeder, 0
        while feeder and seen < _MAX_FEEDERS:
            for word in (*feeder.words, *feeder.inputs):
                self.fed_left -= len(word.text) + 1
                if self.fed_left < 0:
                    self.doubts.append(_TOO_MUCH)
                    return
                yield from self.values.of(word)
            feeder, seen = feeder.feeder, seen + 1

    def _is_scratch(self, command: Command) -> bool:
        """Return whether a command only removes temporary files that the text itself made."""
        operands = [word for word in command.words if not word.text.startswith("-")]
        whole = any(re.match(r"-\w*[rR]|--r", word.text) for word in command.words)
        return bool(operands) and all(
            word.text in self.scratch
            or (word.certain and not whole and word.text in self.replaced and word.text.startswith(_TEMPORARY))
            for word in operands
        )

    def _statements(self, words: Sequence[ShellWord], read_from: Sequence[ShellWord]) -> Iterator[ShellWord]:
        """Yield what the text itself wrote into the files that a command reads, and into those it names if it asks a
        database.
        """
        if self.written:
            client = _may_be_client(Command(words[0].text, ()))
            named = [word for word in words[1:] if client or word.text.endswith(".sql")]
            files = [name for word in (*named, *read_from) for name in word.text.split() or [""]]
            yield from (text for name in files for text in self.written.get(name.rpartition("/")[2], ()))

    def _scripts(self, command: Command) -> Iterator[Inner]:
        """Yield what a command runs of the files that the text itself wrote."""
        named = (command.program or "", *(word.text for word in command.words)) if self.written else ()
        for place, text in enumerate(named):
            file = text.rpartition("/")[2]
            runs = not place or command.name in SHELLS or command.name in ("source", ".")
            if runs and self.written.get(file) == () and (place or "/" in text):
                yield Inner(doubt=ShellDoubt(RUN_TIME, f"what {file[:40]} holds is made at run time"))
            for content in self.written.get(file, ()):
                if INTERPRETER.fullmatch(command.name):
                    yield from in_code(command.name, content.text)
                elif runs:
                    yield Inner(text=content, read=True)

    def _redirect(self, simple: Simple, words: Sequence[ShellWord]) -> None:
        texts = [word.text for word in words]
        given = any(text.text for text in simple.inputs)
        hands_on_nothing = texts == ["cat"] and bool(simple.inputs)
        nothing = not simple.closed and not given and (hands_on_nothing or _writes_nothing(texts))
        content = tuple(simple.inputs) or (tuple(words[1:]) if texts[:1] in (["echo"], ["printf"]) else ())
        for target in simple.appends:
            name = target.text.rpartition("/")[2]
            self.written[name] = (*self.written.get(name, ()), *content)
        self.replaced.update(target.text for target in simple.writes if ".." not in target.text)
        for target in simple.writes:
            empty = nothing or (
                target.text in texts[1:] and texts[0] not in ("echo", "printf")
            )  # emptied before it is read
            self.written[target.text.rpartition("/")[2]] = content
            if not _NO_FILE.match(target.text):
                told = (literal(target.text), *([literal("--empty")] if empty else []))
                self.redirections.append(Command(">", told))

    def _tee(self, command: Command) -> None:
        """Remember what ``tee`` writes into files, which it overwrites like a redirection."""
        appends = any(word.text in ("-a", "--append") for word in command.words)
        for word in command.words:
            if not word.text.startswith("-"):
                self.written[word.text.rpartition("/")[2]] = command.inputs
                if command.inputs and not appends and not any(text.text for text in command.inputs):
                    self.redirections.append(Command(">", (literal(word.text), literal("--empty"))))

    def _copy(self, command: Command) -> None:
        """Remember a program given another name, as by ``cp /bin/rm x`` and ``hash -p /bin/rm x``."""
        if command.name not in _COPIES:
            return
        operands = [word.text for word in command.words if not word.text.startswith("-")]
        if command.name in _NAMES_PROGRAM and len(operands) == 2:
            self.copied[operands[0].lower()] = operands[1]
        elif len(operands) == 2 and (found := _PROGRAM_FILE.search(operands[0])):
            name = operands[1].rstrip("/").rpartition("/")[2].lower()
            self.copied[name] = found.group(1)

    def _follow_all(self, inner: Iterator[Inner], outer: Simple, depth: int) -> None:
        for found in inner:
            if self._exhausted(depth):
                self.doubts.append(_TOO_MUCH)
                break
            sure = len(self.doubts)
            if found.doubt:
                self.doubts.append(found.doubt)
            if found.text:
                self.add_text(found.text, depth, None if found.read else outer)
            if found.words:
                self.left -= len(found.words)
                self.add(replace(outer, words=list(found.words)), depth)
            if not found.surely:
                self.doubts[sure:] = [doubt for doubt in self.doubts[sure:] if doubt is _TOO_MUCH]


def view_of(value: JSON) -> ShellView | None:
    """Return what a value would run as shell, or ``None`` if it is neither text nor a list of words."""
    if isinstance(value, str):
        return read_shell(value)
    if isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value):
        return read_shell(tuple(value))
    return None


# SQL, as text or passed to a client.

_CLIENTS = words_of(
    "duckdb bq trino presto hive beeline cockroach pgcli mycli litecli clickhouse clickhouse-client impala-shell isql"
    " usql osql db2 athena rqlite wrangler turso mariadb cqlsh dolt heroku supabase snow databricks mclient exaplus"
    " prisma gcloud aws influx"
)
_STATEMENT_IS_OPERAND = words_of("sqlite sqlite3 duckdb turso")
"""Clients whose operands are a database and then a statement."""
_PROGRAM = re.compile(r"[\w.+-]+")
_SEVERAL_WORDS = re.compile(r"[\s\"`\[]|/\*")
_WHOLE_STATEMENT = re.compile(r"(?i)(?:shutdown|vacuum|checkpoint|rollback|commit|begin)(?:;|\Z)")
"""One-word statements, in a place where any other single word is the value of an option."""
_OPTION = re.compile(r"--(command|execute|query|cmd|sql|eval)=?|-[A-Za-z]{0,8}")
_OTHER_OPTIONS = "hdpUPuDfo"
"""Last letters of short options whose value is a host, a name or a file."""
_ASKS_DATABASE = re.compile(
    r"exec|query|cursor|sql|\b(?:raw|prepare|statement)\s*\(|(?:\.|->)\s*(?:run|do)\s*\(", re.IGNORECASE
)


def sql_views(value: JSON) -> Iterator[SqlView]:
    """Yield the SQL in a value: the text itself, and what shell commands in it pass to a database client."""
    for text in _sql_in(value):
        from .sql_text import SqlView, read_sql  # most calls contain none

        yield read_sql(text) if isinstance(text, str) else SqlView((), (text.message,), False)


def _sql_in(value: JSON) -> Iterator[str | ShellDoubt]:
    """Yield possible SQL in a value, and doubts about unreadable parts."""
    if isinstance(value, str):
        if _SEVERAL_WORDS.search(value) or _WHOLE_STATEMENT.match(value):
            yield value
        yield from _in_shell(read_shell(value))
    elif isinstance(value, Mapping):
        for element in value.values():
            yield from _sql_in(element)
    elif isinstance(value, (list, tuple)):
        for element in value:
            yield from _sql_in(element)
        if all(isinstance(word, str) for word in value):
            yield from _in_shell(read_shell(tuple(value)))


def _in_shell(view: ShellView) -> Iterator[str | ShellDoubt]:
    clients = [command for command in view.commands if _may_be_client(command) and not _in_memory(command)]
    for command in clients:
        for word in (*command.words, *command.inputs):
            yield from _option_values(word.text)
        yield from _at_run_time(command)
    for command in view.commands:
        if command not in clients and has_verbs(command.name):
            for option, word in pairwise(command.words):
                if _GIVES_STATEMENT.fullmatch(option.text) and _SEVERAL_WORDS.search(word.text):
                    yield word.text
        if INTERPRETER.fullmatch(command.name):
            yield from _in_code([*command.words, *command.inputs])
    broken = next((doubt for doubt in view.doubts if doubt.kind == SYNTAX), None)
    if broken and any(command.program for command in clients):
        yield broken._replace(message=f"{broken.message} in the command")


def _may_be_client(command: Command) -> bool:
    if command.program is None or command.name in _CLIENTS:
        return True
    return "sql" in command.name and _PROGRAM.fullmatch(command.name) is not None


_GIVES_STATEMENT = re.compile(r"-[ceqQ]|--(?:execute|query|sql|statement|command)")
"""Options of any program whose value may be a statement."""
_OPENS_FILES = re.compile(
    r"\battach\b|\.(?:open|restore|read|load|import|shell|system)\b|\bload_extension\b", re.IGNORECASE
)


def _in_memory(command: Command) -> bool:
    """Return whether a client works on an in-memory database."""
    if command.name not in _STATEMENT_IS_OPERAND or all(word.text != ":memory:" for word in command.words):
        return False
    return not any(_OPENS_FILES.search(word.text) or not word.certain for word in (*command.words, *command.inputs))


def _option_values(text: str) -> Iterator[str]:
    if not _SEVERAL_WORDS.search(text):  # the name of a file or database, not a statement
        return
    yield text
    if found := _OPTION.match(text):
        ends = range(2, found.end() + 1) if text[1] != "-" else [found.end()]  # the option's name may end at any letter
        yield from (text[end:] for end in ends)


def _at_run_time(command: Command) -> Iterator[ShellDoubt]:
    """Yield a doubt if the running shell makes a statement given to a client."""
    operands = [word for word in command.words if not word.text.startswith("-")]
    made = [word for word in operands[1:] if _is_made(word, 0)] if command.name in _STATEMENT_IS_OPERAND else []
    for option, word in zip((literal(""), *command.words), command.words, strict=False):
        joined = _OPTION.match(word.text)
        if command.program and (
            (_takes_statement(option.text) and _is_made(word, 0))
            or (joined and _takes_statement(joined.group()) and _is_made(word, joined.end()))
            or (word.text.startswith("<(") and not word.fixed)
        ):
            made.append(word)
    if not made and _asked_by_input(command, operands):
        made += [word for word in command.inputs if _is_made(word, 0)]
    yield from (ShellDoubt(RUN_TIME, f"a statement made at run time by {shown(word.text)}") for word in made)


def _takes_statement(option: str) -> bool:
    return _OPTION.fullmatch(option) is not None and (option.startswith("--") or option[-1] not in _OTHER_OPTIONS)


def _is_made(word: ShellWord, start: int) -> bool:
    """Return whether a statement of the text from ``start`` on begins with what only the running shell knows."""
    return not word.certain and word.fixed >= start and word.text[start : word.fixed].rstrip()[-1:] in ("", ";")


def _asked_by_input(command: Command, operands: Sequence[ShellWord]) -> bool:
    """Return whether a client runs its input, which is a text or what ``echo`` prints."""
    first = command.inputs[0] if command.inputs else literal("")
    printed = first.text in ("echo", "printf") or not (first.certain and _PROGRAM.fullmatch(first.text))
    if command.name in _STATEMENT_IS_OPERAND and len(operands) > 1:
        return False
    return printed and not any(_GIVES_STATEMENT.match(word.text) for word in command.words)


def _in_code(words: Sequence[ShellWord]) -> Iterator[str]:
    """Yield the SQL in the strings of code that talks to a database."""
    for word in words:
        if _ASKS_DATABASE.search(word.text):
            yield from filter(_SEVERAL_WORDS.search, strings_of(word.text))
