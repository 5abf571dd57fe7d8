"""Shared by all commands: the common options, the printed answer, and the exit code."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from memkit.errors import MemkitError, NegativeAnswer, NotFound, NotTrusted, UsageError
from memkit.runtime.host.terminal import counted, harmless, is_coloured, is_drawn, is_unsafe, one_line, persons_only

if TYPE_CHECKING:
    from memkit.runtime.memory.archive.reader import ArchiveReader
    from memkit.runtime.memory.interface import ShardProblem
    from memkit.store.allowances import Demands
    from memkit.store.trust import Trust
    from memkit.workspace import Workspace


COMPLETES = "_MEMKIT_COMPLETE"
"""The variable by which a shell requests completions."""
Diagnostic = Mapping[str, Any]
Answer = TypeVar("Answer")
Decorated = TypeVar("Decorated", bound="Callable[..., Any] | click.Command")
MOST_SHOWN, WIDEST = 20, 400
"""How much is shown before a question, so that the question stays in sight."""
ENDPOINTS = (
    "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)  # fmt: skip
"""If one of these names a collector, commands report to it."""


def _nothing() -> None:
    """Do nothing."""


class Front:
    """The context of one run: where the store is, how to print, whether somebody can be asked."""

    def __init__(self) -> None:
        self.json = False
        self.debug = False
        self.no_input = False
        self.store: Path | None = None
        self._workspace: Workspace | None = None
        self._end_telemetry: Callable[[], None] = _nothing
        self._damage: Sequence[ShardProblem] = ()
        """Problems of the archive found by a store that has been closed."""

    @property
    def workspace(self) -> Workspace:
        """Return the open store: ``--store``, ``MEMKIT_STORE`` or the nearest parent; raise ``StoreFault`` if none."""
        if self._workspace is None:
            self._begin_telemetry()
            from memkit.workspace import open_workspace

            self._workspace = open_workspace(self.store, notice=self.note)
        return self._workspace

    @property
    def root(self) -> Path:
        """Return the folder of the same store, for commands that only read its files; raises as ``workspace`` does.

        Its settings are read leniently: a newer memkit's settings, or damaged ones, are not judged.
        """
        from memkit.runtime.memory.log.clone import claim
        from memkit.store.config import load_settings
        from memkit.store.layout import find_store

        root = find_store(self.store)
        for told in claim(root):
            self.note(told)
        load_settings(root)
        return root

    def _begin_telemetry(self) -> None:
        """Load the exporter if the environment names a collector."""
        if self._end_telemetry is _nothing and any(os.environ.get(name) for name in ENDPOINTS):
            from memkit.telemetry import start

            try:
                self._end_telemetry = start()
            except Exception as fault:  # noqa: BLE001 - a wrong OTEL_ variable must not stop a command
                self._end_telemetry = lambda: None
                self.note(f"Telemetry is off: {one_line(str(fault)) or type(fault).__name__}")

    def tell(self, event: Mapping[str, Any]) -> None:
        """Export an event of a command that needs no store, and so has no audit log."""
        self._begin_telemetry()
        if "opentelemetry" in sys.modules:
            from memkit.runtime.host.telemetry import telemetry

            told = telemetry()
            if told is not None:
                told.account(event)

    def close(self) -> None:
        """Release the store if the run opened it."""
        if self._workspace is not None:
            self._workspace.close()
            self._damage = self._workspace.damage
            self._workspace = None
        self._end_telemetry()
        self._end_telemetry = _nothing

    def answer(
        self,
        data: Any,
        text: str | Iterable[str] = "",
        *,
        ok: bool = True,
        diagnostics: Sequence[Diagnostic] = (),
        code: int | None = None,
        signs: bool = False,
    ) -> None:
        """Print the command's result and end the run.

        Args:
            data: What ``--json`` prints, JSON-able.
            text: What a person reads instead: one string, or lines.
            ok: False for a negative answer (exit 1).
            diagnostics: Findings of shape ``{code, severity, message, path, line}``.
            code: The exit code if it differs from 0 (ok) and 1 (not ok).
            signs: Whether the first word of a line is a status, so that a terminal colours it.
        """
        if self.json:
            click.echo(envelope(command_name(), data, ok=ok, diagnostics=[*diagnostics, *self.damage(diagnostics)]))
        else:
            lines = [text] if isinstance(text, str) else list(text)
            if is_drawn():
                self._draw(lines, signs=signs)
            elif any(lines) or len(lines) > 1:
                click.echo(harmless("\n".join(lines)))
        raise click.exceptions.Exit(code if code is not None else (0 if ok else 1))

    def _draw(self, lines: Sequence[str], *, signs: bool = False) -> None:
        """Print an answer as a terminal displays it best; with ``--no-input`` nothing waits for a key."""
        import shutil
        from datetime import UTC, datetime

        from memkit.cli.display import Presentation, show, signed

        opened = self._workspace
        text = Presentation(
            width=shutil.get_terminal_size().columns,
            colour=is_coloured(),
            now=opened.clock() if opened else datetime.now(UTC),
            shorten=opened.archive_at(None).shortened if opened else lambda _ids: {},
        ).text(signed(lines) if signs else lines)
        if text:
            show(text, may_wait=not self.no_input)

    def answer_each(self, name: str, shown: Iterator[tuple[Any, str]], ending: Callable[[], ListEnd]) -> None:
        """Print a list while it is read, which may be larger than memory, and end the run.

        Args:
            name: The key of the list in ``data``.
            shown: What ``--json`` prints for each item, and its line for a person. The first is read before anything is
                printed, so that an error that affects them all is printed alone.
            ending: Returns what follows, once all were read.
        """
        first = list(islice(shown, 1))
        everything = chain(first, shown)
        if self.json:
            opening = envelope(command_name(), {name: []}, ok=True).partition("[]")[0]
            click.echo(f"{opening}[", nl=False)
            before = ""
            for some in _batches(data for data, _ in everything):
                click.echo(before + ", ".join(map(harmless_json, some)), nl=False)
                before = ", "
            end = ending()
            more = "".join(f", {harmless_json(key)}: {harmless_json(value)}" for key, value in end.data.items())
            told = [*end.diagnostics, *self.damage(end.diagnostics)]
            click.echo(f"]{more}}}, {harmless_json({'diagnostics': told})[1:]}")
        elif is_drawn():  # columns are as wide as the widest of all lines
            lines = [line for _, line in everything]
            self._draw([*lines, *ending().lines])
        else:
            for lines in _batches(line for _, line in everything):
                click.echo(harmless("\n".join(lines)))
            if rest := ending().lines:
                click.echo(harmless("\n".join(rest)))
        raise click.exceptions.Exit(0)

    def damage(self, said: Sequence[Diagnostic] = ()) -> list[Diagnostic]:
        """Return the problems found while reading the archive's lines, in addition to those already ``said``."""
        places = {(one["code"], one["path"], one["line"]) for one in said}
        found = self._workspace.damage if self._workspace else self._damage
        return [damage_diagnostic(one) for one in found if (one.code, one.path, one.line or None) not in places]

    def nobody(self, user: str | None, archive: ArchiveReader | None = None) -> list[Diagnostic]:
        """Report that nothing is stored for a user whose name resembles another one, and return that as findings."""
        hint = self.nearest_user(user, archive)
        if not hint:
            return []
        return self.remark("unknown-user", f"Nothing is stored of {one_line(str(user), 40)!r}.{hint}", severity="info")

    def nearest_user(self, user: str | None, archive: ArchiveReader | None = None) -> str:
        """Return `` Did you mean '…'?`` for a user without data whose name resembles another one."""
        if self._workspace is None or user is None:
            return ""
        known = (archive or self._workspace.archive_at(None)).users()
        return "" if user in known else suggestion(user, map(one_line, known))

    def nearest_id(self, given: str, user: str | None) -> str:
        """Return `` Did you mean '…'?`` for an unknown id that resembles one with its beginning, of that user."""
        if self._workspace is None:
            return ""
        archive = self._workspace.archive_at(None)
        begun = (archive.ids_beginning(given[:size], user_id=user, most=NEAR) for size in (10, 8, 6, 4))
        near = next(filter(None, begun), [])
        return "" if given in near else suggestion(given, near)

    def note(self, message: str) -> None:
        """Print a message for the person, not part of the result, on standard error."""
        if COMPLETES not in os.environ:  # completion in a shell has no place for it
            from memkit.cli.display import spoken

            with suppress(OSError):  # a full disk below the messages ends no command, and no server
                click.echo(spoken(harmless(message), sys.stderr), err=True)

    def remark(self, code: str, *messages: str, severity: str = "warning", path: str | None = None) -> list[Diagnostic]:
        """Print remarks for the person, unless ``--json`` prints them, and return them as findings."""
        for message in messages if not self.json else ():
            self.note(message)
        return [diagnostic(code, message, severity=severity, path=path) for message in messages]

    @property
    def interactive(self) -> bool:
        """Return whether a person can be asked."""
        return not self.no_input and sys.stdin.isatty() and sys.stderr.isatty()

    def confirm(self, question: str, *, yes: bool) -> None:
        """Ask for confirmation before something is destroyed, unless ``yes``.

        Raises:
            UsageError: Nobody can be asked.
            NegativeAnswer: The answer is no.
        """
        if yes:
            return
        if not self.interactive:
            raise UsageError(f"{' '.join(question.split())} Cannot ask for confirmation here: add --yes to continue.")
        if not yes_or_no(question):
            raise NegativeAnswer("Not confirmed. Nothing was changed.")


