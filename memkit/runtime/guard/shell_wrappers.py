"""Follows a command into what it in turn runs: a wrapped program, shell text, code that calls a shell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from .checks import words_of
from .shell_code import INTERPRETER, Inner, has_language, in_code
from .shell_programs import PLAIN, POWER_SHELLS, SHELLS, WRAPPERS, Wrapper
from .shell_words import RUN_TIME, ShellDoubt, ShellWord, literal

_FIND_ACTIONS = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"})
_LONG_SHELL_OPTIONS_WITH_VALUE = frozenset({"--rcfile", "--init-file"})
_VALUED_LETTERS = re.compile(r"[-+][A-Za-bd-z]*[oO]")
"""Shell options whose last letter takes the next word, as in ``-euo pipefail``; one with a ``c`` ends them."""
_LOADER = re.compile(r"ld(-linux)?[\w.-]*\.so[\w.]*")
_ESCAPES = tuple(
    (re.compile(programs), re.compile(sign, re.IGNORECASE | re.MULTILINE))
    for programs, sign in (
        (r"git|n?vim?|ex|ed|less|more|man|s?ftp|telnet|gdb|lldb", r"(^|[=:+])!"),
        (r"ipython[\d.]*", r"^\s*[!%]"),
        (r"git", r"^ext::|^-O"),
        (r"gdb|lldb", r"^\s*(shell|platform shell)\s"),
        (r"socat", r"(exec|system|shell):"),
        (r"ssh|scp|sftp|autossh", r"^(-o)?\s*(proxy|local|remote|knownhosts)command[= ]"),
        (r"psql|mysql|mariadb|pgcli|mycli|usql", r"\\!|^\s*system\s"),
        (r"sqlite3?|duckdb", r"^\s*\.(shell|system)\s"),
        (r"g?sed", r"(^|[;{}\d$/!])\s*e\s*"),
        (r"apt(-\w+|itude)?|dpkg", r"(pre|post)-[\w-]+(::)?=[\s{\"]*"),
        (r"g?make", r"^\t|[:;]"),
        (r"bind", r"\":\s*"),
        (r"aws", r"\bcommands['\"]?\s*[:=][\s\[\"']*"),
    )
)
"""Programs that run the rest of a text after a sign, as in ``git -c alias.x='!rm'`` and ``vim -c ':!rm'``."""
_RUN_VARIABLE = re.compile(
    r"(-{0,2}[\w.-]*(commands?|cmd|pager|editor|_askpass|upload-pack|receive-pack|textconv)|visual|git_ssh"
    r"|git_external_diff|diff\.external|browser|lessopen|lessclose|ps[0124])=",
    re.IGNORECASE,
)
"""Variables, settings and options whose value other programs run."""
_ASKS_FOR_SHELL = re.compile(r"-[AbBEHkKlnPSvV]*[is]\w*|--login|--shell")
"""Options of sudo that start a shell if no program is named."""
_SCHEDULE = re.compile(r"^[ \t]*(@\w+|([^\s#]\S*[ \t]+){5})", re.MULTILINE)
"""The schedule of a crontab line."""
_MAX_STARTS = 50


def inner_commands(
    name: str, words: Sequence[ShellWord], *, piped: bool, inputs: Sequence[ShellWord], fed: Sequence[ShellWord] = ()
) -> Iterator[Inner]:
    """Yield what the program ``name`` runs when called with ``words``.

    ``fed`` are its inputs with the words of what is piped into it, which may be code for the program.
    """
    if name in SHELLS:
        yield from _shell(words, piped=piped, inputs=inputs)
    elif name in POWER_SHELLS:
        yield from _power_shell(name, words)
    elif name in ("at", "batch"):
        yield from _script_file(None, piped=piped, inputs=inputs)
    elif name == "crontab":
        yield from _crontab(words, piped=piped, inputs=inputs)
    elif INTERPRETER.fullmatch(name):
        yield from _code(name, words, fed)
        yield from _module(name, words)
    elif name in ("source", "."):
        yield from _script_file(words[0] if words else None, piped=piped, inputs=inputs)
    elif name in ("find", "fd", "fdfind"):
        yield from _find(words)
    elif name in ("iex", "invoke-expression") and piped and not words:
        yield from (Inner(text=text, read=True) for text in fed)
        yield Inner(doubt=ShellDoubt(RUN_TIME, "a shell runs what it is given to read"))
    elif name == "alias":
        yield from (Inner(text=_after_sign(word)) for word in words if "=" in word.text)
    elif name == "trap":
        yield from (Inner(text=word) for word in _operands(words)[:1])
    elif _LOADER.fullmatch(name):
        yield from _wrapped(name, PLAIN, words)
    elif name in WRAPPERS and not (name == "command" and bool(words) and words[0].text in ("-v", "-V")):
        yield from _wrapped(name, WRAPPERS[name], words)
        if _opens_shell(name, WRAPPERS[name], words):
            yield from _script_file(None, piped=piped, inputs=inputs)
    if name in SCRIPT_BLOCKS:
        yield from _script_block(words)
    elif name in _GNU:
        yield Inner(words=(literal(name[1:]), *words))
    if has_language(name) and not INTERPRETER.fullmatch(name):
        yield from _code(name, words, fed)
    if name in _READS_COMMANDS:
        yield from (Inner(text=literal(f"{name} {line}"), read=True, surely=False) for line in _lines(fed))
        if name.startswith("mongo"):
            yield from (Inner(words=(literal(name), literal(line)), surely=False) for line in _lines(fed))
    elif name in _EXPANDS_NAMES:
        yield from (Inner(text=literal(found)) for word in words for found in _in_subscript(word.text))
    elif name in ("apply_patch", "applypatch"):
        deleted = [literal(found[1]) for word in (*words, *fed) for found in _DELETED_FILE.finditer(word.text)]
        yield Inner(words=tuple([literal("rm"), *deleted] if deleted else []))
    elif name in ("sed", "gsed"):
        yield from _sed(words)
    elif name in ("make", "gmake"):
        yield from (Inner(text=_after_sign(word)) for word in words if word.text.startswith("SHELL="))
    elif name in _RUN_AFTER_DASHES:  # even if its verb makes what then runs the program
        after = next((i for i, word in enumerate(words) if word.text == "--"), len(words))
        yield Inner(words=tuple(words[after + 1 :]))
    elif name in ("psql", "pgcli", "usql"):
        yield from (Inner(text=literal(found)) for word in (*words, *inputs) for found in _given_to_program(word.text))
        if any(_MADE_STATEMENT.search(word.text) for word in (*words, *inputs)):
            yield Inner(doubt=ShellDoubt(RUN_TIME, f"{name} runs a statement that it makes"))
    for program, sign in _ESCAPES:
        if program.fullmatch(name):
            yield from _values(words, sign.finditer)
            yield from (inner._replace(read=True) for inner in _values(inputs, sign.finditer))


_GNU = words_of(
    "grm grmdir gunlink gshred gtruncate gdd gmv gcp gln ginstall gtee gchmod gchown genv gtimeout gnice gnohup gstdbuf"
    " gchroot gxargs gfind gtar gtime"
)
"""GNU's programs as they are called where others have their names, as on macOS."""
_RUN_AFTER_DASHES = words_of("kubectl oc nix guix gcloud launchctl")
_READS_COMMANDS = words_of("redis-cli valkey-cli keydb-cli mongo mongosh wsl diskpart sftp lftp")
"""Programs that run each line of their input as if it were their arguments."""
_EXPANDS_NAMES = words_of("printf test [ read unset declare typeset local export let mapfile wait readonly")
"""Builtins that take a variable's name, and run the substitutions in its subscript."""
_SUBSTITUTED = re.compile(r"\[[^\]]{0,200}?(?:\$\(([^()]*+)\)|`([^`]*+)`)")
_DELETED_FILE = re.compile(r"^\*\*\* Delete File: (\S[^\n]*)", re.MULTILINE)
_SED_RUNS = re.compile(r"s([^\w\s\\])((?:\\.|(?!\1).){0,500}+)\1((?:\\.|(?!\1).){0,500}+)\1[gipIM\d]{0,5}e", re.DOTALL)
_MADE_STATEMENT = re.compile(r"\\gexec\b|^\s*:['\"]?[A-Za-z_]\w*", re.MULTILINE)
"""What psql runs of its results, and a statement that begins with a variable."""
_TO_PROGRAM = re.compile(r"\bprogram\s+[eE]?'((?:[^']|'')*+)'", re.IGNORECASE)


