"""Time a turn of a chat without its model: in small and large stores, at the beginning and the end of a long session.

A turn is a question that the model answers at once, so that only the loop is timed: consent, constraints, warnings,
policies, the prompt, the account, turns, journal and the session's file. Syncs are counted, and their time subtracted.
The peer is a LangGraph agent with its SQLite checkpointer and store, which searches the store and answers as much.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from corpus import USER, Vocabulary, write_store
from table import print_rows

from memkit.agent import Parts, ReferenceAgent, Setting
from memkit.runtime.loop.interface import Completion, Message, ToolSpec
from memkit.store.trust import VARIABLE, Trust
from memkit.use_cases.open_chat import open_chat
from memkit.use_cases.store import make_store
from memkit.workspace import open_workspace

WARM = 5
MOST = 12
"""The most milliseconds that a turn may take besides its model, including recall."""


class AtOnce:
    """A model that answers immediately."""

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return the answer."""
        return Completion("That is noted, and we go on from there.")


class Syncs:
    """Counts syncs, and how long they take."""

    def __init__(self) -> None:
        self.count, self.seconds = 0, 0.0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count during the block."""
        real = os.fsync

        def fsync(descriptor: Any) -> None:
            started = time.perf_counter()
            real(descriptor)
            self.count += 1
            self.seconds += time.perf_counter() - started

        setattr(os, "fsync", fsync)  # noqa: B010 - assigned, it would have to have the type of what it replaces
        try:
            yield
        finally:
            setattr(os, "fsync", real)  # noqa: B010 - the same


def opened(root: Path, records: int) -> ReferenceAgent:
    """Return an agent over a store of ``records`` records, whose user agreed to be remembered."""
    make_store(root)
    write_store(root, records)

    def at_once(parts: Parts) -> Parts:
        return Parts(**{**vars(parts), "model": AtOnce()})

    # Records of untrusted writers would be found but not shown.
    os.environ[VARIABLE] = Trust(root).demands().digest
    agent = open_chat(open_workspace(root), Setting(USER, "bench"), adapt=at_once)
    agent.consent.record(True)
    return agent


def about_nothing(number: int) -> str:
    """Return a question that shares no word with any store here."""
    return f"What did I say about the harbour, the boat and number {number}?"


class TurnCost(NamedTuple):
    """The cost of a turn, or the medians of many."""

    milliseconds: float
    """Wall time, without its syncs."""
    syncs: float
    processor: float
    """Processor milliseconds of this process, which other load on the machine affects less."""


def turn_cost(step: Callable[[str], object], said: str) -> TurnCost:
    """Return the cost of one turn."""
    syncs = Syncs()
    started, used = time.perf_counter(), time.process_time()
    with syncs.counted():
        step(said)
    used = time.process_time() - used
    return TurnCost((time.perf_counter() - started - syncs.seconds) * 1e3, syncs.count, used * 1e3)


def median_turn(
    step: Callable[[str], object], turns: int, first: int = 0, say: Callable[[int], str] = about_nothing
) -> TurnCost:
    """Return the medians of ``turns`` turns."""
    found = [turn_cost(step, say(first + number)) for number in range(turns)]
    return TurnCost(*map(statistics.median, zip(*found, strict=True)))


def peer(root: Path, records: int) -> Callable[[str], object] | None:
    """Return a turn of a LangGraph agent with SQLite checkpoints and a SQLite store; None if it is not installed."""
    try:
        import sqlite3

        from langchain_core.messages import AIMessage, HumanMessage
        from langgraph.checkpoint.sqlite import SqliteSaver
        from langgraph.graph import START, MessagesState, StateGraph
        from langgraph.store.sqlite import SqliteStore
    except ImportError:
        return None
    saver = SqliteSaver(sqlite3.connect(root / "checkpoints.sqlite", check_same_thread=False))
    store = SqliteStore(sqlite3.connect(root / "store.sqlite", check_same_thread=False, isolation_level=None))
    store.setup()
    for number in range(records):
        store.put((USER,), str(number), {"text": f"record {number}"})

    def answer(state: Any) -> dict[str, Any]:
        store.search((USER,), filter={"text": "constraint"}, limit=5)
        return {"messages": [AIMessage("That is noted, and we go on from there.")]}

    graph: Any = (
        StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").compile(checkpointer=saver)
    )
    place = {"configurable": {"thread_id": "bench"}}
    return lambda text: graph.invoke({"messages": [HumanMessage(text)]}, place)


def by_size(small: int, large: int, turns: int) -> Iterator[dict[str, Any]]:
    """Yield the overhead of a turn in a large store against a small one, its syncs, and the peer's."""
    with tempfile.TemporaryDirectory() as folder:
        one, other = opened(Path(folder) / "small", small), opened(Path(folder) / "large", large)
        for agent in (one, other):
            median_turn(agent.step, WARM)
        low, high = median_turn(one.step, turns, WARM), median_turn(other.step, turns, WARM)
        words = Vocabulary()
        asked = median_turn(other.step, turns, WARM, lambda number: f"{words.natural_query()}?")
        one.close()
        other.close()
        theirs = peer(Path(folder), large)
        taken = median_turn(theirs, turns) if theirs is not None else None
    for clock, named in (("milliseconds", "ms"), ("processor", "ms of the processor")):
        ours, small_one, more = (getattr(cost, clock) for cost in (high, low, asked))
        yield _row(f"one turn without the model, {large:,} records against {small:,}, {named}", ours, small_one)
        yield _row(f"the same, {large:,} records, asked for words that they hold, against 12, {named}", more, MOST)
        their = getattr(taken, clock) if taken is not None else None
        yield _row(f"the same, {large:,} records, against LangGraph with SQLite, {named}", ours, their)
    yield _row("syncs of a turn without tool calls, against the most that are allowed", high.syncs, 3)


