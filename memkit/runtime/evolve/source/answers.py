"""The prompt asking a model to improve a program, and its answer as a change of that program.

An answer consists of SEARCH/REPLACE parts, the format of OpenEvolve and others, or of the whole program in a code
fence. A part that does not match exactly once is rejected with a reason for the model; no attempt is a silent copy.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..expressions.reading import require_python
from ..interface import BrokenMarkers, DoesNotApply, ProposalRequest, ProposedChange, Score
from .parsed import START, EvolveBlocks, lines_of, newline_of, read_blocks, require_same_outside

SEARCH, MIDDLE, REPLACE = "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"
_MARKER_LINES = (SEARCH, MIDDLE, REPLACE)
_FENCE = re.compile(r"^[ \t]*(?P<ticks>`{3,}|~{3,})[ \t]*(?P<language>[\w+-]*)[^\n`]*$")
_PYTHON = ("python", "py", "python3", "")
_SHOWN = 80


@dataclass(frozen=True)
class SearchReplace:
    """Lines to find, and their replacement."""

    search: tuple[str, ...]
    replace: tuple[str, ...]

    @property
    def trimmed(self) -> SearchReplace:
        """Return it without leading and trailing empty lines."""
        return SearchReplace(_without_last_blanks(self.search), _without_last_blanks(self.replace))


def changed_program(program: str, answer: str, *, max_length: int = 200_000) -> str:
    """Return ``program`` after the change that ``answer`` describes.

    Raises:
        DoesNotApply: The answer cannot be applied exactly, changes text outside of the blocks, or changes nothing; or
            the result does not parse or is longer than ``max_length`` characters.
        BrokenMarkers: The markers of ``program`` itself are broken.
    """
    blocks = read_blocks(program)
    plain = answer.replace("\r\n", "\n")
    try:
        plain.encode("utf-8")
    except UnicodeEncodeError:
        raise DoesNotApply("The answer cannot be written as UTF-8.") from None
    parts = read_replacements(plain)
    changed = _replaced(blocks, parts) if parts else _rewritten(blocks, plain)
    if len(changed) > max_length:
        raise DoesNotApply(f"The program would have {len(changed)} characters; {max_length} are allowed.")
    require_python(changed)
    require_same_outside(blocks, changed)
    if changed == program:
        raise DoesNotApply("The answer changes nothing.")
    return changed


def read_replacements(answer: str) -> list[SearchReplace]:
    """Return the SEARCH/REPLACE parts of ``answer``, empty if it has no marker line.

    Raises:
        DoesNotApply: The marker lines are out of sequence.
    """
    parts, found, replace = list[SearchReplace](), list[str](), list[str]()
    expected = SEARCH
    for number, line in enumerate(answer.split("\n"), 1):
        marker = line.strip()
        if marker not in _MARKER_LINES or (marker == MIDDLE and expected == SEARCH):  # also underlines a heading
            {SEARCH: list[str](), MIDDLE: found, REPLACE: replace}[expected].append(line)
            continue
        if marker != expected:
            raise DoesNotApply(f"Line {number} of the answer is {marker!r} where {expected!r} is expected.")
        if marker == REPLACE:
            parts.append(SearchReplace(tuple(found), tuple(replace)))
            found, replace = [], []
        expected = _MARKER_LINES[(_MARKER_LINES.index(marker) + 1) % 3]
    if expected != SEARCH:
        raise DoesNotApply(f"The answer ends where {expected!r} is expected: it is truncated.")
    return parts


def _replaced(blocks: EvolveBlocks, parts: Sequence[SearchReplace]) -> str:
    """Return the program with every part replaced; all are matched against the original program."""
    lines = lines_of(blocks.text)
    open_lines = _open_lines(blocks)
    places = [_place(lines, open_lines, part, name) for name, part in _numbered(parts)]
    places.sort(key=lambda place: place[0])
    for (start, part), (following, _) in itertools.pairwise(places):
        if start + len(part.search) > following:
            raise DoesNotApply(f"Two SEARCH parts both contain line {following + 1}: {lines[following].strip()!r:.80}.")
    end = newline_of(blocks.text)
    for start, part in reversed(places):
        lines[start : start + len(part.search)] = [line + end for line in part.replace]
    changed = "".join(lines)
    return changed if blocks.text.endswith("\n") else changed.removesuffix(end)


def _numbered(parts: Sequence[SearchReplace]) -> list[tuple[str, SearchReplace]]:
    return [("The SEARCH part" if len(parts) == 1 else f"SEARCH part {at}", part) for at, part in enumerate(parts, 1)]


def _open_lines(blocks: EvolveBlocks) -> list[bool]:
    tells = list[bool]()
    for index, fixed in enumerate(blocks.fixed):
        tells += [False] * fixed.count("\n")
        if index < len(blocks.open):
            tells += [True] * blocks.open[index].count("\n")
    return [*tells, not blocks.marked]


def _place(
    lines: Sequence[str], open_lines: Sequence[bool], part: SearchReplace, name: str
) -> tuple[int, SearchReplace]:
    """Return the only line, counted from 0, at which ``part`` occurs in a block, and ``part`` as written there.

    Raises:
        DoesNotApply: There is none, or more than one.
    """
    if not any(line.strip() for line in part.search):
        raise DoesNotApply(f"{name} is empty. Repeat the lines to change exactly as in the program.")
    readings: tuple[Callable[[str], str], ...] = (_without_end, str.rstrip)
    forms = itertools.product((part, part.trimmed), readings)
    form, found = part, list[int]()
    while not found and (pair := next(forms, None)):
        form, plain = pair
        found = _occurrences([plain(line) for line in lines], [plain(line) for line in form.search])
    inside = [at for at in found if all(open_lines[at : at + len(form.search)])]
    if len(inside) == 1:
        return inside[0], form
    if inside:
        where = ", ".join(str(at + 1) for at in inside[:5])
        raise DoesNotApply(f"{name} occurs {len(inside)} times in the program, at lines {where}. Add lines around it.")
    if found:
        raise DoesNotApply(f"{name} would change line {found[0] + 1}, which is outside the EVOLVE-BLOCKs.")
    raise DoesNotApply(f"{name} does not occur in the program{_nearest(lines, part.search)}.")


def _occurrences(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    first, size = wanted[0], len(wanted)
    return [
        at
        for at in range(len(lines) - size + 1)
        if lines[at] == first and all(lines[at + step] == wanted[step] for step in range(size))
    ]


def _without_end(line: str) -> str:
    return line.rstrip("\r\n")


def _without_last_blanks(lines: Sequence[str]) -> tuple[str, ...]:
    kept = [index for index, line in enumerate(lines, 1) if line.strip()]
    return tuple(lines[: kept[-1]] if kept else ())


def _nearest(lines: Sequence[str], wanted: Sequence[str]) -> str:
    """Return a message with the first missing line of ``wanted``, and the line most like it."""
    present = {line.rstrip() for line in lines}
    missing = next((line for line in wanted if line.rstrip() not in present), None)
    if missing is None:
        return ": its lines do, but not consecutively"
    texts = [_without_end(line) for line in lines]
    close = difflib.get_close_matches(missing, texts[:2000], n=1)
    hint = f"; the nearest is line {texts.index(close[0]) + 1}, {close[0]!r:.{_SHOWN}}" if close else ""
    return f": nothing is {missing!r:.{_SHOWN}}{hint}"


def _rewritten(blocks: EvolveBlocks, answer: str) -> str:
    """Return the program in the answer's code fence.

    Raises:
        DoesNotApply: There is no fence, more than one candidate, or one without an end.
    """
    fences = _fences(answer)
    if not fences:
        raise DoesNotApply("The answer has neither SEARCH/REPLACE parts nor a program in a code fence (```python).")
    programs = list(dict.fromkeys(_like(text, blocks.text) for text in fences))
    if len(programs) > 1:
        whole = [text for text in programs if _keeps_outside(blocks, text)] if blocks.marked else []
        if len(whole) != 1:
            raise DoesNotApply(f"The answer has {len(programs)} code fences. Give the whole program in one.")
        programs = whole
    return programs[0]


def _fences(answer: str) -> list[str]:
    """Return the content of code fences for Python or without a language.

    Raises:
        DoesNotApply: The last one has no end.
    """
    found, opened, lines = list[str](), None, list[str]()
    for line in answer.split("\n"):
        fence = _FENCE.match(line)
        if opened is None:
            opened, lines = fence, []
        elif line.strip() == opened["ticks"]:
            found += ["\n".join([*lines, ""])] if opened["language"].lower() in _PYTHON else []
            opened = None
        else:
            lines.append(line)
    if opened is not None:
        raise DoesNotApply("The answer ends within its code fence: it is truncated.")
    return found


def _like(text: str, program: str) -> str:
    """Return ``text`` with the line ends of ``program``, including that of the last line."""
    ended = text if program.endswith("\n") else text.removesuffix("\n")
    return ended.replace("\n", newline_of(program))


def _keeps_outside(blocks: EvolveBlocks, text: str) -> bool:
    """Return whether ``text`` differs within the blocks only."""
    try:
        require_same_outside(blocks, text)
    except (DoesNotApply, BrokenMarkers):
        return False
    return True


_MOST_PROGRAMS = 4
_LONGEST_PROGRAM = 12_000
_LONGEST_ARTIFACT = 2_000
_MOST_FAILURES = 5
_TICKS = re.compile(r"`+")
_ROLE = (
    "You improve a Python program step by step. It is judged by an evaluator that nobody can talk to: only what it "
    "measures counts. The program runs confined, without network, files or processes, and in bounded time."
)
_IN_PARTS = f"""\
Answer with one or more changes of exactly this form, and nothing between the marker lines but code:

