"""Ask a vendor's model until it answers or there is no point in asking any more, and count what that cost."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from time import monotonic, sleep

from memkit.llm.arriving import Arriving, Delta
from memkit.llm.faults import clear_faults, malformed
from memkit.llm.patience import Patience
from memkit.llm.unserved import Unserved
from memkit.llm.vendor import Vendor
from memkit.llm.waiting import timed
from memkit.runtime.loop.interface import Completion, Message
from memkit.runtime.memory.tiers.budget import counter

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0
"""Seconds before the first retry, doubled with each, and at most; half of each is left to chance (AWS Architecture
Blog, "Exponential Backoff And Jitter", 2015)."""

Say = Callable[[str], None]
Ask = Callable[[], Iterator[Delta]]


def nobody(text: str) -> None:
    """Take a part of an answer that nobody waits for."""


@dataclass(frozen=True)
class Inquiry:
    """Asks one model of one vendor."""

    vendor: Vendor
    model: str
    patience: Patience

    def answer(self, ask: Ask, messages: Sequence[Message], say: Say | None = None) -> Completion:
        """Return the answer that ``ask()`` brings in parts, each told to ``say`` as it arrives.

        A request that failed for a passing reason is made again, and its answer begins anew, as long as nothing of it
        was said.

        Raises:
            Unserved: The model did not answer; what it had said until then was told to ``say``.
        """
        begun, spent, requests = monotonic(), Counter[str](), 0
        while True:
            requests += 1
            arriving = Arriving(say or nobody)
            try:
                self._listen(ask, arriving, stream=say is not None)
                return arriving.completion(self._usage(spent, arriving, messages, requests))
            except Unserved as fault:
                spent.update(arriving.usage)
                fault.usage = {**spent, "retries": requests - 1}
                pause = self._pause(fault, requests, monotonic() - begun)
                if arriving.said or pause is None:
                    raise self._told(fault, requests) from fault.__cause__
            sleep(pause)

    def _listen(self, ask: Ask, arriving: Arriving, *, stream: bool) -> None:
        with closing(self._parts(ask, stream=stream)) as parts:
            for part in parts:
                arriving.add(part)
                if arriving.full:
                    return
        if arriving.empty:
            raise malformed(self.vendor, "nothing arrived")

    def _parts(self, ask: Ask, *, stream: bool) -> Generator[Delta]:
        with clear_faults(self.vendor, self.model), closing(timed(ask, self.patience, stream=stream)) as parts:
            yield from parts

    def _pause(self, fault: Unserved, requests: int, passed: float) -> float | None:
        """Return how long to wait before asking again, or None where that is not worth it."""
        if not fault.again or requests > self.patience.retries:
            return None
        most = min(FIRST_PAUSE * 2 ** (requests - 1), LONGEST_PAUSE)
        pause = fault.wait if fault.wait is not None else most * random.uniform(0.5, 1.0)
        return pause if passed + pause <= self.patience.retry_within else None

    def _told(self, fault: Unserved, requests: int) -> Unserved:
        """Return the fault with how often was asked, and how long the server wants to be left alone."""
        more = f" Asked {requests} times." if requests > 1 else ""
        more += f" It wants to be asked again in {fault.wait:.0f} s." if fault.wait and fault.again else ""
        told = Unserved(f"{fault}{more}", again=fault.again, wait=fault.wait)
        told.usage = fault.usage
        return told

    def _usage(
        self, spent: Counter[str], arriving: Arriving, messages: Sequence[Message], requests: int
    ) -> dict[str, int]:
        """Return the tokens of all requests; what the server does not say is estimated, and that is said."""
        usage = dict(arriving.usage)
        if "input" not in usage or "output" not in usage:
            count = counter()
            asked = "\n".join(f"{one.get('content') or ''}{one.get('tool_calls') or ''}" for one in messages)
            usage = {"input": count(asked), "output": count(arriving.written), **usage, "estimated": 1}
        retried = {"retries": requests - 1} if requests > 1 else {}
        return {name: count + spent[name] for name, count in usage.items()} | retried
