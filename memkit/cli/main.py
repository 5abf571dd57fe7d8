"""The entry point: every command, imported when it runs, and the one place that maps errors to exits."""

from __future__ import annotations

import gc
import importlib
import os
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from memkit import __version__
from memkit.cli.output import COMPLETES, Diagnostic, Front, MemkitGroup, diagnostic, envelope
from memkit.runtime.host.terminal import given_arguments, harmless, prepare_streams, set_results_apart

Commands = Mapping[str, tuple[str, str]]
"""Command name → (``module:attribute``, its line in the help)."""


class LazyGroup(MemkitGroup):
    """A group made from a table: its help and its completion import nothing but the table."""

    def __init__(self, *args: Any, table: Commands, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the command names in the order in which a newcomer meets them."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command, or None for an unknown name."""
        if cmd_name not in self.table:
            return None
        module, _, attribute = self.table[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command table without importing a command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.table.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Return completions for command names and options without importing a command."""
        from click.shell_completion import CompletionItem

        fitting = {name: text for name, (_, text) in self.table.items() if name.startswith(incomplete)}
        names = [CompletionItem(name, help=text) for name, text in fitting.items()]
        return names + click.Command.shell_complete(self, ctx, incomplete)


MEMORY_COMMANDS: Commands = {
    "add": ("memkit.cli.memory.write:add", "Offer TEXT to long-term memory."),
    "search": ("memkit.cli.memory.read:search", "Search what a user may see."),
    "list": ("memkit.cli.memory.read:list_command", "List records, oldest first."),
    "get": ("memkit.cli.memory.read:get", "Print one record and everything that happened to it."),
    "why": ("memkit.cli.memory.read:why", "Say when a record was recalled, and when it lost."),
    "blame": ("memkit.cli.memory.read:blame", "Say which commit brought a record and what happened to it."),
    "stats": ("memkit.cli.memory.read:stats", "Count what is remembered."),
    "put": ("memkit.cli.memory.write:put", "Store VALUE under KEY, replacing the present value."),
    "get-value": ("memkit.cli.memory.read:get_value", "Print the value stored under KEY."),
    "supersede": ("memkit.cli.memory.write:supersede", "Replace a record with a new text."),
    "refine": ("memkit.cli.memory.write:refine", "Reword a record by what you say about it."),
    "merge": ("memkit.cli.memory.write:merge", "Replace several records with one."),
    "update": ("memkit.cli.memory.write:update", "Change tags, confidence, importance or validity of a record."),
    "confirm": ("memkit.cli.memory.write:confirm", "Say that a record is true."),
    "contradict": ("memkit.cli.memory.write:contradict", "Doubt a record: its confidence falls."),
    "reject": ("memkit.cli.memory.write:reject", "Say that a record is false; its value cannot come back."),
    "allow": ("memkit.cli.memory.write:allow", "Allow a rejected or erased value to be added again."),
    "approve": ("memkit.cli.memory.write:approve", "Release a record from quarantine."),
    "resolve": ("memkit.cli.memory.write:resolve", "Say which record of an open question holds, and since when."),
    "forget": ("memkit.cli.memory.write:forget", "Retire a record; it may be added again."),
    "restore": ("memkit.cli.memory.upkeep:restore", "Make a forgotten or swept record live again."),
    "revoke": ("memkit.cli.memory.upkeep:revoke", "Take back everything derived from a session or a source."),
    "sweep": ("memkit.cli.memory.upkeep:sweep", "Retire what is expired, too unsure, too old or too unimportant."),
    "consolidate": ("memkit.cli.memory.upkeep:consolidate", "Summarise and deduplicate on a branch to review."),
    "snapshot": ("memkit.cli.memory.upkeep:snapshot", "Write all memory as shards on a branch."),
    "reflect": ("memkit.cli.memory.upkeep:reflect", "Draw conclusions from many records, on a branch to review."),
    "export": ("memkit.cli.memory.carry:export", "Write everything held on a user."),
    "import": ("memkit.cli.memory.carry:import_command", "Offer the memories of a file, or restore an export."),
    "erase": ("memkit.cli.memory.carry:erase", "Remove everything held on a user, and prove it."),
}


@click.group("memory", cls=LazyGroup, table=MEMORY_COMMANDS)
def memory() -> None:
    """Add, search, correct, explain, carry and erase long-term memory."""


SESSION_COMMANDS: Commands = {
    "list": ("memkit.cli.sessions:list_command", "List your conversations, the last one first."),
    "search": ("memkit.cli.sessions:search", "Search what was said in them."),
    "show": ("memkit.cli.sessions:show", "Print one: what was said, called and remembered."),
    "rename": ("memkit.cli.sessions:rename", "Give a session a name, or another one."),
    "adopt": ("memkit.cli.sessions:adopt", "Continue sessions that another clone left here."),
    "rm": ("memkit.cli.sessions:remove", "Remove conversations from this machine."),
}


@click.group("sessions", cls=LazyGroup, table=SESSION_COMMANDS)
def sessions() -> None:
    """List, search, show, rename, adopt and remove the conversations kept on this machine."""


SKILL_COMMANDS: Commands = {
    "new": ("memkit.cli.skill:new", "Start a skill from an example, and commit it."),
    "list": ("memkit.cli.skill:list_command", "List the store's skills."),
    "show": ("memkit.cli.skill:show", "Show one skill."),
    "search": ("memkit.cli.skill:search", "Search the skills, best first."),
    "run": ("memkit.cli.skill_run:run", "Carry out a skill step by step, under policy."),
    "stats": ("memkit.cli.skill_run:stats", "Show how often skills were run here, and with what success."),
    "history": ("memkit.cli.skill:history", "Show the commits that changed a skill."),
    "diff": ("memkit.cli.skill:diff", "Say what changed in a skill, by meaning."),
    "check": ("memkit.cli.skill:check", "Run the checks that skills carry."),
    "commit": ("memkit.cli.skill:commit", "Commit a changed skill, if its checks pass."),
    "rollback": ("memkit.cli.skill:rollback", "Restore an earlier version of a skill."),
    "propose": ("memkit.cli.skill:propose", "Draft a skill from a session, on a branch to review."),
    "scan": ("memkit.cli.skill:scan", "Scan a skill from elsewhere for hostile content."),
    "import": ("memkit.cli.skill:import_command", "Import a SKILL.md as a skill, or take over what is new in it."),
    "export": ("memkit.cli.skill:export", "Write a skill as an agent skill (SKILL.md)."),
}


@click.group("skill", cls=LazyGroup, table=SKILL_COMMANDS)
def skill() -> None:
    """Write, find, follow and carry skills: how things are done."""


POLICY_COMMANDS: Commands = {
    "list": ("memkit.cli.policy:list_command", "List the store's policies."),
    "show": ("memkit.cli.policy:show", "Show one policy."),
    "stats": ("memkit.cli.policy:stats", "Say how often each policy matched a call of an agent."),
    "search": ("memkit.cli.policy:search", "Search the policies, best first."),
    "new": ("memkit.cli.policy:new", "Start a policy from an example that passes its own tests."),
    "check": ("memkit.cli.policy:check", "Say what the policies decide about a tool call, and why."),
    "conflicts": ("memkit.cli.policy_proofs:conflicts", "Find what contradicts, covers or never applies."),
    "coverage": ("memkit.cli.policy_proofs:coverage", "Say what the policies decide about a list of calls."),
    "diff": ("memkit.cli.policy_proofs:diff", "Say which calls are decided differently, weakened policies first."),
    "test": ("memkit.cli.policy_proofs:test", "Run the tests that the policies carry."),
    "commit": ("memkit.cli.policy:commit", "Commit a changed policy, if it passes its own tests."),
    "export": ("memkit.cli.policy:export", "Write the policies for another tool, and say what that loses."),
    "history": ("memkit.cli.policy:history", "Show the commits that changed a policy."),
    "rollback": ("memkit.cli.policy:rollback", "Restore an earlier version of a policy."),
}


@click.group("policy", cls=LazyGroup, table=POLICY_COMMANDS)
def policy() -> None:
    """Write, find, check, test and follow policies: what an agent may do."""


DOMAIN_COMMANDS: Commands = {
    "new": ("memkit.cli.domain:new", "Start a domain from an example, with a problem that tests it."),
    "list": ("memkit.cli.domain:list_command", "List the store's planning domains."),
    "show": ("memkit.cli.domain:show", "Show a domain's tasks, methods and steps."),
    "check": ("memkit.cli.domain:check", "Check domains, their problems and what was learned, by lint's rules."),
    "test": ("memkit.cli.domain:test", "Solve the problems recorded for domains, and say what none uses."),
    "graph": ("memkit.cli.domain:graph", "Draw a domain's tasks, methods and steps."),
    "commit": ("memkit.cli.domain:commit", "Commit a changed domain, if its recorded problems pass."),
    "history": ("memkit.cli.domain:history", "Show the commits that changed a domain."),
    "rollback": ("memkit.cli.domain:rollback", "Restore a domain as of a commit."),
    "convert": ("memkit.cli.domain:convert", "Write a domain or a problem in HDDL, or in YAML."),
    "learned": ("memkit.cli.domain:learned", "List methods that a model proposed and nobody promoted yet."),
    "promote": ("memkit.cli.domain:promote", "Move a learned method into the domain, after a check."),
    "reject": ("memkit.cli.domain:reject", "Discard a learned method for good."),
}


@click.group("domain", cls=LazyGroup, table=DOMAIN_COMMANDS)
def domain() -> None:
    """Write, check, test, draw and follow planning domains, and review what was learned for them."""


COMMANDS: Commands = {
    "init": ("memkit.cli.store:init", "Make a store: memory, skills and policies as text in a git repository."),
    "setup": ("memkit.cli.setup:setup", "Choose the model that answers in this store, ask it once, and save it."),
    "demo": ("memkit.cli.demo:demo", "Show the whole tour in a temporary directory, with no key and no server."),
    "trust": ("memkit.cli.trust:trust", "Let this store run its tools and ask its provider, as they are now."),
    "memory": ("memkit.cli.main:memory", "Add, search, correct and govern long-term memory."),
    "graph": ("memkit.cli.graph:graph", "Show how the people and things in memory are related."),
    "core": ("memkit.cli.core:core", "Show and set the sections that are always in the prompt."),
    "consent": ("memkit.cli.privacy:consent", "Grant, withdraw and list consent to long-term memory."),
    "chat": ("memkit.cli.chat.command:chat", "Talk to the agent that remembers."),
    "sessions": ("memkit.cli.main:sessions", "List, search, show, rename and remove conversations."),
    "skill": ("memkit.cli.main:skill", "Write, find, follow and carry skills."),
    "policy": ("memkit.cli.main:policy", "Write, list, check and test policies."),
    "domain": (
        "memkit.cli.main:domain",
        "Write, check, test and draw planning domains.",
    ),
    "plan": ("memkit.cli.plan:plan", "Plan a task of a domain, and verify plans."),
    "evolve": ("memkit.cli.evolve:evolve", "Evolve a program in a sandbox, and look at its runs."),
    "lint": ("memkit.cli.lint:lint", "Check skills, policies, domains and the archive."),
    "rule": ("memkit.cli.lint:rule", "Say what a lint rule checks, and why."),
    "diff": ("memkit.cli.review:diff", "Show by meaning what changed between two commits, or since one."),
    "review": ("memkit.cli.review:review", "Say what to look at first in a change, and whether to stop it."),
    "export": (
        "memkit.cli.agents_md:export",
        "Tell other agents what holds, in AGENTS.md, and take back their edits.",
    ),
    "gen": ("memkit.cli.project:gen", "Render the agent into a project for an SDK."),
    "update": ("memkit.cli.project:update", "Update a generated project to the installed memkit and to its store."),
    "eject": ("memkit.cli.project:eject", "Put the runtime's sources into a generated project, to change them."),
    "targets": ("memkit.cli.project:targets", "List the SDKs that gen renders for, and what each needs."),
    "key": ("memkit.cli.privacy:key", "List, export, import and destroy the keys that open sealed text."),
    "fsck": ("memkit.cli.store:fsck", "Check every line of the archive, and what sessions left."),
    "index": ("memkit.cli.store:index", "Show the state of the index, or rebuild it."),
    "git": ("memkit.cli.store:git", "Set up how git merges and shows shards."),
    "commit": ("memkit.cli.store:commit", "Commit memory that is not in git yet."),
    "backend": ("memkit.cli.backend:backend", "Say where memory is stored, and move it to a server or back."),
    "migrate": ("memkit.cli.store:migrate", "Bring an older store to the format of this version."),
    "config": ("memkit.cli.store:config", "Show every setting and where its value came from, or change one."),
    "audit": ("memkit.cli.privacy:audit", "Show what was written, read, refused and decided."),
    "bench": ("memkit.cli.bench:bench", "Measure retrieval on your own conversations."),
    "eval": ("memkit.cli.bench:evaluate", "Ask memory your own questions, and say which answers it finds."),
    "doctor": ("memkit.cli.store:doctor", "Check this machine and the store, and say what is missing."),
    "serve": (
        "memkit.cli.serve:serve",
        "Serve this store to programs by the Model Context Protocol, and to people as a page.",
    ),
    "page": ("memkit.cli.serve:page", "Write the page as files to read, such as an artefact of CI."),
    "token": ("memkit.cli.serve:token", "Make, list and revoke the tokens with which programs call a server."),
    "mcp": ("memkit.cli.serve:mcp", "Tell clients of the Model Context Protocol about this store."),
    "fake-llm": ("memkit.cli.fake_llm:fake_llm", "Serve a scripted model on loopback, for tests without a key."),
    "completion": ("memkit.cli.completion:completion", "Print the shell completion for bash, zsh or fish."),
}


@click.group(
    cls=LazyGroup, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="memkit")
def cli() -> None:
    """Agent memory you can review: skills, policies and long-term memory as plain text in git."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; every error becomes one line or one JSON envelope."""
    front, printing = Front(), sys.stdout
    if COMPLETES in os.environ:
        importlib.import_module("memkit.cli.completion")  # registers the completions for shells
    try:
        try:
            result = cli.main(list(arguments), prog_name="memkit", standalone_mode=False, obj=front)
        finally:
            front.close()
        # Flush here, while a full or closed stream can still be handled, and not at interpreter exit.
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt) as interrupt:
        return _interrupted(interrupt, arguments, front)
    except BrokenPipeError:
        discard()  # the reader (head, less) has left, and nobody would see a message
        return 0
    except SystemExit as left:
        # Click exits by itself after a completion, and with 1 and another stream once a reader has left.
        if sys.stdout is printing:
            return int(left.code or 0)
        discard()
        return 0
    except Exception as error:  # noqa: BLE001 - the one place where any error becomes an exit code
        # Before Python 3.12, an interrupt in a class that is being made arrives as the cause of another error.
        return (_interrupted if isinstance(error.__cause__, KeyboardInterrupt) else _fail)(error, arguments, front)
    return result if isinstance(result, int) else 0


def main() -> None:
    """Run the command line of this process."""
    prepare_streams()
    arguments = given_arguments()
    if not {"--json", "--jsonl"}.isdisjoint(arguments):
        set_results_apart()
    code = run(arguments)
    try:
        sys.stderr.flush()
    except OSError:
        discard(err=True)  # notes that could not be written would make the interpreter end with 120
    gc.freeze()  # or the interpreter would traverse every object once more before exiting
    sys.exit(code)


def _interrupted(interrupt: BaseException, arguments: Sequence[str], front: Front) -> int:
    """Say that the command was interrupted and return its exit code."""
    say("Interrupted.", err=True)
    if front.json or _asks_for_json(arguments):
        _say_failure(interrupt, arguments, [diagnostic("interrupted", "Interrupted.")])
    return 130


def _fail(error: Exception, arguments: Sequence[str], front: Front) -> int:
    """Print ``error`` as one line or one envelope and return its exit code."""
    from memkit.runtime.memory.gate.secrets import mask

    code, label, message = _describe(error)
    message = mask(message)  # it may quote what somebody typed in the wrong place
    if front.debug or "--debug" in arguments:
        import traceback

        say(mask("".join(traceback.format_exception(error))), err=True)
    path, line = getattr(error, "path", None), getattr(error, "line", None)
    found = diagnostic(label, message, path=str(path) if path else None, line=line)
    as_json = front.json or _asks_for_json(arguments)
    if as_json and _say_failure(error, arguments, [found, *front.damage()]):
        return code  # otherwise standard output is full, and only the other stream can say so
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        say(message, err=True)
    else:
        from memkit.cli.display import spoken

        shown = harmless(message).replace("\n", "\\n")  # the name of a folder may contain a line break
        # A negative answer may be the expected one; anything else is a failure.
        say(spoken(f"memkit: {shown}", sys.stderr, "care" if code == 1 else "bad"), err=True)
    if isinstance(error, OSError):
        discard()  # the full stream may be standard output itself
    return code


def _say_failure(error: BaseException, arguments: Sequence[str], findings: Sequence[Diagnostic]) -> bool:
    return say(envelope(_failed_command(error, arguments), None, ok=False, diagnostics=findings))


def _describe(error: Exception) -> tuple[int, str, str]:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return 2, "usage", error.format_message()
    if isinstance(error, click.UsageError):
        return 2, "usage", usage_line(error)
    if isinstance(error, click.ClickException):
        return 2, "usage", error.format_message()
    code = getattr(error, "exit_code", None)
    if isinstance(code, int):
        return code, str(getattr(error, "code", "error")), str(error)
    if isinstance(error, OSError):
        if isinstance(error, FileNotFoundError) and not error.filename and not _has_folder():
            return 3, "environment", "The current directory no longer exists. Change to another one."
        where = f"{error.filename}: " if error.filename else ""
        return 3, "environment", f"{where}{error.strerror or error}. Nothing that was acknowledged is lost."
    if isinstance(error, UnicodeEncodeError) and error.reason == "surrogates not allowed":
        return 2, "usage", f"{error.object!r:.60} is not valid Unicode, so nothing here has that name."
    if isinstance(error, UnicodeEncodeError) and error.encoding == sys.getfilesystemencoding():
        return (
            3,
            "environment",
            f"A file name is not valid {error.encoding}, the encoding in use here. Set PYTHONUTF8=1.",
        )
    if isinstance(error, RuntimeError) and "home directory" in str(error):  # pathlib's word for it
        return 2, "usage", "The home directory that ~ stands for is unknown. Write the path in full, or set HOME."
    return 70, "bug", f"a bug in memkit: {type(error).__name__}: {error} (run again with --debug and report the trace)"


def _has_folder() -> bool:
    """Return whether the current folder of this process still exists."""
    try:
        return bool(Path.cwd())
    except OSError:
        return False


def _asks_for_json(arguments: Sequence[str]) -> bool:
    before_separator = arguments[: list(arguments).index("--")] if "--" in arguments else arguments
    return "--json" in before_separator


def _failed_command(error: BaseException, arguments: Sequence[str]) -> str:
    context = getattr(error, "ctx", None)
    if isinstance(context, click.Context) and context.parent is not None:
        return ".".join(context.command_path.split()[1:])
    words: list[str] = []
    given = iter(arguments)
    for word in given:
        if word == "--store":
            next(given, None)
        if word.startswith("-"):
            continue
        if not words and word not in COMMANDS:
            break
        if words and word not in _inner_words(words[0], word):
            continue
        words.append(word)
        if len(words) == 2 or not _inner_words(words[0], word):
            break
    return ".".join(words) or "memkit"


def _inner_words(name: str, word: str) -> Collection[str]:
    """Return a command's subcommands, if it was loaded; a group is assumed to have ``word``."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    command = getattr(sys.modules.get(module), attribute, None)
    return (word,) if isinstance(command, click.Group) else getattr(command, "words", ())


def say(text: str, *, err: bool = False) -> bool:
    """Print a last line if the stream accepts it, and return whether it did."""
    try:
        click.echo(text, err=err)
        (sys.stderr if err else sys.stdout).flush()
    except OSError:
        discard(err=err)
        return False
    return True


def discard(*, err: bool = False) -> None:
    """Send buffered output to the null device, so that the interpreter does not complain about it at exit."""
    stream = sys.stderr if err else sys.stdout
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        stream.flush()
    except (OSError, ValueError):
        return


# Messages about command lines that click could not parse.

NUMBERS = {"integer": "whole number", "float": "number"}
"""Click's names of types, and the everyday ones."""


def usage_line(error: click.UsageError) -> str:
    """Return what is wrong with the command line and what to do, as one line of sentences."""
    said = re.sub(
        r"a valid (integer|float)(?: range)?\b", lambda found: f"a {NUMBERS[found[1]]}", error.format_message()
    )
    if isinstance(error, click.MissingParameter) and isinstance(error.param, click.Option) and error.param.help:
        said = f"{said.removesuffix('.')}: {error.param.help}"
    said += "" if said.endswith((".", "?", ")")) and "extra argument" not in said else "."
    extra = re.search(r"unexpected extra arguments? \((.+)\)", said)
    unknown = extra[1].split() if extra else [name] if (name := getattr(error, "option_name", "")) else []
    if unknown and error.ctx is not None:
        from memkit.cli.other_words import meant_by

        arguments = [param for param in error.ctx.command.params if isinstance(param, click.Argument)]
        taken = " and ".join([*(param.make_metavar(error.ctx) for param in arguments), "options"])
        unquoted = arguments and (" arguments" in said or len(unknown) < 2)
        way = " Put several words in quotes." if unquoted else f" This command takes {taken} only."
        said += meant_by(error.ctx, unknown) or (way if extra else "")
    return said + (f" Try '{error.ctx.command_path} --help'." if error.ctx is not None else "")
