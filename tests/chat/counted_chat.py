"""Run memkit with a clock and ids that are counted, so that the same talk has the same tokens each time."""

from __future__ import annotations

import functools
import itertools
import os
import random
import sys
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

os.urandom = random.Random(os.environ["SCENE"]).randbytes  # the marks of fences, whose letters are tokens

from memkit import workspace  # noqa: E402
from memkit.cli.main import main  # noqa: E402
from memkit.runtime.host import sessions  # noqa: E402
from memkit.runtime.memory.record.lines import CHANCE_BITS, IdSource, encode  # noqa: E402

numbers = itertools.count()
begin = datetime(2026, 3, 2, 9, tzinfo=UTC) + timedelta(minutes=10 * int(os.environ["SCENE"]))


def clock() -> datetime:
    """Return a moment later than every one before it."""
    return begin + timedelta(milliseconds=next(numbers))


def new_id(_source: IdSource) -> str:
    """Return an id greater than every one before it."""
    return encode(int(clock().timestamp() * 1000) << CHANCE_BITS)


sessions.time = SimpleNamespace(time_ns=lambda: int(clock().timestamp() * 1000) * 1_000_000)  # type: ignore[assignment]
IdSource.__call__ = new_id  # type: ignore[method-assign]
workspace.open_workspace = functools.partial(workspace.open_workspace, clock=clock)
sys.argv[0] = "memkit"
main()