def with_trust(front: Front, deed: Callable[[], Answer]) -> Answer:
    """Do what may need trust in the store; if trust is missing and a person is present, ask once and then do it.

    Raises:
        NotTrusted: Nobody can be asked, or the answer is no.
    """
    try:
        return deed()
    except NotTrusted as refused:
        if not front.interactive:
            raise
        if not agrees(refused.trust, refused.demands):
            raise
        refused.trust.give(refused.demands)
        return deed()


def agrees(trust: Trust, demands: Demands) -> bool:
    """Ask a person on the terminal whether the store may do what it demands."""
    forget_typed_ahead()
    return yes_or_no(_question(trust, demands))


def _question(trust: Trust, demands: Demands) -> str:
    changed = trust.changed(demands)
    what = listed(demands, MOST_SHOWN, WIDEST)
    if not trust.was_made_here():
        what += ["  bring what other clones wrote into its memory before the model, and carry out what of it waits"]
    lines = [f"Once you trust it, the store in {one_line(str(trust.root))} may:", *what]
    files = sum(name.startswith("file ") for name in demands.parts)
    used = f", or to the {counted(files, 'file')} of it that this could use," if files else ""
    runs = "That runs with your rights. " if demands.allows else ""
    lines.append(f"{runs}You will be asked again after any change to it{used}.")
    if changed:
        lines.append(f"Changed since you last trusted it: {named(changed[:MOST_SHOWN])}.")
    return "\n".join([*lines, "Trust it?"])