def _code(name: str, words: Sequence[ShellWord], inputs: Sequence[ShellWord]) -> Iterator[Inner]:
    for code in words:
        yield from in_code(name, code.text)
    for code in inputs:
        yield from (inner._replace(read=True) for inner in in_code(name, code.text))


_MODULE = re.compile(r"-[bBdEhiIOPqRsSuvx]*m(.*)", re.DOTALL)
"""Python's option to run a module, after others that take no value."""


_GIVEN_CODE = re.compile(r"-[bBdEhiIOPqRsSuvx]*c.*", re.DOTALL)
_PROGRAM_FILE = re.compile(
    r"(?:.*/)?(?P<package>[\w-]+)/__main__\.py|(?:.*/)?(?P<file>[\w-]+)/?"
    r"|(?:\$\(|`)\s*(?:which|command -v|type -p|type -P)\s+(?P<found>[\w-]+)\s*[)`]"
)
"""A file or folder that starts a program, and the substitution that finds one."""


def _module(name: str, words: Sequence[ShellWord]) -> Iterator[Inner]:
    """Yield the program that ``python -m MODULE …`` or ``python …/PROGRAM …`` starts."""
    position = 0
    while position < len(words) and words[position].text.startswith("-"):
        option = words[position].text
        if found := _MODULE.fullmatch(option):
            named = [literal(found[1])] if found[1] else list(words[position + 1 : position + 2])
            program = [_of_module(word) for word in named]
            yield Inner(words=(*program, *words[position + 2 - bool(found[1]) :]))
            return
        if _GIVEN_CODE.fullmatch(option):
            return
        position += 2 if option in ("-W", "-X") else 1
    script = words[position].text if name.startswith(("python", "pypy")) and position < len(words) else ""
    if file := _PROGRAM_FILE.fullmatch(script):
        started = file["package"] or file["file"] or file["found"]
        yield Inner(words=(literal(started), *words[position + 1 :]))


