"""A move is proven by what arrived: byte for byte, in the order that it was sent, and nothing else."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.runtime.backends import moving
from memkit.runtime.backends.moving import ChainLine, FilesSink

LINES = st.lists(
    st.tuples(
        st.sampled_from(["w1", "w2"]),
        st.sampled_from(["ann", "Zoë ☕"]),
        st.sampled_from(["2026-01-31T23:59:59.000001Z", "2026-02-01T00:00:00+02:00", "2026-02-01"]),
        st.text(max_size=40),
    ),
    min_size=1,
    max_size=20,
)


def taken(folder: Path, lines: list[tuple[str, str, str, str]]) -> FilesSink:
    """Return a sink that took lines."""
    sink = FilesSink(folder)
    for writer, user, at, text in lines:
        data = {"user_id": user, "created_at": at, "text": text}
        sink.take(ChainLine(writer, user, False, json.dumps(data).encode() + b"\n", data))
    sink.flush()
    return sink


@given(LINES, st.integers(1, 200))
def test_what_was_taken_stands_whatever_is_read_at_once(lines: list[tuple[str, str, str, str]], at_once: int) -> None:
    """Chunks that end within a line prove the same; each line is in the month of its chain, in its order."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patched:
        patched.setattr(moving, "READ_AT_ONCE", at_once)
        folder = Path(name) / "new"
        assert taken(folder, lines).stands()

        kept = [json.loads(line) for path in sorted(folder.glob("*/*.jsonl")) for line in path.open()]
        for user in ("ann", "Zoë ☕"):
            for writer in ("w1", "w2"):
                sent = [text for one, whose, _, text in lines if (one, whose) == (writer, user)]
                paths = sorted(folder.glob(f"*/{writer}.jsonl"))
                stands = [json.loads(line) for path in paths for line in path.open()]
                assert [one["text"] for one in stands if one["user_id"] == user] == sent
        assert len(kept) == len(lines)
        assert {path.parent.name for path in folder.glob("*/*")} <= {"2026-01", "2026-02"}


@pytest.mark.parametrize(
    "harm",
    [
        lambda path: path.write_bytes(path.read_bytes().replace(b"espresso", b"expresso")),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(b"".join(reversed(path.read_bytes().splitlines(keepends=True)))),
        lambda path: path.write_bytes(path.read_bytes() + b"{}\n"),
        lambda path: path.with_name("other.jsonl").write_bytes(b"{}\n"),
        lambda path: path.unlink(),
    ],
    ids=["a letter", "the end", "the order", "a line more", "a shard more", "a shard less"],
)
def test_what_arrived_otherwise_is_seen(harm: Callable[[Path], object], tmp_path: Path) -> None:
    """Any byte that is not as it was sent fails the proof."""
    at = "2026-01-31T23:59:59.000001Z"
    sink = taken(tmp_path / "new", [("w1", "ann", at, "Ann prefers espresso"), ("w1", "ann", at, "Ann has a cat")])
    assert sink.stands()

    harm(tmp_path / "new" / "2026-01" / "w1.jsonl")

    assert not sink.stands()
