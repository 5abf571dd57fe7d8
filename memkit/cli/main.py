"""The entry point, and the one place that maps errors to exits."""

from __future__ import annotations

import gc
import io
import os
import re
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

import click

from memkit.cli.commands import COMMANDS, cli
from memkit.cli.output import Diagnostic, Front, diagnostic, envelope
from memkit.runtime.memory.gate.secrets import mask
from memkit.terminal import harmless

YOUNG_OBJECTS = 100_000
"""New objects between two collections of garbage."""


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
            _say_failure(interrupt, arguments, [diagnostic("interrupted", "Interrupted.")])
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
        found = diagnostic(label, message, path=str(path) if path else None, line=line)
        _say_failure(error, arguments, [found, *front.damage()])
    elif isinstance(error, click.exceptions.NoArgsIsHelpError):
        say(message, err=True)
    else:
        say(f"memkit: {harmless(message)}", err=True)
    if isinstance(error, OSError):
        discard()  # it may have been standard output itself that is full
    return code


def _say_failure(error: BaseException, arguments: Sequence[str], findings: Sequence[Diagnostic]) -> None:
    say(envelope(_failed_command(error, arguments), None, ok=False, diagnostics=findings))


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


def prepare_streams() -> None:
    """Replace streams that are closed by the null device, and read and write UTF-8 on all of them.

    What cannot be decoded or encoded is written as an escape, so that no text of a store can end a command.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - open until the end
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def given_arguments() -> list[str]:
    """Return the command line's words as UTF-8, also where the locale says otherwise."""
    return [os.fsencode(word).decode("utf-8", "surrogateescape") for word in sys.argv[1:]]


def say(text: str, *, err: bool = False) -> None:
    """Print a last line where somebody can be told, and do nothing where the stream takes none."""
    try:
        click.echo(text, err=err)
        (sys.stderr if err else sys.stdout).flush()
    except OSError:
        discard(err=err)


def discard(*, err: bool = False) -> None:
    """Send what is still buffered to the null device, so that the interpreter does not complain about it at exit."""
    stream = sys.stderr if err else sys.stdout
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        stream.flush()
    except (OSError, ValueError):
        return


# What a person is told about a command line that click could not read.

NUMBERS = {"integer": "whole number", "float": "number"}
"""Click's names of types, and what everybody calls them."""


def usage_line(error: click.UsageError) -> str:
    """Return what is wrong with the command line and what to do, as one line of sentences."""
    said = re.sub(
        r"a valid (integer|float)(?: range)?\b", lambda found: f"a {NUMBERS[found[1]]}", error.format_message()
    )
    if isinstance(error, click.MissingParameter) and isinstance(error.param, click.Option) and error.param.help:
        said = f"{said.removesuffix('.')}: {error.param.help}"
    said += "" if said.endswith((".", "?", ")")) and "extra argument" not in said else "."
    if "unexpected extra argument" in said and error.ctx is not None:
        takes_words = any(isinstance(param, click.Argument) for param in error.ctx.command.params)
        said += " Put several words in quotes." if takes_words else " Everything here is an option."
    return said + (f" Try '{error.ctx.command_path} --help'." if error.ctx is not None else "")
