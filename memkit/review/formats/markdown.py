"""A review as Markdown for a comment on a pull request.

Nothing of the store can become a link, a mention, an image or HTML there: its texts stand in code spans, where none of
these exists, and everything else is escaped as GitHub Flavored Markdown reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memkit.policies.verdict_diff import VerdictChange
from memkit.review.formats.sentences import parts
from memkit.review.formats.text import bounded, end_name, lint_summary, subject_title, summary, verdict_call
from memkit.review.interface import Subject
from memkit.review.review import LintFinding, Review
from memkit.terminal import counted, one_line

LONGEST = 60_000
"""Characters; a comment on GitHub can have 65,536."""
TITLES = {"stop": "🛑 Stop and answer", "look": "👀 Look twice", "clear": "✅ Clear"}

_ACTIVE = re.compile(r"[\\`*_\[\]<>|~&$]|:(?=\S)|(?<=[Ww]{3})\.")
_CALLING = re.compile(r"[@#]|(?<=\b[Gg][Hh])-(?=\d)")
_ZERO_WIDTH = "&#8203;"


def markdown(found: Review, limit: int) -> str:
    """Return the comment, at most ``limit`` changes of each file or user, and never too long for one."""
    lines: list[str] = []
    length = 0
    for line in _lines(found, limit):
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


def _lines(found: Review, limit: int) -> Iterator[str]:
    difference = found.difference
    yield f"### {TITLES[found.assessment.level]}"
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


def _subject(subject: Subject, limit: int) -> Iterator[str]:
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