def _of_module(word: ShellWord) -> ShellWord:
    """Return the program that a module is: ``awscli`` is ``aws``, and a package starts by its ``__main__``."""
    if not word.certain:
        return word
    return literal("aws" if word.text == "awscli" else word.text.removesuffix(".__main__"))


def _lines(inputs: Sequence[ShellWord]) -> Iterator[str]:
    for text in inputs:
        yield from islice(text.text.splitlines(), _MAX_STARTS)


def _in_subscript(text: str) -> Iterator[str]:
    yield from (found.group(1) or found.group(2) or "" for found in _SUBSTITUTED.finditer(text))


def _sed(words: Sequence[ShellWord]) -> Iterator[Inner]:
    """Yield what ``s/…/…/e`` runs: the replacement, and its surroundings, which are unknown."""
    for word in words:
        for found in _SED_RUNS.finditer(word.text):
            yield Inner(text=literal(found.group(3)), surely=False)
            yield Inner(doubt=ShellDoubt(RUN_TIME, "sed runs the lines that it made"))


def _given_to_program(text: str) -> Iterator[str]:
    """Yield the commands in SQL such as ``copy t to program '…'``."""
    yield from (found.group(1).replace("''", "'") for found in _TO_PROGRAM.finditer(text))


_PRELOADED = re.compile(
    r"(BASH_ENV|LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|PERL5DB|PYTHONSTARTUP|ZDOTDIR)=.|PERL5OPT=.*-M"
    r"|RUBYOPT=.*-r|NODE_OPTIONS=.*(--require|-r |--import)|ENV=.*[$/]"
)
"""Variables naming what another program runs before its own work."""


def set_to_run(words: Sequence[ShellWord]) -> Iterator[Inner]:
    """Yield the values of variables and settings that programs run, such as ``GIT_SSH_COMMAND='…' git fetch``."""
    named = [word.text.rpartition("/")[2] for word in words[:8]]
    for word in words:
        if found := _RUN_VARIABLE.match(word.text):
            yield Inner(text=_rest(word, found.end()), surely=False)
        if _PRELOADED.match(word.text) and (not word.text.startswith("ENV=") or not SHELLS.isdisjoint(named)):
            yield from (Inner(text=literal(found)) for found in _in_subscript(f"[{word.text}"))
            yield Inner(doubt=ShellDoubt(RUN_TIME, f"what {word.text.partition('=')[0]} names runs first"))


