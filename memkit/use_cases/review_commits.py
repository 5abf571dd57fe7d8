"""Review what changed in a store between two commits: meaning, verdicts, lint, and what to look at first."""

from __future__ import annotations

from pathlib import Path

from memkit.review.assessment import assess, changed_verdicts
from memkit.review.difference import changed_paths, difference
from memkit.review.interface import Review
from memkit.review.lint_delta import lint_delta
from memkit.review.sides import sides_of
from memkit.use_cases.compare_commits import opener


def review_commits(root: Path, span: str | None = None) -> Review:
    """Return the review of what changed over ``span`` in the store at ``root``; the work tree stays as it is.

    Raises:
        EnvironmentFault: The store lies in no repository, or a file of a commit was not fetched.
        UsageError: The span cannot be read, or names no commit.
    """
    sides = sides_of(root, span)
    before, after = sides.before, sides.after
    found = difference(sides, opener(root))
    changed = changed_paths(before, after)
    verdicts = changed_verdicts(before, after, changed)
    renamed = {each.old_path: each.path for each in found.subjects if each.old_path and each.path}
    lint = lint_delta(before, after, changed, renamed)
    return Review(found, verdicts, lint, assess(found, verdicts, lint))