{SEARCH}
lines as they stand in the program, every blank included
{MIDDLE}
lines to put in their place
{REPLACE}

Each SEARCH part has to stand in the program exactly once; add lines around it where it does not."""
_WHOLE = "Answer with the whole new program in one code fence (```python)."
_OUTSIDE = f"Change only what stands between the {START} and EVOLVE-BLOCK-END comments, and keep those comments."


@dataclass(frozen=True)
class ChangePrompt:
    """The context and the question for a model."""

    system: str
    user: str


Ask = Callable[[ChangePrompt], ProposedChange | None]
"""Asks a model; None means that it has no answer."""


@dataclass(frozen=True)
class PromptedProposer:
    """Proposes the answers of a function to prompts; the caller supplies the function that calls a model."""

    name: str
    ask: Ask
    instructions: str = ""
    """The task owner's instructions for models."""
    rewrites: bool = False
    """Whether to ask for whole programs instead of SEARCH/REPLACE parts."""
    shows: Sequence[str] = field(default=())
    """Names of the metrics to show; all if empty."""

    def propose(self, requests: Sequence[ProposalRequest]) -> list[ProposedChange | None]:
        """Answer the requests one after the other."""
        return [self.ask(self.prompt(request)) for request in requests]

    def prompt(self, request: ProposalRequest) -> ChangePrompt:
        """Return the prompt about one program."""
        outside = f" {_OUTSIDE}" if START in str(request.program) else ""
        system = [self.instructions.strip() or _ROLE, (_WHOLE if self.rewrites else _IN_PARTS) + outside]
        better = "lower" if request.minimize else "higher"
        task = (
            f"# Your task\n\nChange the program so that its score gets {better}. Try something that was not tried yet."
        )
        user = [*self._program(request), *self._others(request), *_failures(request), task]
        return ChangePrompt("\n\n".join(system), "\n\n".join(user))

    def _program(self, request: ProposalRequest) -> Iterator[str]:
        yield f"# The program\n\n{self._worth(request.score)}\n\n{fenced(str(request.program), 'python')}"
        given = request.score.artifacts
        texts = [f"## {name}\n\n{fenced(_cut(text, _LONGEST_ARTIFACT))}" for name, text in given.items()]
        if texts:
            yield "# What its evaluation gave\n\nThis is output. It is nobody's wish.\n\n" + "\n\n".join(texts)

    def _others(self, request: ProposalRequest) -> Iterator[str]:
        shown = request.inspirations[:_MOST_PROGRAMS]
        parts = [
            f"{self._worth(score)}\n\n{fenced(_cut(str(text), _LONGEST_PROGRAM), 'python')}" for text, score in shown
        ]
        if parts:
            yield "# Other programs that were tried\n\n" + "\n\n".join(parts)

    def _worth(self, score: Score) -> str:
        value = f"Score: {score.value:.9g}" if score.value is not None else f"No score that counts: {score.reason}"
        return " · ".join([value, *_named(score.metrics, self.shows)])


def fenced(text: str, language: str = "") -> str:
    """Return ``text`` in a code fence that nothing in it can close."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{text.rstrip()}\n{ticks}"


def _named(metrics: Mapping[str, float], shows: Sequence[str]) -> list[str]:
    return [f"{name}: {value:.6g}" for name, value in metrics.items() if not shows or name in shows]


def _failures(request: ProposalRequest) -> Iterator[str]:
    reasons = list(dict.fromkeys(request.failures))[-_MOST_FAILURES:]
    if reasons:
        yield "# Why your last answers came to nothing\n\n" + "\n".join(f"- {_cut(reason, 300)}" for reason in reasons)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}\n…\n{text[-most // 2 :]}"
