"""Each skill alone gives a project that passes all of its tests; the scheduled run has time for that.

Every run of memkit's own tests does it for the tests that depend on the skill.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from own_tests import NEWEST_EDITION, passes_its_tests
from ownership import Owned
from rendered import Case, cases

from memkit.generate.content import WIRED


@pytest.mark.parametrize("case", cases(*WIRED), ids=str)
def test_each_skill_alone_gives_a_project_that_passes(case: Case, own: Callable[[Case, str], Owned]) -> None:
    """With fewer tools too; what starts processes of its own is the same with both and was run there."""
    passes_its_tests(own(case, NEWEST_EDITION), "-m", "not process")
