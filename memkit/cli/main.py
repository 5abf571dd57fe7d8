"""The entry point: a table of commands that are imported when they run, and the one place that maps errors to exits."""

from __future__ import annotations

import gc
import sys
from collections.abc import Collection, Sequence

import click

from memkit import __version__
from memkit.cli.lazy import Commands, LazyGroup
from memkit.cli.output import Diagnostic, Front, diagnostic, envelope
from memkit.cli.streams import discard, given_arguments, prepare_streams, say, usage_line
from memkit.runtime.memory.gate.secrets import mask
from memkit.terminal import harmless

COMMANDS: Commands = {
    "init": ("memkit.cli.store:init", "Make a store: memory, skills and policies as text in a git repository."),
    "demo": ("memkit.cli.demo:demo", "Show the whole tour in a temporary directory, with no key and no server."),
    "trust": ("memkit.cli.trust:trust", "Let this store run its tools and ask its provider, as they are now."),
    "memory": ("memkit.cli.memory.group:memory", "Add, search, correct and govern long-term memory."),
    "core": ("memkit.cli.core:core", "Show and set the sections that are always in the prompt."),
    "consent": ("memkit.cli.privacy:consent", "Grant, withdraw and list consent to long-term memory."),
    "chat": ("memkit.cli.chat.command:chat", "Talk to the agent that remembers."),
    "sessions": ("memkit.cli.sessions.group:sessions", "List, search, show, rename and remove conversations."),
    "skill": ("memkit.cli.skill.group:skill", "Write, find, follow and carry skills."),
    "policy": ("memkit.cli.policy.group:policy", "Write, list, check and test policies."),
    "domain": (
        "memkit.cli.domain.group:domain",
        "Write, check, test and draw planning domains.",
    ),
    "plan": ("memkit.cli.plan:plan", "Plan a task of a domain, and verify plans."),
    "evolve": ("memkit.cli.evolve:evolve", "Evolve a program in a sandbox, and look at its runs."),
    "lint": ("memkit.cli.lint:lint", "Check skills, policies, domains and the archive."),
    "rule": ("memkit.cli.lint:rule", "Say what a lint rule checks, and why."),
    "diff": ("memkit.cli.review:diff", "Say by meaning what changed between two commits, or since one."),
    "review": ("memkit.cli.review:review", "Say what to look at first in a change, and whether to stop it."),
    "gen": ("memkit.cli.project:gen", "Render the agent into a project for an SDK."),
    "update": ("memkit.cli.project:update", "Bring a generated project to what is installed and to its store."),
    "eject": ("memkit.cli.eject:eject", "Put the runtime's sources into a generated project, to change them."),
    "targets": ("memkit.cli.project:targets", "List the SDKs that gen renders for, and what each needs."),
    "key": ("memkit.cli.privacy:key", "List, export, import and destroy the keys that open sealed text."),
    "fsck": ("memkit.cli.store:fsck", "Check every line of the archive, and what sessions left."),
    "index": ("memkit.cli.store:index", "Say how the index stands, or rebuild it."),
    "git": ("memkit.cli.store:git", "Set up how git merges and shows shards."),
    "commit": ("memkit.cli.store:commit", "Commit memory that is not in git yet."),
    "migrate": ("memkit.cli.store:migrate", "Bring an older store to the format of this version."),
    "config": ("memkit.cli.store:config", "Show every setting and where its value came from, or change one."),
    "audit": ("memkit.cli.privacy:audit", "Show what was written, read, refused and decided."),
    "bench": ("memkit.cli.bench:bench", "Measure retrieval on your own conversations."),
    "doctor": ("memkit.cli.store:doctor", "Check this machine and the store, and say what is missing."),
    "serve": ("memkit.cli.serve:serve", "Serve this store to other programs by the Model Context Protocol."),
    "token": ("memkit.cli.serve:token", "Make, list and revoke the tokens with which programs call a server."),
    "mcp": ("memkit.cli.serve:mcp", "Tell clients of the Model Context Protocol about this store."),
    "fake-llm": ("memkit.cli.fake_llm:fake_llm", "Serve a scripted model on loopback, for tests without a key."),
    "completion": ("memkit.cli.completion:completion", "Print the shell completion for bash, zsh or fish."),
}
YOUNG_OBJECTS = 100_000
"""New objects between two collections of garbage."""


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="memkit")
def cli() -> None:
    """Agent memory you can review: skills, policies and long-term memory as plain text in git."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; every error becomes one line or one JSON envelope."""
    front, printing = Front(), sys.stdout
    try:
        try:
            result = cli.main(list(arguments), prog_name="memkit", standalone_mode=False, obj=front)
        finally:
            front.close()
        # Flush here, while a stream that is full or closed can still be caught, and not at interpreter exit.
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt) as interrupt:
        say("Interrupted.", err=True)
        if front.json or _asks_for_json(arguments):
            _say_failure(interrupt, arguments, diagnostic("interrupted", "Interrupted."))
        return 130
    except BrokenPipeError:
        discard()  # the reader (head, less) has left, and nobody is there to be told
        return 0
    except SystemExit as left:
        # Click leaves by itself when a completion is done, and with 1 and another stream when a reader has left.
        return int(left.code or 0) if sys.stdout is printing else 0
    except Exception as error:  # noqa: BLE001 - the one place where any error becomes an exit code
        return _fail(error, arguments, front)
    return result if isinstance(result, int) else 0


