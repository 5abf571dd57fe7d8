"""Sessions that several instances share through a real Redis: what one wrote another goes on with."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.privacy.journal import ErasureJournal
from memkit.runtime.backends.redis_state import CHECKPOINTS, LEASE, RedisState
from memkit.runtime.loop.journal_file import SessionInUse
from memkit.runtime.memory.log.clone import state_folder
from memkit.runtime.memory.tiers.sessions import session_digest
from tests.backends.servers import free_port, redis_client, running_redis

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
    assert answer["err"].count("is not available") == 1


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


def test_an_erasure_that_the_server_did_not_hear_of_says_so(
    two: tuple[Path, Path], ask: Ask, redis_server: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """A server that falls silent in between is no server with nothing on it; asked again, the erasure ends there."""
    one, _ = two
    ask(one, "Remember that my bicycle is red")
    run(["memory", "search", "bicycle", "--user", "ann", "--store", str(one)])
    erase = ["memory", "erase", "--user", "ann", "--yes", "--store", str(one)]
    process, change = int(redis_client(redis_server).info("server")["process_id"]), ErasureJournal.change

    def silenced(journal: ErasureJournal) -> None:
        change(journal)
        os.kill(process, signal.SIGSTOP)

    monkeypatch.setattr(ErasureJournal, "change", silenced)
    capsys.readouterr()
    try:
        assert run(erase) == 3
    finally:
        os.kill(process, signal.SIGCONT)
    assert "cannot be reached" in capsys.readouterr().err
    monkeypatch.setattr(ErasureJournal, "change", change)

    assert run(erase) == 0

    assert not [key for key in redis_client(redis_server).keys("memkit:*") if ":lock:" not in key]


def test_a_list_of_files_stays_as_long_as_each_of_them(redis_server: str, tmp_path: Path) -> None:
    """An erasure finds by it what is to go, also where checkpoints are kept longer than turns."""
    state = RedisState(redis_server, root=tmp_path, name="x", ttl={"checkpoint": 1000, "recall": 10})
    for name in (f"{CHECKPOINTS}/a.jsonl", "sessions/a.json"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("{}")
        state.push(tmp_path / name, "ann")

    client = redis_client(redis_server)

    assert client.ttl(state._key("of", "ann")) >= client.ttl(f"memkit:x:file:{CHECKPOINTS}/a.jsonl") > 900


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


# ---------------------------------------------------------------- servers that do not serve as one wishes


def test_what_goes_in_the_middle_of_a_turn_costs_nobody_the_turn(
    two: tuple[Path, Path], ask: Ask, redis_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flushed between two steps, it is filled again; shut down between two, that is said once; memory is stored."""
    one, other = two
    pushes = RedisState.push

    def between(step: int, then: Callable[[], Any]) -> None:
        seen: list[Path] = []

        def push(state: RedisState, path: Path, user_id: str) -> None:
            seen.append(path)
            if len(seen) == step:
                then()
            pushes(state, path, user_id)

        monkeypatch.setattr(RedisState, "push", push)

    between(3, redis_client(redis_server).flushall)
    assert ask(one, "Remember that my bicycle is red")["ok"]
    monkeypatch.setattr(RedisState, "push", pushes)
    assert "bicycle" in ask(other, "What did I say first?")["data"]["message"]

    between(3, lambda: redis_client(redis_server).shutdown(nosave=True))
    answer = ask(one, "Remember that my boat is blue")

    assert answer["ok"] and answer["err"].count("is not available") == 1
    assert "boat is blue" in ask(one, "What colour is my boat?")["data"]["message"]


def test_a_server_that_hangs_is_waited_for_once(redis_server: str, tmp_path: Path) -> None:
    """A turn takes many steps, and not one of them after the first waits for an answer that does not come."""
    told: list[str] = []
    state = RedisState(redis_server, root=tmp_path, name="x", note=told.append)
    asked: list[str] = []
    send = state._redis.execute_command
    state._redis.execute_command = lambda *words, **more: (asked.append(words[0]), send(*words, **more))[1]  # type: ignore[method-assign]
    process = int(redis_client(redis_server).info("server")["process_id"])
    file = tmp_path / "sessions" / "a.json"
    file.parent.mkdir()
    file.write_text("{}")
    os.kill(process, signal.SIGSTOP)
    try:
        state.enter("ann", "s")
        for _ in range(20):
            state.push(file, "ann")
    finally:
        os.kill(process, signal.SIGCONT)

    assert (len(asked), len(told)) == (1, 1)
    state._quiet_until = 0.0
    state.push(file, "ann")
    assert redis_client(redis_server).get("memkit:x:file:sessions/a.json") == "{}", "what waited is sent"


