"""Programs that run another program: where in their words the other one starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .shell_words import RUN_TIME, Doubt, Word, literal

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "csh", "tcsh"})

_FIND_ACTIONS = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"})
_SHELL_OPTIONS_WITH_VALUE = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})


@dataclass(frozen=True)
class Wrapper:
    """How to read past a wrapper's own words."""

    valued: frozenset[str] = frozenset()
    """Options whose value is the next word."""
    operands: int = 0
    """Words of its own before the program starts."""
    script: tuple[str, ...] = ()
    """Options whose value is shell text."""
    joined: bool = False
    """Whether the rest is joined to shell text and not run word by word."""
    verbs: frozenset[str] = frozenset()
    """Subcommands that run a program; others do not."""


def _wrapper(
    valued: str = "", operands: int = 0, script: str = "", verbs: str = "", *, joined: bool = False
) -> Wrapper:
    return Wrapper(frozenset(valued.split()), operands, tuple(script.split()), joined, frozenset(verbs.split()))


_PLAIN = _wrapper()
_CONTAINER = _wrapper(
    "-e -u -w -v -p -h -l -m --env --env-file --user --workdir --name --volume --network --publish --entrypoint --mount"
    " --hostname --label --memory --cpus",
    operands=1,
    verbs="exec run",
)
WRAPPERS: dict[str, Wrapper] = {
    **dict.fromkeys(("nohup", "setsid", "command", "builtin", "busybox", "toybox", "caffeinate", "unbuffer"), _PLAIN),
    "sudo": _wrapper("-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --chroot --role --type"),
    "doas": _wrapper("-u -C"),
    "env": _wrapper("-u -C --unset --chdir", script="-S --split-string"),
    "exec": _wrapper("-a"),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c -n -p --class --classdata"),
    "time": _wrapper("-f -o --format --output"),
    "timeout": _wrapper("-s -k --signal --kill-after", operands=1),
    "stdbuf": _wrapper("-i -o -e --input --output --error"),
    "chrt": _wrapper("-T -P -D", operands=1),
    "taskset": _wrapper(operands=1),
    "chroot": _wrapper(operands=1),
    "flock": _wrapper("-w -E --timeout", operands=1, script="-c --command"),
    "script": _wrapper("-T -I -O -B", operands=1, script="-c --command"),
    "su": _wrapper("-g -G -s --group --shell", operands=1, script="-c --command"),
    "runuser": _wrapper("-u -g -G -s --user --group --shell", script="-c --command"),
    "watch": _wrapper("-n --interval", joined=True),
    "parallel": _wrapper("-j --jobs -I -a --arg-file", joined=True),
    "strace": _wrapper("-e -o -p -s -u"),
    "ltrace": _wrapper("-e -o -p -s -u"),
    "xargs": _wrapper("-I -n -P -L -d -a -E -s --max-args --max-procs --max-lines --delimiter --arg-file --replace"),
    "systemd-run": _wrapper("-u -p -M --unit --property --slice --uid --gid"),
    "unshare": _wrapper("-S -G -R -w"),
    "nsenter": _wrapper("-t -S -G --target"),
    "ssh": _wrapper("-p -i -l -o -F -J -L -R -D -W -b -c -E -e -I -m -O -Q -S -w -B", operands=1, joined=True),
    "eval": _wrapper(joined=True),
    **dict.fromkeys(("docker", "podman", "nerdctl"), _CONTAINER),
    "kubectl": _wrapper("-n -c --namespace --container --context", operands=1, verbs="exec run"),
}


@dataclass(frozen=True)
class Inner:
    """What a command runs in its turn: words, or shell text."""

    words: tuple[Word, ...] = ()
    text: Word | None = None
    doubt: Doubt | None = None


def inner_commands(name: str, words: Sequence[Word], *, piped: bool, inputs: Sequence[Word]) -> Iterator[Inner]:
    """Yield what the program ``name`` runs when it is called with ``words``."""
    if name in SHELLS:
        yield from _shell(words, piped=piped, inputs=inputs)
    elif name in ("source", "."):
        yield from _script_file(words[0] if words else None, piped=piped, inputs=inputs)
    elif name in ("find", "fd", "fdfind"):
        yield from _find(words)
    elif name == "alias":
        yield from (Inner(text=_after_sign(word)) for word in words if "=" in word.text)
    elif name == "trap":
        yield from (Inner(text=word) for word in _operands(words)[:1])
    elif name in WRAPPERS and not _only_looks_up(name, words):
        yield from _wrapped(name, WRAPPERS[name], words)


def _only_looks_up(name: str, words: Sequence[Word]) -> bool:
    return name == "command" and bool(words) and words[0].text in ("-v", "-V")


def _after_sign(word: Word) -> Word:
    sign = word.text.index("=") + 1
    return Word(word.text[sign:], max(0, word.fixed - sign))


def _operands(words: Sequence[Word]) -> list[Word]:
    return [word for word in words if not word.text.startswith("-")]