def listed(demands: Demands, most: int | None = None, width: int = 0) -> list[str]:
    """Return what a store would run or contact, one per line, and how many more there are."""
    shown = demands.allows[:most]
    left = len(demands.allows) - len(shown)
    lines = [f"  {allowance.kind:16} {one_line(allowance.what, width)}" for allowance in shown]
    return [*lines, *([f"  and {left} more: 'memkit trust --show' lists all"] if left else [])]


def named(changed: list[str]) -> str:
    """Return the names of the changed parts, as they may be shown."""
    return ", ".join(one_line(name) for name in changed)


def yes_or_no(question: str) -> bool:
    """Ask a person on the terminal until the answer is clear; Enter alone means no."""
    while True:
        answer = click.prompt(f"{question} [y/N]", default="", show_default=False, err=True).strip().lower()
        if answer in ("y", "yes"):
            return True
        if answer in ("", "n", "no"):
            return False
        click.echo("Please answer y or n.", err=True)


class ListEnd(NamedTuple):
    """What follows the items of a list."""

    data: Mapping[str, Any]
    """What ``--json`` prints beside the list."""
    lines: Sequence[str]
    diagnostics: Sequence[Diagnostic]


_AT_ONCE = 200
"""Number of list items printed at a time."""


def _batches(things: Iterator[Any]) -> Iterator[list[Any]]:
    while some := list(islice(things, _AT_ONCE)):
        yield some


