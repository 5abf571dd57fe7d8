"""Write the page of the day on which a store outgrows its machine, and comes back.

``python -m tests.written.moving_day`` plays it with real servers and rewrites ``docs/moving-day.md``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pexpect

from memkit.workspace import open_workspace
from tests.backends.servers import ROLE, PostgresOfOurs, running_redis
from tests.forked import program
from tests.serving.clients import call

from . import CHECKOUT
from .one_day import CLEAN, MASKED, Day, at_home, block, environment

HEAD = """# Moving day: from files to a server and back

A store in files with a history moves to PostgreSQL while Ann talks; two instances of `memkit serve` serve three users
under load; one of them and then the database are killed with signal 9; Bob is erased; and in the evening the store
moves back to files. It then holds what one process on one machine would have written. To set this up, see
[When a team outgrows one machine](back-ends.md).

This page is written from a run with real servers (`python -m tests.written.moving_day`), and a test checks that a run
still shows it. `…` stands for ids, times and places.
"""
TOLD = """Each of {users} clients offers {facts} facts, alternating between the instances, and asks the other one
for each at once. After a third of them the first instance is killed, after two thirds the database, which is
restarted. A client that gets no answer checks whether the fact is there, and offers it again if it is not.
"""
USERS = ("ann", "bob", "cyd")
THINGS = (
    "lantern", "compass", "violin", "telescope", "kettle", "hammock", "typewriter", "saddle", "chisel", "globe",
    "trumpet", "anvil",
)  # fmt: skip
"""Each user tells of one after the other."""
TRIES = 60
"""So often a client asks again, for as long as a server may take to come back."""
OWN = ("id", "created_at", "at", "salt", "link", "session_id", "turn_id", "valid_from")
"""What tells two writers of the same apart."""

Offer = Callable[[str, str], None]


def play(folder: Path) -> str:
    """Play the day in ``folder``, whose path has to be short, and return its page."""
    with at_home(folder), running_redis(folder) as redis:
        server = PostgresOfOurs(folder)
        try:
            day = Day(folder, HEAD)
            os.environ |= {"MEMORY_URL": server.url, "SESSIONS_URL": redis}
            _morning(day)
            _noon(day, server)
            _afternoon(day, server)
            _evening(day)
            _compared(day)
        finally:
            server.end()
    told = "\n".join(day.page).replace(redis, "redis://…")
    return MASKED.sub("…", told.replace(str(folder), "…"))


def _morning(day: Day) -> None:
    day.store.mkdir()
    day.memkit("init", ".", shown=False)
    for user in USERS:
        day.memkit("consent", "grant", "--user", user, shown=False)
    day.say("## Morning: a store in files\n")
    day.memkit("memory", "add", "Ann prefers espresso", "--user", "ann")
    day.memkit("memory", "add", "The office opens at nine", "--user", "bob", "--scope", "shared", shown=False)
    lives = day.memkit("memory", "add", "Cyd lives in Lisbon", "--user", "cyd", shown=False).split()[-1]
    day.memkit("memory", "supersede", lives, "Cyd lives in Porto", "--user", "cyd", shown=False)
    day.memkit("core", "set", "human", "Name: Cyd", "--user", "cyd", shown=False)
    day.memkit("commit", shown=False)
    day.memkit("backend", "status")
    shutil.copytree(day.store, day.folder / "alone", symlinks=True)


def _noon(day: Day, server: PostgresOfOurs) -> None:
    day.say("## Noon: it moves while Ann talks\n")
    day.say("The owner of the database creates the tables. Variables hold the addresses; git never sees one.\n")
    day.memkit("backend", "migrate", "--url", server.owner, "--role", ROLE)
    day.say("Ann's chat was open before the move and continues after it:\n")
    with _chat(day.store) as talk:
        told = [talk("Remember that my kayak is green.")]
        moved = day.memkit("backend", "move", "--to", "$MEMORY_URL", "--yes", shown=False)
        day.memkit("backend", "move", "--tier", "working", "--to", "$SESSIONS_URL", "--yes", shown=False)
        told += [f"(in another terminal)\n$ memkit backend move --to '$MEMORY_URL' --yes\n{moved}"]
        told += [talk("Remember that my cat is grey."), talk("What colour is my kayak?")]
    day.page.append(block("\n".join(["$ memkit chat --user ann", *told])))
    day.memkit("backend", "status")


def _afternoon(day: Day, server: PostgresOfOurs) -> None:
    day.say("## Afternoon: two instances, three users, and two deaths\n")
    day.memkit("commit", shown=False)
    clones = [day.folder / name for name in ("one", "two")]
    for clone in clones:
        subprocess.run(["git", "clone", "-q", day.store, clone], env=environment(), check=True)
        _memkit(clone, "trust", "--yes")
    with _instance(clones[0]) as one, _instance(clones[1]) as two:
        load = Load([one, two])
        load.start()
        load.wait(len(USERS) * len(THINGS) // 3)
        one.kill()
        load.wait(len(USERS) * len(THINGS) * 2 // 3)
        server.kill()
        time.sleep(1)
        server.start()
        load.end()
    day.say(TOLD.format(users=len(USERS), facts=len(THINGS)))
    day.say(f"Acknowledged: {load.acknowledged}. Found by the other instance at once: {load.found}.\n")


def _evening(day: Day) -> None:
    day.say("## Evening: Bob leaves, and the store goes home\n")
    day.say("Everything is scanned; what nobody can prove from here is named, so the exit code is 1. An excerpt:\n")
    erased = day.memkit("memory", "erase", "--user", "bob", "--yes", shown=False).splitlines()
    kept = [line for line in erased if line.startswith(("Removed", "scanned archive", "scanned sessions", "not prov"))]
    day.page.append(block("\n".join(["$ memkit memory erase --user bob --yes", *kept])))
    day.memkit("backend", "move", "--to", "files", "--yes")
    day.memkit("backend", "status")
    day.memkit("fsck")


def _compared(day: Day) -> None:
    """Let one process hear the same, on the morning's files, and compare what each user's export says."""
    alone = day.folder / "alone"
    _memkit(alone, "trust", "--yes")  # a copy is another clone
    with _chat(alone) as talk:
        for said in ("Remember that my kayak is green.", "Remember that my cat is grey.", "What colour is my kayak?"):
            talk(said)
    with _instance(alone) as server:
        for user in USERS:
            for thing in THINGS:
                server.offered(user, fact(user, thing))
    _memkit(alone, "memory", "erase", "--user", "bob", "--yes")
    day.say("## What one process would have written\n")
    day.say(
        "The same was said to one process on a copy of the morning's files. Exports are compared line by line,\n"
        "without ids, times, salts and links:\n"
    )
    rows = ["| user | lines | as one process wrote them |", "|---|---|---|"]
    for user in USERS:
        ours, theirs = exported(day.store, user), exported(alone, user)
        rows.append(f"| {user} | {len(ours)} | {'yes' if ours == theirs else 'no'} |")
    day.say("\n".join(rows))


def fact(user: str, thing: str) -> str:
    """Return what a client says of a thing of a user."""
    return f"{user.title()} keeps the {thing} in the cellar"


class Served:
    """An instance of ``memkit serve``, and how three clients reach it."""

    def __init__(self, process: subprocess.Popen[str], url: str, tokens: Mapping[str, str]) -> None:
        self._process = process
        self._url = url
        self._tokens = tokens

    def offered(self, user: str, text: str) -> str:
        """Return what became of an offer; raises where no answer came."""
        (answer,) = call(self._url, self._tokens[user], [("memory_add", {"text": text})], "auto")
        if answer.is_error:
            raise ConnectionError(answer.content[0].text)
        return str(answer.structured_content["decision"])

    def finds(self, user: str, text: str) -> bool:
        """Return whether a fact is found; raises where no answer came."""
        (answer,) = call(self._url, self._tokens[user], [("memory_search", {"query": text, "k": 3})], "auto")
        if answer.is_error:
            raise ConnectionError(answer.content[0].text)
        return text in [hit["text"] for hit in answer.structured_content["results"]]

    def kill(self) -> None:
        """End it with signal 9."""
        self._process.kill()
        self._process.wait()

    @property
    def is_dead(self) -> bool:
        """Return whether it was killed."""
        return self._process.poll() is not None


class Load:
    """A client for each user, at two instances at once."""

    def __init__(self, instances: list[Served]) -> None:
        self.acknowledged = self.found = 0
        self._instances = instances
        self._count = threading.Condition()
        self._faults: list[BaseException] = []
        self._clients = [threading.Thread(target=self._kept, args=(user,)) for user in USERS]

    def start(self) -> None:
        """Let the clients begin."""
        for client in self._clients:
            client.start()

    def wait(self, count: int) -> None:
        """Return once so many offers were acknowledged."""
        with self._count:
            self._count.wait_for(lambda: self.acknowledged >= count or self._faults, timeout=300)
        self._raise()

    def end(self) -> None:
        """Return once every client is done."""
        for client in self._clients:
            client.join(300)
        self._raise()

    def _raise(self) -> None:
        if self._faults:
            raise self._faults[0]

    def _kept(self, user: str) -> None:
        try:
            for number, thing in enumerate(THINGS):
                self._tell(user, fact(user, thing), number)
        except Exception as error:  # noqa: BLE001 - raised again by who waits
            with self._count:
                self._faults.append(error)
                self._count.notify_all()

    def _tell(self, user: str, text: str, number: int) -> None:
        decision = self._asked(number, lambda server: server.offered(user, text), user, text)
        if decision != "admitted":
            raise AssertionError(f"{text}: {decision}")
        found = self._asked(number + 1, lambda server: server.finds(user, text))
        with self._count:
            self.acknowledged += 1
            self.found += bool(found)
            self._count.notify_all()

    def _asked(self, number: int, ask: Callable[[Served], Any], user: str = "", text: str = "") -> Any:
        """Return what an instance answers, now one and now the other; after no answer look before it is said again."""
        for attempt in range(TRIES):
            served = [one for one in self._instances if not one.is_dead]
            server = served[(number + attempt) % len(served)]
            try:
                if attempt and text and server.finds(user, text):
                    return "admitted"
                return ask(server)
            except Exception:  # noqa: BLE001 - whatever a client of HTTP raises when nobody answers
                time.sleep(1)
        raise AssertionError("no instance answers")


@contextmanager
def _instance(store: Path) -> Iterator[Served]:
    """Start an instance on a clone of the store."""
    tokens = {user: _memkit(store, "token", "new", "--user", user, "--scope", "write").split()[0] for user in USERS}
    words = [sys.executable, "-m", "memkit", "serve", "--http", "127.0.0.1:0", *CLEAN]
    process = subprocess.Popen(words, cwd=store, env=environment(), stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        ready = process.stderr.readline()
        if not ready.startswith("ready "):
            raise RuntimeError(ready)
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield Served(process, ready.split()[1], tokens)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


@contextmanager
def _chat(store: Path) -> Iterator[Callable[[str], str]]:
    """Open a chat of Ann's on a terminal, and give what says something in it and returns the answer."""
    words = ["-m", "memkit", "chat", "--user", "ann", "--session", "noon"]
    plain = {**environment(), "TERM": "dumb"}
    talk = pexpect.spawn(sys.executable, words, cwd=str(store), env=plain, encoding="utf-8", timeout=120)
    talk.setwinsize(40, 140)
    talk.setecho(False)
    talk.expect("> ")

    def said(text: str) -> str:
        talk.sendline(text)
        talk.expect(r"\n> ")
        shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", talk.before).replace("\r", "")
        kept = [
            line for line in shown.strip().splitlines() if not line.startswith(("(I am the ref", "·")) and line != text
        ]
        return "\n".join([f"> {text}", *kept])

    yield said
    talk.sendline("/quit")
    talk.expect(pexpect.EOF)


