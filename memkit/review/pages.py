"""A review as Markdown for a comment, and as a page."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from memkit import __version__
from memkit.policies.verdict_diff import VerdictChange
from memkit.review.interface import LintFinding, Review, ReviewSubject
from memkit.review.text import bounded, end_name, lint_summary, subject_title, summary, verdict_call
from memkit.terminal import counted, harmless, one_line

_QUOTED = re.compile("“([^“”]*)”")


def parts(sentence: str) -> Iterator[tuple[str, bool]]:
    """Yield each stretch of a sentence on one line, harmless, with whether it is a text of the store between its marks.

    >>> list(parts("step 1 inserted: “Pour”"))
    [('step 1 inserted: ', False), ('Pour', True)]
    """
    start = 0
    line = one_line(sentence)
    for match in _QUOTED.finditer(line):
        if match.start() > start:
            yield line[start : match.start()], False
        yield match[1], True
        start = match.end()
    if start < len(line):
        yield line[start:], False


LONGEST = 60_000
"""Characters; a comment on GitHub can have 65,536."""
_COMMENT_TITLES = {"stop": "🛑 Stop and answer", "look": "👀 Look twice", "clear": "✅ Clear"}

_ACTIVE = re.compile(r"[\\`*_\[\]<>|~&$]|:(?=\S)|(?<=[Ww]{3})\.")
_CALLING = re.compile(r"[@#]|(?<=\b[Gg][Hh])-(?=\d)")
_ZERO_WIDTH = "&#8203;"


def markdown(found: Review, limit: int) -> str:
    """Return the comment, at most ``limit`` changes of each file or user, and never too long for one."""
    lines: list[str] = []
    length = 0
    for line in _comment_lines(found, limit):
        length += len(line) + 1
        if length > LONGEST:
            lines += _closed(lines, ["", "The rest does not fit into a comment: `memkit review` shows it."])
            break
        lines.append(line)
    return "\n".join(lines)


def sentence(text: str) -> str:
    """Return a sentence with the texts that it quotes as code.

    >>> sentence("skill added: “<b> @ada”, by @bob")
    'skill added: `<b> @ada`, by @&#8203;bob'
    """
    return "".join(code(part) if is_quoted else plain(part) for part, is_quoted in parts(text))


def code(text: str) -> str:
    """Return a text as a code span, whatever stands in it."""
    text = one_line(text)
    if not text.strip():
        return "(empty)"
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def plain(text: str) -> str:
    """Return a text that Markdown takes for nothing but text."""
    return _CALLING.sub(rf"\g<0>{_ZERO_WIDTH}", _ACTIVE.sub(r"\\\g<0>", text))


def _comment_lines(found: Review, limit: int) -> Iterator[str]:
    difference = found.difference
    yield f"### {_COMMENT_TITLES[found.assessment.level]}"
    yield ""
    yield sentence(found.assessment.summary)
    yield ""
    yield f"{code(end_name(difference.before))} → {code(end_name(difference.after))}: {plain(summary(difference))}"
    yield from (f"\n> {sentence(note.message)}" for note in difference.notes)
    yield from _verdicts(found, limit)
    yield from _lint(found, limit)
    telling = [subject for subject in difference.subjects if subject.attention]
    quiet = [subject for subject in difference.subjects if not subject.attention]
    if telling:
        yield from ("", "#### What to look at twice")
        for subject in telling:
            yield from _subject(subject, limit)
    if quiet:
        yield from ("", f"<details><summary>The rest: {counted(len(quiet), 'place')}</summary>")
        for subject in quiet:
            yield from _subject(subject, limit)
        yield from ("", "</details>")


def _closed(lines: list[str], last: list[str]) -> list[str]:
    is_open = any(line.startswith("<details>") for line in lines) and "</details>" not in lines
    return [*(["", "</details>"] if is_open else []), *last]


def _subject(subject: ReviewSubject, limit: int) -> Iterator[str]:
    title = subject_title(subject)
    yield from ("", f"**{plain(title.kind)}** {code(title.name)}{plain(title.rest)}", "")
    shown, left = bounded(subject.changes, limit)
    yield from (f"- {'⚠️ ' if change.attention else ''}{sentence(change.message)}" for change in shown)
    if left:
        yield f"- … {plain(left)}"


def _verdicts(found: Review, limit: int) -> Iterator[str]:
    changes, unknown = found.verdicts.changes, found.verdicts.unknown
    if changes or unknown:
        yield from ("", f"#### {counted(len(changes), 'call')} decided differently", "")
    yield from (_verdict(change) for change in changes[:limit])
    if len(changes) > limit:
        yield f"- … and {len(changes) - limit:,} more"
    yield from (f"- unknown: {code(question)}" for question in unknown[:limit])


def _verdict(change: VerdictChange) -> str:
    mark = "🛑 " if change.weakens_hard else "⚠️ " if change.weakened else ""
    by = f", by {code(change.policy)}" if change.policy else ""
    return f"- {mark}**{change.before} → {change.after}**{by}: {code(verdict_call(change))}"


def _lint(found: Review, limit: int) -> Iterator[str]:
    lint = found.lint
    if lint.new or lint.fixed or lint.fault:
        yield from ("", f"#### Lint: {plain(lint_summary(lint))}", "")
    if lint.fault:
        yield f"- not checked: {code(lint.fault)}"
    for finding in lint.new[:limit]:
        yield f"- **{finding.severity}** {_finding(finding)}"
    if len(lint.new) > limit:
        yield f"- … and {len(lint.new) - limit:,} more"
    yield from (f"- fixed: {_finding(finding)}" for finding in lint.fixed[:limit])


def _finding(finding: LintFinding) -> str:
    return f"{finding.code} at {code(f'{finding.path}:{finding.line}')}: {code(finding.message)}"


_PAGE_TITLES = {"stop": "Stop and answer", "look": "Look twice", "clear": "Clear"}

_HERE = Path(__file__).resolve().parent


def page(found: Review, limit: int) -> str:
    """Return the page, at most ``limit`` changes of each file or user on it.

    Its policy for browsers allows one style sheet, by its digest, and nothing else.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    style = (_HERE / "page.css").read_text(encoding="utf-8")
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"parts": parts, "end_name": end_name, "call": verdict_call, "line": one_line}
    return environment.get_template("page.html.jinja").render(
        review=found,
        difference=found.difference,
        title=_PAGE_TITLES[found.assessment.level],
        subjects=[(each, subject_title(each), *bounded(each.changes, limit)) for each in found.difference.subjects],
        summary=summary(found.difference),
        lint_summary=lint_summary(found.lint),
        limit=limit,
        counted=counted,
        version=__version__,
        style=harmless(style),
        digest=base64.b64encode(sha256(harmless(style).encode()).digest()).decode("ascii"),
    )
