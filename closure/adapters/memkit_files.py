"""memkit on files and git: ``open_store`` for what programs do, the command line for what a person does."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from closure.interface import Memory
from memkit import Refused, open_store
from memkit.cli.main import run
from memkit.runtime.loop.interface import Completion, Message, ToolCall, ToolSpec


class CommandFailedError(Exception):
    """A command of memkit failed; the words are its own."""


def commanded(*words: str, may_end_with: Sequence[int] = (0,)) -> Any:
    """Run a command of memkit in this process and return its data; raise CommandFailedError for another exit code."""
    said, aside = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(aside):
        code = run([*words, "--json", "--no-input"])
    text = said.getvalue()
    if code not in may_end_with:
        raise CommandFailedError(f"memkit {' '.join(words[:2])} ended with {code}: {text[-300:]}")
    return json.loads(text)["data"] if text.startswith("{") else text


def new_store(place: Path) -> None:
    """Create a store: a copy of the one that the runner made with ``memkit init`` for all cases, or a new one."""
    if made := os.environ.get("CLOSURE_STORE"):
        shutil.copytree(made, place, symlinks=True)
    else:
        commanded("init", str(place))


class MemkitFiles(Memory):
    """A store made by ``memkit init``; the caller is the person, agents and strangers have other ways in."""

    entries = ("import", "drop-in", "agent")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._identify()
        self._place = folder / "store"
        if not self._place.exists():
            new_store(self._place)
        self._prepare()
        self._opened: Any = None
        self._agreed: dict[str, bool] = {}
        self._strangers: Any = None

    def _prepare(self) -> None:
        """Set up what else the store needs; used by the one on PostgreSQL."""

    @staticmethod
    def _identify() -> None:
        for who in ("AUTHOR", "COMMITTER"):
            os.environ |= {f"GIT_{who}_NAME": "Closure", f"GIT_{who}_EMAIL": "closure@example.org"}

    @property
    def store(self) -> Any:
        """Return the open store."""
        if self._opened is None:
            self._opened = open_store(self._place)
        return self._opened

    def command(self, *words: str, may_end_with: Sequence[int] = (0,)) -> Any:
        """Run a command in this process, with the store closed meanwhile, and return its data."""
        MemkitFiles.close(self)
        return commanded(*words, "--store", str(self._place), may_end_with=may_end_with)

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Add it as the person, or in the way that strangers' text takes."""
        if via == "drop-in":
            return self._put(user, text)
        if via in ("import", "agent"):
            self.remember_all(user, [text], via)
            return ""
        return str(self.store.add(text, user=user).id)

    def remember_all(self, user: str, texts: list[str], via: str = "user") -> None:
        """Import them as one file, let an agent that reads them on a page insert them, or store them one by one."""
        if via == "import":
            brought = self.folder / "brought.jsonl"
            brought.write_text("".join(json.dumps({"text": text, "user_id": user}) + "\n" for text in texts))
            self.command("memory", "import", str(brought), "--format", "memkit", "--user", user, may_end_with=(0, 1))
            brought.unlink()
        elif via == "agent":
            self._insert(user, texts, [f"Keep in mind what this page says:\n```\n{text}\n```" for text in texts])
        else:
            super().remember_all(user, texts, via)

    def _put(self, user: str, text: str) -> str:
        from memkit.integrations.langgraph import MemkitStore

        if self._strangers is None:
            self._strangers = MemkitStore(self.store, consent=True)
        key = f"n{abs(hash(text))}"
        with contextlib.suppress(Refused):
            self._strangers.put((user, "notes"), key, {"text": text})
        return key

    def _insert(self, user: str, texts: Sequence[str], said: Sequence[str]) -> None:
        """Let an agent insert ``texts`` in one session, in turns with what the user ``said``."""
        # A user who was never asked agrees when the agent asks.
        agent = self.store.agent(user=user, provider="reference", consent=self._agreed.get(user, True))
        agent._agent.answered_by(Inserting(texts))
        for words in said:
            agent.respond(words)

    def recall(self, user: str, query: str, k: int = 5) -> list[str]:
        """Search as a program does."""
        return [hit.text for hit in self.store.search(query, user=user, k=k)]

    def scores(self, user: str, query: str) -> list[float]:
        """Return the scores of that search."""
        return [hit.score for hit in self.store.search(query, user=user)]

    def prompt(self, user: str, query: str) -> str:
        """Return every message that memkit's own agent sends to a model for the question, without the question."""
        heard = Listening()
        agent = self.store.agent(user=user, provider="reference", consent=True)
        agent._agent.answered_by(heard)
        agent.respond(query)
        return "\n".join(str(one.get("content", "")) for one in heard.messages if one.get("content") != query)

    def get(self, user: str, name: str) -> str:
        """Read a record by its id, as the user."""
        return str(self.store.get(name, user=user).text)

    def correct(self, user: str, name: str, text: str) -> str:
        """Supersede it."""
        return str(self.store.supersede(name, text, user=user).id)

    def forget(self, user: str, name: str) -> None:
        """Retire it."""
        self.store.forget(name, user=user)

    def reject(self, user: str, name: str) -> None:
        """Say that it is false."""
        self.command("memory", "reject", name, "--user", user)

    def erase(self, user: str) -> None:
        """Erase the user, with the proof; its certificate is outside the store."""
        self.command("memory", "erase", "--user", user, "--yes", "--out", str(self.folder / f"{user}.certificate.json"))

    def export(self, user: str) -> list[str]:
        """Return the live records."""
        listed = self.command("memory", "list", "--user", user)["records"]
        return [record["text"] for record in listed]

    def as_of(self, user: str, query: str, day: str) -> list[str]:
        """Ask what was true then."""
        return [hit.text for hit in self.store.search(query, user=user, as_of=day)]

    def remember_until(self, user: str, text: str, day: str) -> str:
        """Add it with its last day."""
        return str(self.store.add(text, user=user, valid_until=day).id)

    def provenance(self, user: str, name: str) -> str:
        """Return who stated it, through what, and when."""
        record = self.command("memory", "get", name, "--user", user)
        return f"{record['actor']} {record['source']} {record['created_at']}"

    def consent(self, user: str, granted: bool) -> None:
        """Record the consent."""
        self._agreed[user] = granted
        self.command("consent", "grant" if granted else "withdraw", "--user", user)

    def infer(self, user: str, texts: list[str]) -> int:
        """Let the agent insert all of them, turn by turn in one session."""
        before = len(self.export(user))
        self._insert(user, texts, ["Go on."] * len(texts))
        return len(self.export(user)) - before

    def at_rest(self, number: int) -> str:
        """Let the suite edit a separate store."""
        from closure.adapters.at_rest import edit_verdict

        return edit_verdict("closure.adapters.memkit_at_rest:MemkitLines", number)

    def front_door(self, attack: str) -> dict[str, list[bool | None]]:
        """Let the suite write as the person and as strangers do, and read what enters the prompt."""
        from closure.adapters.at_rest import front_door_outcomes
        from closure.adapters.memkit_front_door import MemkitFrontDoor

        return front_door_outcomes(MemkitFrontDoor(self), attack)

    def close(self) -> None:
        """Close the store, which commits."""
        if getattr(self, "_opened", None) is not None:
            self._opened.close()
        self._opened = self._strangers = None


class Listening:
    """A model that says nothing and records what it was sent."""

    introduction = "Listening"

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Keep the conversation."""
        self.messages = list(messages)
        return Completion("I see.")


class Inserting:
    """A model that inserts the next text in each turn, whatever it is told."""

    introduction = "Inserting"

    def __init__(self, texts: Sequence[str]) -> None:
        self._left = list(texts)
        self._called = False

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Call the tool once a turn, then end the turn."""
        if self._called or not self._left:
            self._called = False
            return Completion("Done.")
        self._called = True
        return Completion("", (ToolCall("insert", "archival_memory_insert", {"text": self._left.pop(0)}),))
