"""The promises of the README, tested for LangGraph: the real package against a scripted model.

Each class is a set of tests that every project passes (``memkit_runtime/testing/trial/promises.py``). If your project
is to behave differently, override the test in question.
"""

from __future__ import annotations

from memkit_runtime.testing.trial import promises


class TestMemory(promises.Memory):
    """A fact is stored by a tool call, paged out, recalled in a new process and cited; it stays fenced."""


class TestConsent(promises.Consent):
    """Without consent nothing is stored."""


class TestPolicies(promises.Policies):
    """A policy stops a call before its body runs."""


class TestTerminal(promises.Terminal):
    """A person is asked for consent, and before a call that a policy holds back."""


class TestSessions(promises.Sessions):
    """A session continues in a new process, even after a kill; the main context stays bounded."""


class TestPlanning(promises.Planning):
    """A plan, an accepted proposal, a rejected proposal."""


class TestFailures(promises.Failures):
    """Tool failure, broken arguments, a looping model, server error 500, time-out, broken stream."""


class TestCompatibleServers(promises.CompatibleServers):
    """Mistakes of more or less compatible servers."""


class TestStanding(promises.Standing):
    """The project stands alone: only loopback is contacted, and memkit is not needed."""