def _values(words: Sequence[ShellWord], find: Callable[[str], Iterator[re.Match[str]]]) -> Iterator[Inner]:
    for word in words:
        for found in find(word.text):
            yield Inner(text=_rest(word, found.end()), surely=False)


def _rest(word: ShellWord, start: int) -> ShellWord:
    return ShellWord(word.text[start:], max(0, word.fixed - start))


def _after_sign(word: ShellWord) -> ShellWord:
    return _rest(word, word.text.index("=") + 1)


def _operands(words: Sequence[ShellWord]) -> list[ShellWord]:
    return [word for word in words if not word.text.startswith("-")]


def _shell(words: Sequence[ShellWord], *, piped: bool, inputs: Sequence[ShellWord]) -> Iterator[Inner]:
    position = 0
    while position < len(words) and words[position].text[:1] in ("-", "+") and len(words[position].text) > 1:
        option = words[position].text
        position += 2 if option in _LONG_SHELL_OPTIONS_WITH_VALUE or _VALUED_LETTERS.fullmatch(option) else 1
        if option.partition("=")[0] == "--command":
            yield Inner(text=_after_sign(words[position - 1])) if "=" in option else Inner(text=words[position])
            return
        if option[0] == "-" and option[1] != "-" and "c" in option:
            yield from _script_text(words[position:], valued=option[-1] in "oO")
            return
        if option == "--" or (option[0] == "-" and "s" in option and option[1] != "-"):
            break
    reads_input = position and "s" in words[position - 1].text and not words[position - 1].text.startswith("--")
    operand = None if reads_input or position >= len(words) else words[position]
    yield from _script_file(operand, piped=piped, inputs=inputs)


def _script_text(words: Sequence[ShellWord], *, valued: bool) -> Iterator[Inner]:
    """Yield the text after ``-c``, skipping further options; ``valued`` means that one of them takes a value."""
    rest = [word for word in words if not word.text.startswith(("-", "+")) or not word.certain]
    valued = valued or any(
        word.text in _LONG_SHELL_OPTIONS_WITH_VALUE or _VALUED_LETTERS.fullmatch(word.text) for word in words
    )
    yield from (Inner(text=text) for text in rest[: 2 if valued else 1])
    if not rest:
        yield Inner(doubt=ShellDoubt(RUN_TIME, "a shell whose commands come from elsewhere"))


def _script_file(operand: ShellWord | None, *, piped: bool, inputs: Sequence[ShellWord]) -> Iterator[Inner]:
    from_input = operand is None or operand.text in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
    if operand is not None and not operand.certain:
        yield Inner(doubt=ShellDoubt(RUN_TIME, f"a shell runs what {operand.text} stands for"))
    if from_input:
        yield from (Inner(text=text, read=True) for text in inputs)
        if piped:
            yield Inner(doubt=ShellDoubt(RUN_TIME, "a shell runs what it is given to read"))


def _crontab(words: Sequence[ShellWord], *, piped: bool, inputs: Sequence[ShellWord]) -> Iterator[Inner]:
    """Yield the commands of a crontab read from standard input."""
    if any(word.text != "-" for word in words):  # lists or removes a table, or reads a file
        return
    for table in inputs:
        yield Inner(text=literal(_SCHEDULE.sub("", table.text)), read=True)
    if piped:
        yield Inner(doubt=ShellDoubt(RUN_TIME, "cron runs what is piped into a table"))


def _opens_shell(name: str, wrapper: Wrapper, words: Sequence[ShellWord]) -> bool:
    """Return whether a wrapper starts a shell that runs its input, as in ``ssh host <<E``."""
    shell = any(_ASKS_FOR_SHELL.fullmatch(word.text) for word in words) if name == "sudo" else wrapper.shell
    if not shell or any(True for _ in _scripts(wrapper, words)):
        return False
    return all(start >= len(words) for start in _starts(wrapper, _after_verb(wrapper, words) or ()))