def envelope(command: str, data: Any, *, ok: bool, diagnostics: Sequence[Diagnostic] = ()) -> str:
    """Return the one JSON object that ``--json`` prints for every command."""
    body = {"schema": f"memkit.{command}/1", "ok": ok, "data": data, "diagnostics": list(diagnostics)}
    return harmless_json(body)


def diagnostic(
    code: str, message: str, *, severity: str = "error", path: str | None = None, line: int | None = None
) -> Diagnostic:
    """Return one finding in the format that every command prints."""
    return {"code": code, "severity": severity, "message": message, "path": path, "line": line}


def damage_diagnostic(problem: ShardProblem) -> Diagnostic:
    """Return a problem with a line of the archive as printed by commands that only read it."""
    severity = "info" if problem.code == "moved_back" else "warning"
    return diagnostic(problem.code, problem.message, severity=severity, path=problem.path, line=problem.line or None)


def harmless_json(body: Any) -> str:
    """Return ``body`` as one line of JSON with terminal control codes escaped; it parses to the same value."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False)
    if text.isascii() and text.isprintable():
        return text
    return text.translate({ord(char): json.dumps(char)[1:-1] for char in set(text) if is_unsafe(char)})


def command_name() -> str:
    """Return the running command's name as in the envelope: ``memory.add`` for ``memkit memory add``."""
    context = click.get_current_context(silent=True)
    if context is None:
        return "memkit"
    return ".".join(context.command_path.split()[1:]) or "memkit"


EXAMPLES = Path(__file__).with_name("examples.txt")


def examples(command: str) -> list[str]:
    """Return the example command lines in the help of a command, such as ``memory add``; empty means memkit itself."""
    title = command or "memkit"
    blocks = (block.splitlines() for block in EXAMPLES.read_text(encoding="utf-8").split("\n\n"))
    return next(([line.strip() for line in block[1:]] for block in blocks if block[:1] == [title]), [])


