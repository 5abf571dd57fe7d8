"""A session's prompt goes on in a later process, and no secret of it reaches the disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.runtime.memory.gate.secrets import mask
from memkit.runtime.memory.record.lines import NoSealer
from memkit.runtime.memory.tiers.budget import extend_summary
from memkit.runtime.memory.tiers.context import MainContext
from memkit.runtime.memory.tiers.sessions import Kept, SessionFile, held_sessions

KEY = "AKIA" + "QXJ7NZ4WLP2KD8RT"


def test_a_session_is_put_back_as_it_was(tmp_path: Path) -> None:
    """Messages and books come back; another user's session of the same name stays apart."""
    main = MainContext(max_tokens=500)
    main.append({"role": "user", "content": "I live in Paris"})
    SessionFile(tmp_path, "ada", "../monday").save(main, Kept(3, ("a", "b")))

    later = MainContext(max_tokens=500)
    kept = SessionFile(tmp_path, "ada", "../monday").load(later)

    assert kept == Kept(3, ("a", "b"))
    assert [message["content"] for message in later.messages] == ["I live in Paris"]
    assert SessionFile(tmp_path, "bob", "../monday").load(MainContext(max_tokens=500)) is None
    assert [path.parent for path in tmp_path.rglob("*.json")] == [tmp_path]


def test_no_secret_reaches_the_file(tmp_path: Path) -> None:
    """What a gate would refuse is masked in messages and in the arguments of tool calls."""
    main = MainContext(max_tokens=500)
    main.append({"role": "user", "content": f"the aws key is {KEY}"})

    SessionFile(tmp_path, "ada", "s").save(main, Kept(1))

    assert KEY not in next(tmp_path.glob("*.json")).read_text(encoding="utf-8")
    assert KEY in str(main.messages)


VALUES = (KEY, "hunter2xQ9", "Tr0ub4dor&3")
LINES = (
    "the weather was fine", "we talked of boats", "the aws key is", "my password is", "and the passphrase:", "root",
    *VALUES, f"the key is {KEY}", "the password is hunter2xQ9, do not tell",
)  # fmt: skip


@given(st.lists(st.lists(st.sampled_from(LINES), max_size=3), max_size=12), st.integers(30, 90))
def test_a_summary_that_goes_on_hides_what_a_new_one_would(
    tmp_path_factory: pytest.TempPathFactory, turns: list[list[str]], tokens: int
) -> None:
    """Whatever lines it gains and loses between two turns, no value stays that is masked when all of it is searched."""
    main = MainContext(max_tokens=500)
    session = SessionFile(tmp_path_factory.mktemp("sessions"), "ada", "s")
    for number, said in enumerate(turns):
        messages = [{"role": "user", "content": text} for text in said]
        main.summary = extend_summary(main.summary, messages, tokens, main.count)
        session.save(main, Kept(number))

        later = MainContext(max_tokens=500)
        SessionFile(session.path.parent, "ada", "s").load(later)
        hidden = mask(main.summary)
        assert {one for one in VALUES if one in later.summary} <= {one for one in VALUES if one in hidden}
        assert len(later.summary.split("\n")) == len(hidden.split("\n"))


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"turns": "x", "known": []}',
        '{"turns": 1e999, "known": []}',
        '{"known": []}',
        '{"turns": 1, "known": [[]]}',
        '{"turns": 1, "known": [], "name": 5}',
        '{"turns": 1, "known": [], "working": "move house"}',
        '{"turns": 1, "known": [], "summary": null}',
        '{"turns": 1, "known": [], "messages": null}',
        '{"turns": 1, "known": [], "messages": ["Hello"]}',
        '{"turns": 1, "known": [], "messages": [{"role": "user", "content": {}}]}',
        '{"turns": 1, "known": [], "messages": [{"role": "assistant", "tool_calls": ["send"]}]}',
    ],
)
def test_a_damaged_file_is_no_session(content: str, tmp_path: Path) -> None:
    """Rubbish is passed over: recall memory still has the turns."""
    file = SessionFile(tmp_path, "ada", "s")
    file.save(None, Kept(1))
    next(tmp_path.glob("*.json")).write_text(content, encoding="utf-8")

    assert file.load(MainContext(max_tokens=500)) is None


def test_a_copy_of_a_file_is_listed_beside_it(tmp_path: Path) -> None:
    """Somebody may have kept the file of a session aside, where it was another one."""
    file = SessionFile(tmp_path, "ada", "s")
    file.save(None, Kept(1))
    (path,) = tmp_path.glob("*.json")
    (tmp_path / "kept-aside.json").write_bytes(path.read_bytes())
    file.save(None, Kept(2))

    held = held_sessions(tmp_path, "ada", NoSealer())

    assert sorted((session, content["turns"]) for session, content in held) == [("s", 1), ("s", 2)]


def test_a_forgotten_session_is_off_the_disk(tmp_path: Path) -> None:
    """Forgetting deletes the file, also twice."""
    file = SessionFile(tmp_path, "ada", "s")
    file.save(None, Kept(1))

    file.forget()
    file.forget()

    assert not list(tmp_path.iterdir())