def _find(words: Sequence[ShellWord]) -> Iterator[Inner]:
    roots = _roots(words)
    for start, word in enumerate(words):
        if word.text in _FIND_ACTIONS:
            ends = (i for i in range(start + 1, len(words)) if words[i].text in (";", "+"))
            root = roots[0].text.rstrip("/") + "/" if len(roots) == 1 else ""
            told = words[start + 1 : next(ends, len(words))]
            yield Inner(words=tuple(_found(part, root) if _FOUND.search(part.text) else part for part in told))


_FOUND = re.compile(r"\{[/.]{0,2}\}")
"""What stands for a file that was found."""


def _roots(words: Sequence[ShellWord]) -> list[ShellWord]:
    """Return the folders that ``find`` searches."""
    folders = islice(words, next((i for i, w in enumerate(words) if w.text[:1] in ("-", "(", "!")), len(words)))
    return [word for word in folders if word.certain]


def _found(word: ShellWord, root: str) -> ShellWord:
    """Return a word in which the name of a file that is found stands, below ``root`` if it is the whole word."""
    place = _FOUND.search(word.text)
    assert place is not None
    if place.group() == word.text:
        return ShellWord(f"{root}{word.text}", len(root))
    return ShellWord(word.text, min(word.fixed, place.start()))


POWER_SHELL_COMMENT = re.compile(r"<#.*?#>", re.DOTALL)
_BLOCK_SIGN = re.compile(r"[{}]")
_CMD_TEST = re.compile(
    r"\bif\s+(?:/i\s+)?(?:not\s+)?(?:exist\s+\S+|defined\s+\S+|errorlevel\s+\d+|\S+\s*==\s*\S+)\s+|(?<!\S)@(?=\w)",
    re.IGNORECASE,
)
"""A test before a command of cmd, and the sign that keeps it from showing the command."""
_DOT_SOURCED = re.compile(r"(^|[;|{(]\s*)\.\s+(?=[\w'\"])")


def _power_shell(name: str, words: Sequence[ShellWord]) -> Iterator[Inner]:
    for position, word in enumerate(words):
        option = word.text.lower()
        if option.startswith(("-c", "/c", "/k", "//c", "//k")) and not option.startswith("-conf"):
            glued = [_rest(word, 2)] if name == "cmd" and option[:2] in ("/c", "/k") and len(option) > 2 else []
            if name != "cmd" and " " in option:  # an option and its text in one word, as Start-Process passes them
                glued = [_rest(word, option.index(" ") + 1)]
            text = join([*glued, *words[position + 1 :]])
            if text.certain:
                text = literal(_as_posix(name, text.text))
            yield Inner(text=text, surely=name != "forfiles")
            if name != "cmd" and "{" in text.text:  # the blocks that programs and branches run
                yield Inner(text=literal(_BLOCK_SIGN.sub(" ; ", text.text)), surely=False)
            if _MADE_NAME[name == "cmd"].search(text.text):
                yield Inner(doubt=ShellDoubt(RUN_TIME, f"{name} runs a program whose name it makes"))
            return
        if option.startswith(("-e", "/e")) and not option[1:].startswith("ex"):
            yield Inner(doubt=ShellDoubt(RUN_TIME, "an encoded command"))
    yield from (Inner(text=word) for word in _operands(words)[:1])


def _as_posix(name: str, text: str) -> str:
    """Return text for cmd or PowerShell with what another shell reads otherwise replaced."""
    text = text.replace("\\", "\\\\")  # no escape sign there
    if name == "cmd":
        return _CMD_TEST.sub("", text.replace("^", ""))
    return _DOT_SOURCED.sub(r"\1", POWER_SHELL_COMMENT.sub(" ", text)) if name != "forfiles" else text


SCRIPT_BLOCKS = words_of("% foreach foreach-object ? where where-object try catch finally trap . begin process end")
"""What in PowerShell runs the block that follows."""
_OPENS_BLOCK = re.compile(r"([%?.]|[A-Za-z-]+)\{(.*)", re.DOTALL)
_MODULE_OF = re.compile(r"microsoft\.powershell\.(?:management|utility|core|security)", re.IGNORECASE)


