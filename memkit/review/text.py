"""A difference and a review as lines for a terminal, as data for ``--json``, as Markdown, and as a page."""

from __future__ import annotations

import base64
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from hashlib import sha256
from heapq import nsmallest
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from memkit import __version__
from memkit.policies.verdict_diff import VerdictChange, change_data, check_line
from memkit.review.assessment import TOLD
from memkit.review.interface import (
    Difference,
    End,
    LintDelta,
    LintFinding,
    Review,
    ReviewSubject,
    SubjectChange,
    Verdicts,
)
from memkit.runtime.host.terminal import counted, harmless, one_line
from memkit.runtime.memory.gate.secrets import masked_tree

TITLES = {"stop": "STOP", "look": "LOOK TWICE", "clear": "CLEAR"}
PARAGRAPH = 110
"""Characters per line of the paragraph."""
LONGEST_CALL = 300
"""The most characters of a call that are shown."""


class Title(NamedTuple):
    """The title of a subject."""

    kind: str
    name: str
    rest: str
    """What became of it."""


def difference_lines(found: Difference, limit: int) -> Iterator[str]:
    """Yield one line for each change below its subject, at most ``limit`` per subject; ! marks what needs a look."""
    yield f"From {end_name(found.before)} to {end_name(found.after)}: {summary(found)}"
    for subject in found.subjects:
        title = subject_title(subject)
        yield from ("", f"{title.kind} {title.name}{title.rest}")
        shown, left = bounded(subject.changes, limit)
        yield from (f" {'!' if change.attention else ' '} {one_line(change.message)}" for change in shown)
        if left:
            yield f"   … {left}"


def review_lines(found: Review, limit: int) -> Iterator[str]:
    """Yield the assessment, the changed verdicts and findings, and then every change."""
    assessment = f"{TITLES[found.assessment.level]}: {one_line(found.assessment.summary)}"
    yield from _wrapped(assessment)
    for reason in found.assessment.reasons[TOLD:]:
        yield from _wrapped(f"Also: {one_line(reason.message)}")
    yield ""
    yield from _verdict_lines(found.verdicts, limit)
    yield from _lint_lines(found.lint, limit)
    yield from difference_lines(found.difference, limit)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, PARAGRAPH, break_long_words=False, break_on_hyphens=False)


def end_name(end: End) -> str:
    """Return the name of a side, with its commit if the name does not contain it."""
    name = one_line(end.name, 80)
    return name if end.commit is None or end.commit.startswith(end.name) else f"{name} ({end.commit[:10]})"


def summary(found: Difference) -> str:
    """Return how much changed, in a few words."""
    if not found.subjects:
        return "no change"
    look = f", {found.attention:,} to look at twice" if found.attention else ""
    return f"{counted(found.changes, 'change')} in {counted(len(found.subjects), 'place')}{look}"


def lint_summary(lint: LintDelta) -> str:
    """Return how many findings are new and how many were resolved."""
    return f"{counted(len(lint.new), 'new finding')} ({counted(lint.errors, 'error')}), {len(lint.fixed):,} fixed"


def subject_title(subject: ReviewSubject) -> Title:
    """Return the title of a subject."""
    if subject.area == "memory" and subject.path:
        return Title("shards of the", subject.name, "")
    kind = "memory of" if subject.area == "memory" else subject.area
    rest = f", {subject.status}" if subject.status != "changed" else ""
    return Title(kind, one_line(subject.name, 80), rest)


def bounded(changes: Sequence[SubjectChange], limit: int) -> tuple[list[SubjectChange], str]:
    """Return the changes to show, those that need a look first if not all are shown, and a note on the others."""
    if len(changes) <= limit:
        return list(changes), ""
    ranked = nsmallest(limit, enumerate(changes), key=lambda each: (not each[1].attention, each[0]))
    shown = [change for _, change in sorted(ranked, key=itemgetter(0))]
    kinds = Counter(change.kind for change in changes)
    kinds.subtract(change.kind for change in shown)
    named = ", ".join(f"{number:,} {one_line(kind, 20)}" for kind, number in sorted(kinds.items()) if number)
    return shown, f"and {len(changes) - limit:,} more: {named}"


def verdict_call(change: VerdictChange) -> str:
    """Return the ``policy check`` that decides a call again, on one line."""
    return one_line(check_line(change.call), LONGEST_CALL)


def _verdict_lines(verdicts: Verdicts, limit: int) -> Iterator[str]:
    changes = verdicts.changes
    if not (changes or verdicts.unknown):
        return
    yield f"{counted(len(changes), 'call')} decided differently"
    for change in changes[:limit]:
        mark = "!" if change.weakened else " "
        hard = ", against a hard policy" if change.weakens_hard else ""
        yield f" {mark} {change.before} → {change.after}{hard}: {one_line(change.policy, 80)}"
        yield f"     {verdict_call(change)}"
    if len(changes) > limit:
        yield f"   … and {len(changes) - limit:,} more"
    yield from (f"   unknown: {one_line(question, LONGEST_CALL)}" for question in verdicts.unknown[:limit])
    yield ""