def by_length(turns: int, window: int) -> Iterator[dict[str, Any]]:
    """Yield the comparison of a turn at the end of a long session with one near its beginning, in time and memory."""
    with tempfile.TemporaryDirectory() as folder:
        agent = opened(Path(folder) / "store", 1_000)
        median_turn(agent.step, 100 - window)
        early = median_turn(agent.step, window).milliseconds
        _talk(agent, turns // 2 - 100 - window)
        held = _left_behind(agent, window)
        _talk(agent, turns - turns // 2 - 2 * window)
        late = median_turn(agent.step, window).milliseconds
        grown = _left_behind(agent, window)
        agent.close()
    yield _row(f"turn {turns:,} of a session against turn 100, ms", late, early)
    compared = f"at turn {turns:,} against {turns // 2:,}"
    yield _row(f"memory that {window} turns leave behind, {compared}, KB", grown / 1e3, held / 1e3)


def _talk(agent: ReferenceAgent, turns: int) -> None:
    for number in range(turns):
        agent.step(f"Remark {number}: the tide came in at noon, and the boat went out.")


def _left_behind(agent: ReferenceAgent, turns: int) -> int:
    """Return the bytes that some turns leave behind; what they look into anew, such as the newest turns, counts."""
    tracemalloc.start()
    median_turn(agent.step, turns)
    left = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return left


def _row(case: str, ours: float, theirs: float | None) -> dict[str, Any]:
    ratio = round(ours / theirs, 2) if theirs else None
    return {"case": case, "ours": round(ours, 2), "peer": theirs and round(theirs, 2), "ratio": ratio}


def main() -> None:
    """Print the rows as a table, or with --json as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--records", type=int, default=100_000, help="records of the large store (100,000)")
    parser.add_argument("--turns", type=int, default=10_000, help="turns of the long session (10,000)")
    parser.add_argument("--window", type=int, default=50, help="turns of which a median is taken (50)")
    options = parser.parse_args()
    rows = [*by_size(1_000, options.records, options.window), *by_length(options.turns, options.window)]
    print_rows(rows, as_json=options.json)


if __name__ == "__main__":
    main()
