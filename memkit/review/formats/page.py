"""A review as one page that needs nothing else: no script, no font, no picture and no request."""

from __future__ import annotations

import base64
from hashlib import sha256
from pathlib import Path

from memkit import __version__
from memkit.review.formats.sentences import parts
from memkit.review.formats.text import bounded, end_name, lint_summary, subject_title, summary, verdict_call
from memkit.review.review import Review
from memkit.terminal import counted, harmless, one_line

TITLES = {"stop": "Stop and answer", "look": "Look twice", "clear": "Clear"}

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
        title=TITLES[found.assessment.level],
        subjects=[(each, subject_title(each), *bounded(each.changes, limit)) for each in found.difference.subjects],
        summary=summary(found.difference),
        lint_summary=lint_summary(found.lint),
        limit=limit,
        counted=counted,
        version=__version__,
        style=harmless(style),
        digest=base64.b64encode(sha256(harmless(style).encode()).digest()).decode("ascii"),
    )
