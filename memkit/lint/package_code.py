# ruff: noqa: E501 (a pattern that is broken over lines is harder to check than a long one)
"""What a package's program does that no skill needs: by patterns, and for a shell by what it would run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from memkit.lint.package_programs import PackageProgram, configured_commands, spelled_out
from memkit.lint.package_signs import SIGNS, Sign, is_known_installer
from memkit.runtime.guard.shell import Command, read_shell
from memkit.runtime.host.terminal import one_line

_MOST_LINES = 4_000


def line_of(text: str, place: int) -> int:
    """Return the line number of a position, from 1."""
    return text.count("\n", 0, place) + 1


def whole_lines(text: str, start: int, end: int) -> str:
    """Return the whole lines that contain a part of a text."""
    return text[text.rfind("\n", 0, start) + 1 : (text + "\n").index("\n", end)]


_DEFENCE = re.compile(
    r"\b(?:never|don't|do not|avoid|dangerous|bad|unsafe|vulnerab\w+|detect\w*|attack\w*|malicious|warn\w*|block\w*|forbid\w*|example of|anti-?pattern|red flags?|reject|refuse|flag|look for|watch for)\b",
    re.I,
)


def is_warned_of(text: str, start: int, end: int) -> bool:
    """Return whether the surroundings of a part of a text warn of it; its own words do not count."""
    around = text[max(0, start - 300) : start], text[end : end + 120]
    return any(map(_DEFENCE.search, around))


def signs_in(code: str, signs: Iterable[Sign]) -> Iterator[tuple[tuple[int, int], str, str, str, str]]:
    """Yield span, code, severity, message and text of each sign in a text, the first three of its kind."""
    lowered = code.lower()
    for sign in signs:
        if not any(word in lowered for word in sign.keywords):
            continue
        for found in islice(sign.pattern.finditer(code), 3):
            around = code[max(0, found.start() - 200) : found.end() + 200]
            if not (sign.unless and sign.unless.search(around)):
                shown = next((line.strip() for line in found.group().splitlines() if line.strip()), "")
                known = sign.code == "MKS105" and is_known_installer(whole_lines(code, *found.span()))
                yield found.span(), sign.code, "warning" if known else "error", sign.message, one_line(shown, 80)


def dangers_of_program(program: PackageProgram) -> Iterator[tuple[int, str, str, str, str]]:
    """Yield line, code, severity, message and text of what a program does that no skill needs.

    It is read as written, and with the strings that it concatenates joined.
    """
    for code in dict.fromkeys((program.code, spelled_out(program))):
        for place, number, severity, message, shown in _in_code(code, program.language):
            yield line_of(code, place), number, severity, message, shown


def _in_code(code: str, language: str) -> Iterator[tuple[int, str, str, str, str]]:
    for span, number, severity, message, shown in signs_in(code, SIGNS):
        yield span[0], number, severity, message, shown
    for start, end in islice(_told_from_elsewhere(code), 3):
        yield start, "MKS113", "error", "This runs what somebody elsewhere sends.", one_line(code[start:end], 80)
    if language in ("sh", "bash", "shell", "zsh", "console", "terminal", "shellscript"):
        yield from _in_shell(code)
    for place, command in configured_commands(code, language):
        for _, number, severity, message, shown in _in_shell(command):
            yield place, number, severity, message, shown


_TOKEN = re.compile(r"\w+|<\$?\w+>|\n")
_DIALS = re.compile(r"\w*Socket\w*|fsockopen|Dial|TcpClient|create_?connection", re.I)
_SETS = re.compile(r"\s{0,8}(?:,\s{0,8}\w{1,40}\s{0,8})?:?=")
_READS = re.compile(r"f?gets|recv\w*|read\w*|<.*", re.I)
_RUNS = re.compile(r"i?popen\w*|system|exec\w*|spawn\w*|run|call|check_output|Command|eval", re.I)
_NOWHERE = -1_000


def _told_from_elsewhere(code: str) -> Iterator[tuple[int, int]]:
    """Yield where a name is set from a socket, up to where it is run; in one pass, so that nothing is slow.

    The assignment and the execution are each on one line, the three steps a few hundred characters apart.
    """
    if not _DIALS.search(code):
        return
    set_here: dict[str, int] = {}
    told: dict[str, tuple[int, int]] = {}
    dials = runs = _NOWHERE
    for token in _TOKEN.finditer(code):
        word, place = token.group(), token.start()
        if word == "\n":
            set_here.clear()
            runs = _NOWHERE
            continue
        if word in told and place - runs <= 80 and told[word][1] < runs <= told[word][1] + 400:
            yield told.pop(word)[0], token.end()
        if _READS.fullmatch(word):
            told.update((name, (start, place)) for name, start in set_here.items() if place - start <= 100)
            set_here.clear()
        if _RUNS.fullmatch(word):
            runs = place
        if _DIALS.fullmatch(word):
            dials = place
        if place - dials <= 600 and _SETS.match(code, token.end()):
            set_here[word] = place


_FETCHERS = frozenset({"curl", "wget", "fetch", "aria2c", "http", "https", "lwp-download"})
_RUNNERS = re.compile(r"(?:ba|z|da|k|a)?sh|python[\d.]*|perl|ruby|node|php|osascript|source|\.|eval|bash")


def _in_shell(code: str) -> Iterator[tuple[int, str, str, str, str]]:
    """Yield where shell text runs what it downloads or decodes, line by line, as the guard reads it."""
    place = 0
    lines = re.split(r"(?<!\\)\n", code)
    for line in lines[:_MOST_LINES]:
        if len(line) < 20_000 and ("|" in line or "$(" in line or "`" in line or "<(" in line):
            commands = read_shell(line).commands
            names = [command.name for command in commands]
            fetches = any(name in _FETCHERS for name in names)
            unwraps = any(_unwraps(command) for command in commands)
            runs = any(_RUNNERS.fullmatch(command.name) and not _has_program(command) for command in commands)
            if runs and (fetches or unwraps) and _joined(line):
                known = fetches and not unwraps and is_known_installer(line)
                what = (
                    ("MKS106", "runs what is wrapped so that nobody reads it")
                    if unwraps
                    else ("MKS105", "runs what is fetched from the network, unseen")
                )
                yield place, what[0], "warning" if known else "error", f"This {what[1]}.", one_line(line.strip(), 80)
        place += len(line) + 1


def _has_program(command: Command) -> bool:
    """Return whether an interpreter is given a module or a line that runs nothing else, so that its input is data."""
    texts = [word.text for word in command.words]
    given = any(text in ("-m", "-c", "-e", "-n") for text in texts) and not command.name.endswith("eval")
    return given and not any(re.search(r"\$\(|`|\b(?:exec|eval|system|subprocess|popen)\b|<\(", text) for text in texts)


def _unwraps(command: Command) -> bool:
    texts = [word.text for word in command.words]
    if command.name in ("printf", "echo") and any(text.count("\\x") + text.count("\\0") > 3 for text in texts):
        return True
    if command.name == "rev" or (
        command.name == "tr" and sum(bool(re.search(r"[a-z]-[a-z]", t, re.I)) for t in texts) > 1
    ):
        return True
    return (command.name in ("base64", "gbase64") and any(text in ("-d", "-D", "--decode") for text in texts)) or (
        command.name in ("xxd", "openssl", "uudecode") and any(text in ("-r", "-d", "-rp", "-ps") for text in texts)
    )


def _joined(line: str) -> bool:
    """Return whether downloaded content flows into what runs: by a pipe, or substituted into the command."""
    return bool(
        re.search(
            r"\|\s*(?:sudo\s+)?(?:-\S+\s+)*(?:\S*/)?(?:ba|z|da|k|a)?sh\b|\|\s*(?:sudo\s+)?(?:python|perl|ruby|node|php|osascript)|(?:sh|bash|zsh|eval|source|python3?)\b[^|]{0,40}[\"']?(?:\$\(|`|<\()|^\s*\.\s+<\(",
            line,
        )
    )