def as_power_shell(words: list[ShellWord]) -> list[ShellWord]:
    """Return a command with a block of PowerShell apart from what runs it, and a program without its module.

    PowerShell's ``?`` is not a pattern there, and another shell has taken the sign away that ended the module.
    """
    program = words[0].text
    if (found := _OPENS_BLOCK.fullmatch(program)) and found[1].lower() in SCRIPT_BLOCKS:
        return [literal(found[1]), literal("{"), *([literal(found[2])] if found[2] else []), *words[1:]]
    if program.lower() in SCRIPT_BLOCKS and [word.text for word in words[1:2]] == ["{"]:
        return [literal(program), *words[1:]]
    if found := _MODULE_OF.match(program):
        return [_rest(words[0], found.end()), *words[1:]]
    return words


def _script_block(words: Sequence[ShellWord]) -> Iterator[Inner]:
    """Yield the content of braces; an expression there, such as ``$_.Name``, is not a program."""
    start = next((i + 1 for i, word in enumerate(words) if word.text == "{"), None)
    if start is not None and start < len(words) and not words[start].text.startswith("$"):
        yield Inner(words=tuple(word for word in words[start:] if word.text != "}"))


_MADE_NAME = (re.compile(r"(?:^|[;|{(]\s*)[&.]\s*[($]"), re.compile(r"(?:^|[&|(]\s*|\bdo\s+)[!%]\w+[!%]"))
"""Where PowerShell, and where cmd, runs the value of an expression or a variable."""


def _wrapped(name: str, wrapper: Wrapper, words: Sequence[ShellWord]) -> Iterator[Inner]:
    for script in _scripts(wrapper, words):
        yield script if name != "env" or not script.text else Inner(text=join([literal(name), script.text]))
    after_verb = _after_verb(wrapper, words)
    if after_verb is None:
        return
    words = after_verb
    own, _ = _after_options(wrapper, words, 0)
    for program in _values_of(wrapper.entry, words[:own]):
        yield Inner(words=(program, *words[own + wrapper.operands :]))
    starts = _starts(wrapper, words) if wrapper.runs else []
    for start in starts:
        yield from _from_here(name, wrapper, words, start)
    if len(starts) >= _MAX_STARTS:
        yield Inner(doubt=ShellDoubt(RUN_TIME, f"{name} may start its program at more places than are read"))


def _after_verb(wrapper: Wrapper, words: Sequence[ShellWord]) -> Sequence[ShellWord] | None:
    """Return what follows the subcommand that runs a program; ``None`` if there should be one and is none."""
    if not wrapper.verbs:
        return words
    verb = next((i for i, word in enumerate(words) if word.text in wrapper.verbs), None)
    return None if verb is None else words[verb + 1 :]


def _from_here(name: str, wrapper: Wrapper, words: Sequence[ShellWord], start: int) -> Iterator[Inner]:
    rest = tuple(words[start:])
    if not rest:
        return
    if name == "parallel":
        yield from _for_each_argument(rest)
    elif wrapper.joined:
        yield Inner(text=join(rest))
    elif name == "xargs":
        yield Inner(words=_with_standard_input(words[:start], rest))
    else:
        yield Inner(words=rest)


def _for_each_argument(words: tuple[ShellWord, ...]) -> Iterator[Inner]:
    """Yield what ``parallel`` runs: its command with the arguments after ``:::``, each of them quoted."""
    signs = [i for i, word in enumerate(words) if re.fullmatch(r":{3,4}\+?", word.text)]
    if not signs:
        yield Inner(text=join(words))
    elif signs[0] == 0:
        yield from (Inner(text=word) for word in words[1:])
    else:
        yield Inner(text=join(words[: signs[0]]))
        yield Inner(words=tuple(word for i, word in enumerate(words) if i not in signs))


def _scripts(wrapper: Wrapper, words: Sequence[ShellWord]) -> Iterator[Inner]:
    """Yield the shell text given to options such as ``su -c``, ``script -qc`` and ``env --split-string=``."""
    yield from (Inner(text=value) for value in _values_of(wrapper.script, words))