def _memkit(store: Path, *words: str) -> str:
    command = [program(), *words]
    ran = subprocess.run(command, cwd=store, env=environment(), capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1):
        raise RuntimeError(f"{words}: {ran.stderr}")
    return ran.stdout


def exported(store: Path, user: str) -> list[str]:
    """Return what the archive's export of a user says, without what only tells two writers apart, in one order."""
    with open_workspace(store) as workspace:
        lines = [json.loads(line) for line in workspace.archive.export(user)]
    texts = {line["id"]: line.get("text") for line in lines}
    told = []
    for line in lines:
        kept = {key: value for key, value in line.items() if key not in OWN}
        named = json.dumps(kept, sort_keys=True, ensure_ascii=False)
        for id, text in texts.items():
            named = named.replace(id, json.dumps(f"<{text}>", ensure_ascii=False)[1:-1])
        told.append(named)
    return sorted(told)


def write_moving_day(out: Path) -> Path:
    """Play the day, write the page and return its path."""
    path = out / "moving-day.md"
    with tempfile.TemporaryDirectory(prefix="mk", dir="/tmp", ignore_cleanup_errors=True) as folder:
        path.write_text(play(Path(folder).resolve()), encoding="utf-8")
    return path


if __name__ == "__main__":
    write_moving_day(CHECKOUT / "docs")