def _lint_lines(lint: LintDelta, limit: int) -> Iterator[str]:
    if not (lint.new or lint.fixed):
        return
    yield f"lint: {lint_summary(lint)}"
    for finding in lint.new[:limit]:
        mark = "!" if finding.severity == "error" else " "
        yield f" {mark} {_finding_line(finding)}"
    if len(lint.new) > limit:
        yield f"   … and {len(lint.new) - limit:,} more"
    yield from (f"   fixed: {_finding_line(finding)}" for finding in lint.fixed[:limit])
    yield ""


def _finding_line(finding: LintFinding) -> str:
    return f"{one_line(finding.path)}:{finding.line}:{finding.column}: {finding.code} {one_line(finding.message, 200)}"


def difference_data(found: Difference, limit: int | None) -> dict[str, Any]:
    """Return a difference as data, at most ``limit`` changes of each subject if given."""
    return {
        "from": _end(found.before),
        "to": _end(found.after),
        "counts": {"subjects": len(found.subjects), "changes": found.changes, "attention": found.attention},
        "subjects": [_subject(subject, limit) for subject in found.subjects],
        "truncated": limit is not None and any(len(subject.changes) > limit for subject in found.subjects),
    }


def review_data(found: Review, limit: int | None) -> dict[str, Any]:
    """Return a review as data: a difference, and beside it the assessment, the verdicts and the lint delta."""
    assessment, verdicts, lint = found.assessment, found.verdicts, found.lint
    return {
        "level": assessment.level,
        "summary": assessment.summary,
        "reasons": [asdict(reason) for reason in assessment.reasons],
        "verdicts": {
            "changes": [change_data(change) for change in verdicts.changes],
            "unknown": list(verdicts.unknown),
            "fault": verdicts.fault or None,
        },
        "lint": {
            "new": [asdict(finding) for finding in lint.new],
            "fixed": [asdict(finding) for finding in lint.fixed],
            "kept": lint.kept,
            "fault": lint.fault or None,
        },
        **difference_data(found.difference, limit),
    }


def _end(end: End) -> dict[str, str | None]:
    return {"name": end.name, "commit": end.commit}


def _subject(subject: ReviewSubject, limit: int | None) -> dict[str, Any]:
    return {
        "area": subject.area,
        "name": subject.name,
        "was": subject.was,
        "path": subject.path,
        "status": subject.status,
        "count": len(subject.changes),
        "changes": [_change(change) for change in subject.changes[:limit]],
    }


def _change(change: SubjectChange) -> dict[str, Any]:
    data: dict[str, Any] = masked_tree(asdict(change))
    if not change.held:
        del data["held"]
    return data


_QUOTED = re.compile("“([^“”]*)”")


def parts(sentence: str) -> Iterator[tuple[str, bool]]:
    """Yield each stretch of a sentence on one line, harmless, and whether it is a quoted text of the store.

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
    """Return the comment, with at most ``limit`` changes of each file or user, and within the length limit."""
    lines: list[str] = []
    length = 0
    for line in _comment_lines(found, limit):
        length += len(line) + 1
        if length > LONGEST:
            lines += _closed(lines, ["", "The rest does not fit in a comment: `memkit review` shows it."])
            break
        lines.append(line)
    return "\n".join(lines)


def sentence(text: str) -> str:
    """Return a sentence with its quoted texts as code.

    >>> sentence("skill added: “<b> @ada”, by @bob")
    'skill added: `<b> @ada`, by @&#8203;bob'
    """
    return "".join(code(part) if is_quoted else plain(part) for part, is_quoted in parts(text))


def code(text: str) -> str:
    """Return any text as a code span."""
    text = one_line(text)
    if not text.strip():
        return "(empty)"
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def plain(text: str) -> str:
    """Return a text that Markdown renders as plain text."""
    return _CALLING.sub(rf"\g<0>{_ZERO_WIDTH}", _ACTIVE.sub(r"\\\g<0>", text))


def _comment_lines(found: Review, limit: int) -> Iterator[str]:
    difference = found.difference
    yield f"### {_COMMENT_TITLES[found.assessment.level]}"
    yield ""
    yield sentence(found.assessment.summary)
    yield ""
    if len(found.assessment.reasons) > TOLD:
        yield from (f"- {sentence(reason.message)}" for reason in found.assessment.reasons[TOLD:])
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
            yield from _subject_lines(subject, limit)
    if quiet:
        yield from ("", f"<details><summary>The rest: {counted(len(quiet), 'place')}</summary>")
        for subject in quiet:
            yield from _subject_lines(subject, limit)
        yield from ("", "</details>")


def _closed(lines: list[str], last: list[str]) -> list[str]:
    is_open = any(line.startswith("<details>") for line in lines) and "</details>" not in lines
    return [*(["", "</details>"] if is_open else []), *last]


def _subject_lines(subject: ReviewSubject, limit: int) -> Iterator[str]:
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
    """Return the page, with at most ``limit`` changes of each file or user.

    Its content security policy allows one style sheet, by its digest, and nothing else.
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