def _values_of(options: Sequence[str], words: Sequence[ShellWord]) -> Iterator[ShellWord]:
    for position, word in enumerate(words):
        for option in options:
            cut = _value_at(option, word.text)
            if cut is None:
                continue
            if cut < len(word.text):
                yield _rest(word, cut)
            elif position + 1 < len(words):
                yield words[position + 1]


def _value_at(option: str, text: str) -> int | None:
    """Return where an option's value starts in a word; its end if the next word is the value."""
    if option.startswith("--"):
        return (
            len(option) + text.startswith(f"{option}=") if text.partition("=")[0] == option.partition("=")[0] else None
        )
    if len(option) > 2:
        return len(text) if text == option else None
    if found := re.match(rf"-[A-Za-z]*?{option[1]}=?", text):
        return found.end()
    return None


def _starts(wrapper: Wrapper, words: Sequence[ShellWord]) -> list[int]:
    """Return where the wrapped program may start; several positions if unknown options may take values."""
    if wrapper.anywhere:
        return [i for i, word in enumerate(words) if not word.text.startswith("-")][:_MAX_STARTS]
    position, unsure = _after_options(wrapper, words, 0)
    for _ in range(wrapper.operands):
        position, more = _after_options(wrapper, words, position + 1)
        unsure = unsure or more
    return _possible_starts(wrapper, words, position) if unsure else [position]


def _possible_starts(wrapper: Wrapper, words: Sequence[ShellWord], position: int) -> list[int]:
    """Return the first word and, if that may be an option's value, possible starts after it."""
    starts = [position]
    while len(starts) < _MAX_STARTS:
        position += 1
        following, _ = _after_options(wrapper, words, position)
        starts.append(following)
        if following == position:
            break
        position = following
    return starts


def _after_options(wrapper: Wrapper, words: Sequence[ShellWord], position: int) -> tuple[int, bool]:
    """Return the position of the first word that is not an option, and whether an unknown option preceded it."""
    unsure = False
    while position < len(words) and _belongs_to_wrapper(wrapper, words[position]):
        option = words[position].text
        position += 1
        if option == "--":
            break
        takes = _takes_next_word(wrapper, option) if option.startswith("-") else False
        position += takes is True
        unsure = unsure or takes is None
    return position, unsure


def _takes_next_word(wrapper: Wrapper, option: str) -> bool | None:
    """Return whether the next word is the option's value; ``None`` for an unlisted option."""
    if option in wrapper.valued or option in wrapper.script:
        return True
    if option.startswith("--"):
        return False if "=" in option or option in wrapper.flags else None
    for position, letter in enumerate(option[1:], 1):
        short = f"-{letter}"
        if short in wrapper.valued or short in wrapper.script:
            return position == len(option) - 1
        if short not in wrapper.flags and not letter.isdigit():
            return None
    return False


def _belongs_to_wrapper(wrapper: Wrapper, word: ShellWord) -> bool:
    """Return whether a word is an option or sets a variable; where words are joined to text, the shell reads those."""
    return word.text.startswith("-") or (not wrapper.joined and "=" in word.text)


def _with_standard_input(options: Sequence[ShellWord], rest: tuple[ShellWord, ...]) -> tuple[ShellWord, ...]:
    """Return the words that xargs runs: its input replaces the marker or comes last."""
    marker = _replacement(options)
    if marker is None:
        return (*rest, ShellWord("{}", 0))
    return tuple(ShellWord(w.text, min(w.fixed, w.text.index(marker))) if marker in w.text else w for w in rest)


def _replacement(options: Sequence[ShellWord]) -> str | None:
    texts = [word.text for word in options]
    for position, text in enumerate(texts):
        if text == "-I" and position + 1 < len(texts):
            return texts[position + 1]
        if text.startswith("-I") or text in ("-i", "--replace"):
            return text[2:] if text.startswith("-I") else "{}"
    return None


def join(words: Sequence[ShellWord]) -> ShellWord:
    """Return words as one text, as ``eval`` and ``ssh`` do; certain as far as the words are."""
    text = " ".join(word.text for word in words)
    fixed, length = len(text), 0
    for word in words:
        if not word.certain:
            fixed = length + word.fixed
            break
        length += len(word.text) + 1
    return ShellWord(text, fixed) if words else literal("")