def _shell(words: Sequence[Word], *, piped: bool, inputs: Sequence[Word]) -> Iterator[Inner]:
    position = 0
    while position < len(words) and words[position].text[:1] in ("-", "+") and len(words[position].text) > 1:
        option = words[position].text
        position += 2 if option in _SHELL_OPTIONS_WITH_VALUE else 1
        if option[0] == "-" and option[1] != "-" and "c" in option:
            yield from _script_text(words[position:])
            return
        if option == "--" or (option[0] == "-" and "s" in option and option[1] != "-"):
            break
    reads_input = position and "s" in words[position - 1].text and not words[position - 1].text.startswith("--")
    operand = None if reads_input or position >= len(words) else words[position]
    yield from _script_file(operand, piped=piped, inputs=inputs)


def _script_text(words: Sequence[Word]) -> Iterator[Inner]:
    """Yield the text after ``-c``, past more options."""
    rest = [word for word in words if not word.text.startswith(("-", "+")) or not word.certain]
    valued = any(word.text in _SHELL_OPTIONS_WITH_VALUE for word in words)
    yield from (Inner(text=text) for text in rest[: 2 if valued else 1])
    if not rest:
        yield Inner(doubt=Doubt(RUN_TIME, "a shell whose commands come from elsewhere"))


def _script_file(operand: Word | None, *, piped: bool, inputs: Sequence[Word]) -> Iterator[Inner]:
    from_input = operand is None or operand.text in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
    if operand is not None and not operand.certain:
        yield Inner(doubt=Doubt(RUN_TIME, f"a shell runs what {operand.text} stands for"))
    if from_input:
        yield from (Inner(text=text) for text in inputs)
        if piped:
            yield Inner(doubt=Doubt(RUN_TIME, "a shell runs what is piped into it"))


def _find(words: Sequence[Word]) -> Iterator[Inner]:
    for start, word in enumerate(words):
        if word.text in _FIND_ACTIONS:
            ends = (i for i in range(start + 1, len(words)) if words[i].text in (";", "+"))
            yield Inner(words=tuple(words[start + 1 : next(ends, len(words))]))


def _wrapped(name: str, wrapper: Wrapper, words: Sequence[Word]) -> Iterator[Inner]:
    if wrapper.verbs:
        verb = next((i for i, word in enumerate(words) if word.text in wrapper.verbs), None)
        if verb is None:
            return
        words = words[verb + 1 :]
    yield from _scripts(wrapper, words)
    for start in _starts(wrapper, words):
        yield from _from_here(name, wrapper, words, start)


def _from_here(name: str, wrapper: Wrapper, words: Sequence[Word], start: int) -> Iterator[Inner]:
    rest = tuple(words[start:])
    if not rest:
        return
    if wrapper.joined:
        yield Inner(text=join(rest))
    elif name == "xargs":
        yield Inner(words=_with_standard_input(words[:start], rest))
    else:
        yield Inner(words=rest)


def _scripts(wrapper: Wrapper, words: Sequence[Word]) -> Iterator[Inner]:
    """Yield the shell text given to options such as ``su -c``."""
    for position, word in enumerate(words):
        for option in wrapper.script:
            if word.text == option and position + 1 < len(words):
                yield Inner(text=words[position + 1])
            elif word.text.startswith(f"{option}=" if option.startswith("--") else option):
                cut = len(option) + (word.text[len(option) : len(option) + 1] == "=")
                yield Inner(text=Word(word.text[cut:], max(0, word.fixed - cut)))


def _starts(wrapper: Wrapper, words: Sequence[Word]) -> list[int]:
    """Return where the wrapped program may start; two places when an option is unknown and may have a value."""
    position, unknown = 0, False
    while position < len(words) and (words[position].text.startswith("-") or _assigns(words[position])):
        option = words[position].text
        position += 1
        if option == "--":
            break
        if option in wrapper.valued or option in wrapper.script:
            position += 1
        elif option.startswith("-") and "=" not in option:
            unknown = True
    first = position + wrapper.operands
    while wrapper.operands and first < len(words) and words[first].text == "--":
        first += 1
    return [first, first + 1] if unknown else [first]


def _assigns(word: Word) -> bool:
    name, sign, _ = word.text.partition("=")
    return bool(sign) and name.isidentifier()


def _with_standard_input(options: Sequence[Word], rest: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return the words that xargs runs: its input takes the place of the marker or comes last."""
    marker = _replacement(options)
    if marker is None:
        return (*rest, Word("{}", 0))
    return tuple(Word(w.text, min(w.fixed, w.text.index(marker))) if marker in w.text else w for w in rest)


def _replacement(options: Sequence[Word]) -> str | None:
    texts = [word.text for word in options]
    for position, text in enumerate(texts):
        if text == "-I" and position + 1 < len(texts):
            return texts[position + 1]
        if text.startswith("-I") or text in ("-i", "--replace"):
            return text[2:] if text.startswith("-I") else "{}"
    return None


def join(words: Sequence[Word]) -> Word:
    """Return words as one text, as ``eval`` and ``ssh`` make it; certain as far as the words are."""
    text = " ".join(word.text for word in words)
    fixed, length = len(text), 0
    for word in words:
        if not word.certain:
            fixed = length + word.fixed
            break
        length += len(word.text) + 1
    return Word(text, fixed) if words else literal("")
