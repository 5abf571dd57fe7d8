"""What the README promises, kept with OpenAI Assistants: the real package against a scripted model.

Each class is a set of tests that every project passes (``memkit_runtime/testing/trial/promises.py``). Where yours is to
do something else, override the test that says otherwise.
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
    """A session goes on in a new process, after a kill too; the main context stays bounded."""


class TestPlanning(promises.Planning):
    """A plan, a proposal that is accepted, a proposal that is rejected."""


class TestFailures(promises.Failures):
    """Tool failure, broken arguments, a model that loops, server 500, time-out, broken stream."""


class TestCompatibleServers(promises.CompatibleServers):
    """What servers get wrong that are compatible more or less."""


class TestStanding(promises.Standing):
    """The project stands alone: only loopback is contacted, and memkit is not needed."""
