"""Bugs of public trackers, shown on the pinned versions: the thread says what is expected, the cell what is seen."""

from __future__ import annotations

from functools import partial

from closure.trial import Case, Suite, Trial, Verdict

BUGS = {
    "openai-agents-4729": ("openai-agents", "https://github.com/openai/openai-agents-python/issues/4729",
                           "An upgrade to AdvancedSQLiteSession keeps the conversation that was there."),
    "openai-agents-4939": ("openai-agents", "https://github.com/openai/openai-agents-python/issues/4939",
                           "A pop gives the newest valid item, also behind one that is no object."),
    "langgraph-8835": ("langgraph-memory", "https://github.com/langchain-ai/langgraph/issues/8835",
                       "Who changes what a read gave changes nothing in the store."),
    "langgraph-8214": ("langgraph-memory", "https://github.com/langchain-ai/langgraph/issues/8214",
                       "A value that was replaced without an index is not found by the words of the old one."),
    "mem0-6512": ("mem0", "https://github.com/mem0ai/mem0/issues/6512",
                  "After everything of a user was deleted, the history holds none of its texts."),
}  # fmt: skip


def shown(issue: str, thread: str, trial: Trial) -> Verdict:
    """Let the system's adapter do what the thread describes."""
    with trial.open() as subject:
        seen = subject.call("reproduces", issue=issue.rpartition("-")[2])
    return Verdict(not seen, f"{seen or 'not seen in this version'} ({thread})")


SUITE = Suite(
    "known-bugs",
    "What users reported in public, shown on the pinned versions. ✗ means that it can be seen here.",
    tuple(
        Case(issue, rule, partial(shown, issue, thread), only=frozenset({system}))
        for issue, (system, thread, rule) in BUGS.items()
    ),
)
