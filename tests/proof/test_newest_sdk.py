"""Each project passes its tests in an environment of its own with the newest SDK; the scheduled run has time for that.

`make test` runs the same tests with the newest SDK in the environment of memkit itself.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from own_tests import NEWEST_EDITION, passes_its_tests
from ownership import Owned
from rendered import BOTH, Case, cases


@pytest.mark.parametrize("case", cases(BOTH), ids=str)
def test_a_project_passes_its_tests_with_the_newest_sdk(case: Case, own: Callable[[Case, str], Owned]) -> None:
    """Whatever its wire, with the newest versions that its requirements allow."""
    passes_its_tests(own(case, NEWEST_EDITION))