def test_a_session_that_another_instance_took_meanwhile_is_not_written_over(redis_server: str, tmp_path: Path) -> None:
    """A lock that was evicted, or outlived, is taken by who comes; the first one is told at its next step."""
    one, other = (RedisState(redis_server, root=tmp_path / name, name="x") for name in ("one", "other"))
    file = tmp_path / "one" / CHECKPOINTS / f"{session_digest('ann', 's')}.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("mine\n")
    one.enter("ann", "s")
    one.push(file, "ann")
    redis_client(redis_server).delete(*redis_client(redis_server).keys("*:lock:*"))
    other.enter("ann", "s")
    file.write_text("mine, later\n")

    with pytest.raises(SessionInUse):
        one.push(file, "ann")

    assert redis_client(redis_server).get(f"memkit:x:file:checkpoints/{file.name}") == "mine\n"
    one.leave("ann", "s")
    with pytest.raises(SessionInUse):
        RedisState(redis_server, root=tmp_path / "third", name="x").enter("ann", "s")


def test_each_thing_stays_as_long_as_its_setting_says(
    two: tuple[Path, Path], ask: Ask, redis_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sessions and turns, a journal, counts and locks: nothing stays for ever."""
    one, _ = two
    for name, value in (("RECALL_TTL", "3d"), ("CHECKPOINT_TTL", "30m"), ("FORGET_MAX_AGE", "50d")):
        monkeypatch.setenv(f"MEMKIT_{name}", value)
    leaves = RedisState.leave
    monkeypatch.setattr(RedisState, "leave", lambda state, *whose: None)  # a process that was killed leaves nothing
    ask(one, "Remember that my bicycle is red")
    monkeypatch.setattr(RedisState, "leave", leaves)
    run(["memory", "search", "bicycle", "--user", "ann", "--store", str(one)])

    client = redis_client(redis_server)
    lasts = {key: client.ttl(key) for key in client.keys("*")}

    longest = {"file:checkpoints": 1800, "file:": 3 * 86400, "of:": 3 * 86400, "lock:": LEASE}
    longest |= dict.fromkeys(("uses:", "last:", "counted"), 50 * 86400)
    kinds = {key: next(kind for kind in longest if key.split(":", 2)[2].startswith(kind)) for key in lasts}
    assert set(kinds.values()) >= {"file:", "of:", "lock:", "uses:", "last:", "counted"}
    for key, seconds in lasts.items():
        assert longest[kinds[key]] * 0.9 < seconds <= longest[kinds[key]], key


def test_plain_commands_on_its_own_keys_are_all_that_is_asked(
    two: tuple[Path, Path], ask: Ask, redis_server: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """A server that lets its user do nothing else, as one without modules or behind rules of access, serves."""
    one, other = two
    plain = "get set del exists expire sadd srem smembers hset hincrby hmget hgetall ping info multi exec hello client"
    allowed = " ".join(f"+{name}" for name in plain.split())
    redis_client(redis_server).execute_command(*f"ACL SETUSER memkit on >let ~memkit:* {allowed}".split())
    monkeypatch.setenv("MEMKIT_BACKENDS_WORKING", redis_server.replace("//", "//memkit:let@"))

    answers = [ask(one, "Remember that my bicycle is red"), ask(other, "What did I say first?")]
    run(["memory", "search", "bicycle", "--user", "ann", "--store", str(one)])
    assert run(["backend", "status", "--store", str(one)]) == 0
    assert "let" not in capsys.readouterr().out.split("@")[0]
    assert run(["memory", "erase", "--user", "ann", "--yes", "--store", str(one)]) == 0

    assert "bicycle" in answers[1]["data"]["message"]
    assert not any("is not available" in one["err"] for one in answers)
    assert "NOPERM" not in "".join(capsys.readouterr())
    assert not any(
        entry["reason"] == "command" and entry["object"] not in ("client|setinfo",)
        for entry in redis_client(redis_server).acl_log()
    )


@pytest.mark.parametrize("rules", ["~memkit:* +get +ping", "~memkit:* +@all -multi", "~other:* +@all"])
def test_a_user_who_may_not_write_is_found_by_status(
    two: tuple[Path, Path], redis_server: str, monkeypatch: pytest.MonkeyPatch, capsys: Any, rules: str
) -> None:
    """Before a turn finds it, and before anything is moved there; no key is left of the attempt."""
    redis_client(redis_server).execute_command(*f"ACL SETUSER reader on >let {rules}".split())
    there = redis_server.replace("//", "//reader:let@")
    base = ["--store", str(two[0]), "--json"]
    assert run(["backend", "status", *base]) == 0
    assert not redis_client(redis_server).keys("*probe*")

    assert run(["backend", "move", "--tier", "working", "--to", there, "--yes", *base]) == 3
    monkeypatch.setenv("MEMKIT_BACKENDS_WORKING", there)
    capsys.readouterr()
    assert run(["backend", "status", *base]) == 1

    (told,) = json.loads(capsys.readouterr().out)["diagnostics"]
    assert (told["code"], "does not let this user write" in told["message"]) == ("backend_unfit", True)


def test_a_server_with_no_room_is_said_and_one_that_drops_things_is_remarked(
    store: Path, tmp_path: Path, ask: Ask, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At ``maxmemory`` a turn goes on; where keys are evicted instead, ``backend status`` says that and stays 0."""
    assert run(["consent", "grant", "--user", "ann", "--store", str(store)]) == 0
    with running_redis(tmp_path, "--maxmemory", "1mb") as url:
        monkeypatch.setenv("MEMKIT_BACKENDS_WORKING", url)
        answer = ask(store, "Remember that my bicycle is red")
        assert answer["ok"] and answer["err"].count("is not available") == 1 and "maxmemory" in answer["err"]
        assert run(["backend", "status", "--store", str(store)]) == 0
    with running_redis(tmp_path) as url:
        monkeypatch.setenv("MEMKIT_BACKENDS_WORKING", url)
        ask(store, "My boat is blue")
        redis_client(url).config_set("maxmemory", "1mb")
        assert ask(store, "What colour is my boat?")["err"].count("is not available") == 1  # it still answers reads
    with running_redis(tmp_path, "--maxmemory", "3mb", "--maxmemory-policy", "allkeys-lru") as url:
        monkeypatch.setenv("MEMKIT_BACKENDS_WORKING", url)
        capsys.readouterr()
        assert run(["backend", "status", "--store", str(store), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert [(one["code"], one["severity"]) for one in found["diagnostics"]] == [("eviction", "warning")]
        client = redis_client(url)
        for number in range(6):
            assert ask(store, f"My boat number {number} is blue")["ok"]
            for filler in range(200):
                client.set(f"filler{number}x{filler}", "x" * 5000)
        assert client.info("stats")["evicted_keys"] > 0
        assert "bicycle is red" in ask(store, "What colour is my bicycle?")["data"]["message"]


def test_a_cluster_is_refused_in_one_line(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is asked of it, by status, by a move and by a chat."""
    assert run(["consent", "grant", "--user", "ann", "--store", str(store)]) == 0
    bus = str(free_port())  # by itself it is 10,000 above the port, where there may be none
    with running_redis(tmp_path, "--cluster-enabled", "yes", "--cluster-port", bus) as url:
        assert run(["backend", "move", "--tier", "working", "--to", url, "--yes", "--store", str(store)]) == 3
        monkeypatch.setenv("MEMKIT_BACKENDS_WORKING", url)
        capsys.readouterr()
        assert run(["chat", "--user", "ann", "--session", "s", "-p", "Hello", "--store", str(store)]) == 3
        err = capsys.readouterr().err
        assert err.count("\n") == 1 and "cluster" in err
        assert run(["backend", "status", "--json", "--store", str(store)]) == 1
        assert json.loads(capsys.readouterr().out)["diagnostics"][0]["code"] == "backend_unfit"


def test_a_wrong_password_is_one_line_that_does_not_show_it(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor does an address that names no server."""
    with running_redis(tmp_path, "--requirepass", "right") as url:
        wrong = url.replace("//", "//:hunter2@")
        assert run(["backend", "move", "--tier", "working", "--to", wrong, "--yes", "--store", str(store)]) == 3
    for to in ("redis://:hunter2@127.0.0.1:1/0", "redis://:hunter2@127.0.0.1:99999/0", "redis://:hunter2@127.0.0.1/x"):
        assert run(["backend", "move", "--tier", "working", "--to", to, "--yes", "--store", str(store)]) in (2, 3)
    err = capsys.readouterr().err
    assert "hunter2" not in err and err.count("\n") == 4


def test_what_is_used_elsewhere_is_not_swept_here(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record that matters little stays where another instance recalled it twice, also after a flush here."""
    one, other = two
    words = ["memory", "add", "The kettle is in the cellar", "--user", "ann", "--importance", "0.1"]
    assert run([*words, "--store", str(one)]) == 0
    shutil.rmtree(other / "archive")
    shutil.copytree(one / "archive", other / "archive")
    for _ in range(2):
        assert run(["memory", "search", "kettle", "--user", "ann", "--store", str(other)]) == 0
    capsys.readouterr()

    assert run(["memory", "sweep", "--dry-run", "--json", "--store", str(one)]) == 0

    assert json.loads(capsys.readouterr().out)["data"]["retired"] == []
