"""Let a text of a policy in only if it passes its own tests."""

from __future__ import annotations

from memkit.errors import NegativeAnswer
from memkit.runtime.guard.proof import prove
from memkit.store.yaml import Document


def accept_policy(document: Document) -> None:
    """Return if the policy in ``document``, which is valid, passes every test that it carries.

    Raises:
        NegativeAnswer: It fails one; the message says which and what it decided.
    """
    for result in prove(document.data).results:
        if not result.passed:
            expected, decided = result.expected, result.verdict.decision
            raise NegativeAnswer(
                f"{document.path} fails its own test {result.name!r} today: expected {expected}, decided {decided}."
            )