def write_examples(ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the examples of a command below its options, each as it is typed: without line breaks."""
    lines = examples(" ".join(ctx.command_path.split()[1:]))
    if lines:
        with formatter.section("Examples"):
            formatter.write("".join(f"{'':{formatter.current_indent}}{line}\n" for line in lines))


_HALVES = re.compile("[\ud800-\udfff]")
"""Halves of surrogate pairs, as which the shell hands over bytes that are not UTF-8."""


class MemkitCommand(click.Command):
    """A command with the options common to all memkit commands."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(common_options())

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write two examples."""
        write_examples(ctx, formatter)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, with abbreviated ids already expanded."""
        for param in self.params:
            given = ctx.params.get(str(param.name))
            for one in given if isinstance(given, tuple) else (given,):
                if isinstance(one, str) and _HALVES.search(one) and not isinstance(param.type, click.Path):
                    raise UsageError(f"{one!r:.60} is not valid Unicode. Convert it to UTF-8 first.")
            if isinstance(param.type, RecordId) and param.name and (given := ctx.params.get(param.name)):
                whole = param.type.whole
                ctx.params[param.name] = (
                    whole(ctx, given) if isinstance(given, str) else tuple(whole(ctx, one) for one in given)
                )
        try:
            return super().invoke(ctx)
        except NotFound as error:
            error.args = (f"{error}{self._meant(ctx)}",)
            raise

    def _meant(self, ctx: click.Context) -> str:
        """Return a suggestion for a user or an id that does not exist."""
        front = ctx.ensure_object(Front)
        user = next((ctx.params.get(str(param.name)) for param in self.params if isinstance(param.type, User)), None)
        if hint := front.nearest_user(user):
            return hint
        ids = [ctx.params.get(str(param.name)) for param in self.params if isinstance(param.type, RecordId)]
        given = [one for each in ids if each for one in ((each,) if isinstance(each, str) else each)]
        return next(filter(None, (front.nearest_id(one, user) for one in given)), "")


def memkit_command(
    name: str, *, cls: type[MemkitCommand] = MemkitCommand, **attrs: Any
) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that makes the command ``name`` from a function whose first argument is the ``Front``."""
    return lambda deed: click.command(name, cls=cls, **attrs)(click.pass_obj(deed))


class MemkitGroup(click.Group):
    """A group whose commands all take the common options."""

    command_class = MemkitCommand

    def command(self, *args: Any, **kwargs: Any) -> Callable[[Callable[..., None]], click.Command]:  # type: ignore[override]
        """Return a decorator that adds a function, whose first argument is the ``Front``, to the group as a command."""
        add = super().command(*args, **kwargs)
        return lambda deed: add(click.pass_obj(deed))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(common_options())

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command to run, or suggest one, without importing another."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            from memkit.cli.other_words import meant_by

            ctx.fail(f"No such command '{args[0]}'.{meant_by(ctx, args) or suggestion(args[0], known)}")
        return super().resolve_command(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write two examples."""
        write_examples(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the whole first sentence of each command; click would cut it at the end of the line."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [
            (name, command.get_short_help_str(limit=1_000))
            for name, command in commands
            if command and not command.hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class SuggestingChoice(click.Choice[str]):
    """A choice that suggests the nearest value for a misspelt one."""

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        """Return the choices on one line."""
        return f"Choose from {', '.join(map(str, self.choices))}."

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return click's message, with a suggestion if a value is near."""
        message = super().get_invalid_choice_message(value, ctx)
        return message + suggestion(str(value), [str(choice) for choice in self.choices])


class UnquotedText(click.Argument):
    """A command's last argument, a text: unquoted words are joined."""

    def __init__(self, param_decls: Sequence[str], **attrs: Any) -> None:
        super().__init__(param_decls, **attrs | {"nargs": -1, "required": True})

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Return the words separated by single spaces; a quoted text stays as it is."""
        words = super().process_value(ctx, value)
        return " ".join(words) if words else words

    def make_metavar(self, ctx: click.Context) -> str:
        """Return the name as for a single text."""
        return str(self.name).upper()


def words_argument(name: str) -> Callable[[Decorated], Decorated]:
    """Return the last argument of a command for a text that may be unquoted."""
    return click.argument(name, cls=UnquotedText)


class User(click.ParamType[str]):
    """A user's name. An empty name, as from an unset variable, is no name and does not mean everybody."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return ``value``; a blank one is bad usage."""
        if not value.strip():
            self.fail("The user name is empty. Give --user NAME.", param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Return the users who have data."""
        front = ctx.ensure_object(Front)
        return offered(incomplete, lambda: [(user, "") for user in front.workspace.archive_at(None).users()])


KNOWN_NAMES: dict[str, Callable[[Front], Iterable[tuple[str, str]]]] = {}
"""Kind of name → the existing ones; filled by ``completion``, which is loaded when a shell asks."""


class KnownName(click.ParamType[str]):
    """The name of something that exists; the command reports one that does not."""

    name = "text"

    def __init__(self, what: str) -> None:
        self._what = what

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Return the names with this prefix; for a domain also files, if a path was begun."""
        from click.shell_completion import CompletionItem

        if self._what == "domain" and ("/" in incomplete or incomplete.startswith(".")):
            return [CompletionItem(incomplete, type="file")]
        front = ctx.ensure_object(Front)
        return offered(incomplete, lambda: KNOWN_NAMES[self._what](front))


def offered(incomplete: str, known: Callable[[], Iterable[tuple[str, str]]]) -> list[Any]:
    """Return a shell's completions for an incomplete word: names with descriptions.

    Errors yield no completions, and a name that no terminal can show is left out.
    """
    from click.shell_completion import CompletionItem

    from memkit.runtime.memory.record.lines import ArchiveError

    try:
        names = dict(known())
    except (MemkitError, ArchiveError, OSError):
        return []
    fitting = [name for name in names if name.startswith(incomplete) and name.isprintable()]
    return [CompletionItem(name, help=one_line(names[name], 60)) for name in fitting]


FILE = click.Path(dir_okay=False, path_type=Path)
READABLE_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
PLACE = click.Path(path_type=Path)
"""A file, which may have to be made; one that exists; a folder; and either of them."""

user_option = click.option("--user", type=User(), help="Whose memory it is (default: MEMKIT_USER, then memkit.yaml).")
agent_option = click.option(
    "--agent", type=User(), metavar="NAME", help="Which of the user's agents (default: the unnamed one)."
)

executor_option = click.option(
    "--executor", metavar="dask://HOST:PORT", help="Use the workers of this scheduler; same result."
)


tail_option = click.option(
    "--tail", type=click.IntRange(min=1), metavar="N", help="Only the newest N, the newest of them last."
)


class RecordId(click.ParamType[str]):
    """The id of a line of memory, or a prefix of it."""

    name = "id"

    def whole(self, ctx: click.Context, given: str) -> str:
        """Return the one id with this prefix; an unknown one stays as it is, for the command to report.

        Raises:
            UsageError: Several ids have it.
        """
        beginning = given.upper()
        if not BEGINS_AN_ID.fullmatch(beginning):
            return given
        archive = ctx.ensure_object(Front).workspace.archive_at(None)
        found = archive.ids_beginning(beginning, user_id=ctx.params.get("user"))
        if len(found) > 1 and beginning not in found:
            told = ", ".join(_candidate(archive, id) for id in found[:4])
            raise UsageError(f"{given} is ambiguous; it matches {told}{', …' * (len(found) > 4)}")
        return found[0] if len(found) == 1 else given

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Return the newest records of the named or configured user, and of nobody else."""
        front = ctx.ensure_object(Front)

        def records() -> list[tuple[str, str]]:
            owner = front.workspace.user(ctx.params.get("user"))
            found = front.workspace.archive_at(None).records(user_id=owner)
            return [(record.id, record.text) for record in found if record.id.startswith(incomplete)][-COMPLETED:]

        return offered(incomplete, records)


def _candidate(archive: ArchiveReader, id: str) -> str:
    """Return an id, with its text if it is a record's."""
    found = archive.get(id)
    return f"{id} ({one_line(found.record.text, 40)})" if found else id


NEAR = 200
"""How many ids with the same beginning are searched for the nearest to a misspelt one."""
BEGINS_AN_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{4,25}")
COMPLETED = 50
"""How many of the newest records a shell offers."""
record_argument = click.argument("record_id", metavar="ID", type=RecordId())


class SessionName(click.ParamType[str]):
    """A session: its id, its name, or a prefix of its id."""

    name = "session"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Return the sessions of the named or configured user, and of nobody else."""
        front = ctx.ensure_object(Front)

        def sessions() -> list[tuple[str, str]]:
            cards = front.workspace.session_book.of(front.workspace.user(ctx.params.get("user")))
            named = [(card.name, card.session) for card in cards if card.name]
            return [*((card.session, card.name or card.first) for card in cards), *named]

        return offered(incomplete, sessions)


BEGINNING = 4
"""Least length of a prefix that identifies a word."""


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return `` Did you mean '…'?`` for the nearest known word, or an empty string."""
    import difflib

    words = list(known)
    near = difflib.get_close_matches(word, words, n=3)
    # Two swapped letters are as far from the intended word as from an unrelated one.
    near.sort(key=lambda one: sorted(one) != sorted(word))
    # Somebody who remembers the beginning of a long name may type only that.
    near = near or ([one for one in words if one.startswith(word)] if len(word) >= BEGINNING else [])
    return f" Did you mean '{near[0]}'?" if near else ""


def common_options() -> list[click.Parameter]:
    """Return the options that every command takes, freshly made."""
    return [
        click.Option(
            ["--json", "as_json"],
            is_flag=True,
            expose_value=False,
            callback=_set("json"),
            help="Print one JSON envelope.",
        ),
        click.Option(
            ["--store"],
            type=click.Path(file_okay=False, path_type=Path),
            metavar="DIR",
            expose_value=False,
            callback=_set("store"),
            help="The store (default: MEMKIT_STORE, then the nearest parent with memkit.yaml).",
        ),
        click.Option(
            ["--no-input"],
            is_flag=True,
            expose_value=False,
            callback=_set("no_input"),
            help="Never ask; refuse instead.",
        ),
        click.Option(
            ["--debug"], is_flag=True, expose_value=False, callback=_set("debug"), help="Show the trace of an error."
        ),
    ]


def _set(name: str) -> Any:
    def callback(context: click.Context, _parameter: click.Parameter, value: Any) -> None:
        front = context.ensure_object(Front)
        if value:
            setattr(front, name, value)

    return callback


class PersonsOnly(NegativeAnswer):
    """Report that an agent requested what only a person may do."""

    code = "persons_only"


def require_person(deed: str) -> None:
    """Raise ``PersonsOnly`` if an agent runs this; ``deed`` is what was requested, such as ``'memkit trust'``."""
    if why := persons_only(deed):
        raise PersonsOnly(why)


# The terminal that a person types on, and prompts on it, on standard error.

GOES_ON = "\\"
"""At the end of a line: another one follows."""


def typed_line(question: str) -> str:
    """Return what is typed after ``question``, without its end of line; raise ``EOFError`` at the end of input."""
    click.echo(harmless(question), nl=False, err=True)
    line = sys.stdin.readline()
    if not line:
        click.echo(err=True)
        raise EOFError
    return line.rstrip("\r\n")


def forget_typed_ahead() -> None:
    """Discard input typed before a question was shown, so that nothing typed for another purpose answers it."""
    try:
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    except (ImportError, OSError, ValueError, termios.error):
        return  # no terminal, or one that cannot be flushed


# Named values on the command line: ``k=v`` is text, ``k:=JSON`` has a type.


def read_pairs(pairs: Sequence[str], option: str, reserved: Sequence[str] = ()) -> dict[str, Any]:
    """Return ``k=v`` as text and ``k:=JSON`` as data; raise ``UsageError`` for other text or a reserved name."""
    values: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        typed = key.endswith(":")
        key = key.removesuffix(":")
        if not sign or not key:
            raise UsageError(f"{option} {pair!r} is not K=V or K:=JSON.")
        if key in values:
            raise UsageError(f"{option} {key} is given twice.")
        if key in reserved:
            raise UsageError(f"{option} {key}: this is set by the conversation and cannot be given.")
        values[key] = _json(value, pair, option) if typed else value
    return values


def _json(value: str, pair: str, option: str) -> Any:
    try:
        return json.loads(value, parse_constant=_refuse_constant, object_pairs_hook=_without_twins)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is a ValueError
        raise UsageError(f"{option} {pair!r}: what follows := is not JSON ({error}). For text write K=V.") from None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number in JSON")


def _without_twins(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        twin = next(key for place, (key, _) in enumerate(members) if key in dict(members[:place]))
        raise ValueError(f"duplicate key {twin!r}")
    return found


# Parameter types of the commands about memory.


class Date(click.ParamType[str]):
    """A date or an RFC 3339 time, kept as it was written."""

    name = "date"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return ``value``; anything that is not a time is bad usage."""
        from memkit.runtime.memory.record.lines import InvalidRecord, parse_time

        try:
            parse_time(value)
        except InvalidRecord as error:
            self.fail(str(error), param, ctx)
        return value


class FiniteRange(click.FloatRange):
    """A range of finite numbers; ``told`` says of which."""

    def __init__(self, told: str, **bounds: Any) -> None:
        super().__init__(**bounds)
        self._told = told

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; ``inf`` and ``nan``, which a range may let through, are bad usage."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not {self._told}.", param, ctx)
        return number


UNIT = FiniteRange("a number from 0 to 1", min=0.0, max=1.0)
POSITIVE = FiniteRange("a finite number", min=0, min_open=True)
owner_option = click.option("--user", type=User(), help="Whose record it is; another user's id is not found.")
at_option = click.option("--at", metavar="COMMIT", help="What was believed at this commit.")
reason_option = click.option("--reason", default="", help="Why; kept in the record's history.")