def main() -> None:
    """Run the command line of this process."""
    # Most commands are over before there is garbage worth looking for; a long talk collects it, in larger steps. In the
    # end the interpreter would look through every object once more for what the kernel takes back anyway.
    gc.set_threshold(YOUNG_OBJECTS)
    prepare_streams()
    code = run(given_arguments())
    gc.freeze()
    sys.exit(code)


def _fail(error: Exception, arguments: Sequence[str], front: Front) -> int:
    """Print ``error`` as one line or one envelope and return its exit code."""
    code, label, message = _describe(error)
    message = mask(message)  # it may quote what somebody typed in the wrong place
    if front.debug or "--debug" in arguments:
        import traceback

        say(mask("".join(traceback.format_exception(error))), err=True)
    if front.json or _asks_for_json(arguments):
        path, line = getattr(error, "path", None), getattr(error, "line", None)
        _say_failure(error, arguments, diagnostic(label, message, path=str(path) if path else None, line=line))
    elif isinstance(error, click.exceptions.NoArgsIsHelpError):
        say(message, err=True)
    else:
        say(f"memkit: {harmless(message)}", err=True)
    if isinstance(error, OSError):
        discard()  # it may have been standard output itself that is full
    return code


def _say_failure(error: BaseException, arguments: Sequence[str], finding: Diagnostic) -> None:
    say(envelope(_failed_command(error, arguments), None, ok=False, diagnostics=[finding]))


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
        where = f"{error.filename}: " if error.filename else ""
        return 3, "environment", f"{where}{error.strerror or error}. Nothing that was acknowledged is lost."
    if isinstance(error, UnicodeEncodeError) and error.encoding == sys.getfilesystemencoding():
        return 3, "environment", f"File names are {error.encoding} here, and this one is not. Set PYTHONUTF8=1."
    return 70, "bug", f"a bug in memkit: {type(error).__name__}: {error} (run again with --debug and report the trace)"


def _asks_for_json(arguments: Sequence[str]) -> bool:
    before_separator = arguments[: list(arguments).index("--")] if "--" in arguments else arguments
    return "--json" in before_separator


def _failed_command(error: BaseException, arguments: Sequence[str]) -> str:
    context = getattr(error, "ctx", None)
    if isinstance(context, click.Context):
        return ".".join(context.command_path.split()[1:]) or "memkit"
    words: list[str] = []
    for word in arguments:
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
    """Return the words that a command has below it, if it was loaded; a group is taken to have ``word``."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    command = getattr(sys.modules.get(module), attribute, None)
    return (word,) if isinstance(command, click.Group) else getattr(command, "words", ())
