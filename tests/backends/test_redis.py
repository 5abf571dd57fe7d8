"""Sessions that several instances share through a real Redis: what one wrote another goes on with."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.runtime.backends.redis_state import LEASE, RedisState
from memkit.runtime.loop.journal_file import SessionInUse
from memkit.runtime.memory.log.clone import state_folder
from tests.backends.servers import redis_client, running_redis

pytest.importorskip("redis")


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[str]:
    """Start a server on a free port and return its URL; one that the test took away is no matter."""
    with running_redis(tmp_path) as url:
        yield url


@pytest.fixture
def two(store: Path, tmp_path: Path, redis_server: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Return two instances of one store."""
    monkeypatch.setenv("MEMKIT_BACKENDS_WORKING", redis_server)
    assert run(["consent", "grant", "--user", "ann", "--store", str(store)]) == 0
    return store, shutil.copytree(store, tmp_path / "other", symlinks=True)


Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    """Return a function that says something in a session on an instance."""

    def say(root: Path, text: str, session: str = "s1") -> dict[str, Any]:
        capsys.readouterr()
        run(["chat", "--user", "ann", "--session", session, "-p", text, "--json", "--store", str(root)])
        out, err = capsys.readouterr()
        return json.loads(out) | {"err": err}

    return say


def test_a_session_goes_on_where_it_stopped_on_another_instance(
    two: tuple[Path, Path], ask: Ask, redis_server: str
) -> None:
    """Turns, messages and the account of the session came along, each with its time to live."""
    one, other = two
    ask(one, "My bicycle is red")

    answer = ask(other, "What did I say first?")

    assert "My bicycle is red" in answer["data"]["message"]
    assert answer["data"]["context_usage"]["tiers"]["messages"] > 0
    keys = redis_client(redis_server).keys("memkit:*")
    assert {key.split(":")[2] for key in keys} >= {"file", "of"}
    assert all(0 < redis_client(redis_server).ttl(key) <= 7 * 86400 for key in keys if ":file:" in key)
    assert not any("ann" in key for key in keys if ":file:" not in key)


def test_a_server_that_was_flushed_is_filled_again(two: tuple[Path, Path], ask: Ask, redis_server: str) -> None:
    """The instance that has the session goes on with it, and the other one finds it afterwards."""
    one, other = two
    ask(one, "My bicycle is red")
    redis_client(redis_server).flushall()

    assert ask(one, "It has two wheels")["ok"]

    assert "My bicycle is red" in ask(other, "What did I say first?")["data"]["message"]


def test_a_server_that_is_gone_is_said_once_and_the_turn_goes_on(
    two: tuple[Path, Path], ask: Ask, redis_server: str
) -> None:
    """What the user said is answered and kept on this machine."""
    one, _ = two
    ask(one, "My bicycle is red")
    redis_client(redis_server).shutdown(nosave=True)

    answer = ask(one, "What did I say first?")

    assert answer["ok"] and "My bicycle is red" in answer["data"]["message"]
    assert answer["err"].count("does not serve") == 1


def test_two_instances_do_not_write_in_one_session_at_once(redis_server: str, tmp_path: Path) -> None:
    """The one that wrote last has it for a while; who leaves lets others in."""
    one, other = (RedisState(redis_server, root=tmp_path / name, name="x") for name in ("one", "other"))
    one.enter("ann", "s")
    with pytest.raises(SessionInUse):
        other.enter("ann", "s")
    other.enter("ann", "another")
    assert 0 < redis_client(redis_server).ttl(next(iter(redis_client(redis_server).keys("*lock*")))) <= LEASE

    one.leave("ann", "s")

    other.enter("ann", "s")


def test_uses_are_counted_over_all_instances(two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """A record that was recalled here and there was recalled twice."""
    one, other = two
    assert run(["memory", "add", "Ann prefers espresso", "--user", "ann", "--store", str(one)]) == 0
    shutil.rmtree(other / "archive")
    shutil.copytree(one / "archive", other / "archive")
    for root in two:
        assert run(["memory", "search", "espresso", "--user", "ann", "--store", str(root)]) == 0
    capsys.readouterr()

    run(["memory", "stats", "--user", "ann", "--store", str(one)])

    assert capsys.readouterr().out.split()[-1] == "2"


def test_an_erasure_leaves_nothing_there(
    two: tuple[Path, Path], ask: Ask, redis_server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also what only another instance wrote."""
    one, other = two
    ask(one, "My bicycle is red")
    ask(other, "My boat is blue", "s2")

    run(["memory", "erase", "--user", "ann", "--yes", "--store", str(one)])

    assert "sessions in redis" in capsys.readouterr().out
    assert not [key for key in redis_client(redis_server).keys("memkit:*") if ":lock:" not in key]
    assert not any(
        "boat" in path.read_text("utf-8", "replace") for path in state_folder(one).rglob("*") if path.is_file()
    )


def test_a_server_is_named_by_command(
    store: Path, redis_server: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Move, status, and the way back; one that is away is no place to move to."""
    base = ["--store", str(store)]
    assert run(["backend", "move", "--tier", "working", "--to", redis_server, "--yes", *base]) == 0
    capsys.readouterr()
    assert run(["backend", "status", "--json", *base]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["working"] == {"kind": "redis", "url": redis_server}
    redis_client(redis_server).shutdown(nosave=True)
    assert run(["backend", "status", "--json", *base]) == 1
    assert json.loads(capsys.readouterr().out)["diagnostics"][0]["code"] == "backend_away"
    assert run(["backend", "move", "--tier", "working", "--to", "redis://127.0.0.1:1/0", "--yes", *base]) == 3
    assert run(["backend", "move", "--tier", "working", "--to", "postgresql://h/x", "--yes", *base]) == 2
