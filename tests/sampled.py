"""How much of the same a test tries whose single cases are dear: a part where they are the same at each run.

``make properties`` (``MEMKIT_PROPERTIES=new``) tries all of it, each week, in the tests that are marked ``sampled``.
"""

from __future__ import annotations

import os

ALL = os.environ.get("MEMKIT_PROPERTIES") == "new"
"""Whether this run tries everything."""


def tried(each_week: int, at_each_run: int) -> int:
    """Return how many cases this run tries.

    >>> tried(10, 4) in (10, 4)
    True
    """
    return each_week if ALL else at_each_run
