"""The Python API: open a store, add, search, correct, forget, explain, and talk to its agent, blocking or async.

```python
from memkit import open_store

with open_store("my-memory") as store:
    store.add("Ada prefers espresso", user="ada")
    print([hit.text for hit in store.search("coffee", user="ada")])
```
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Collection, Coroutine, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from memkit.errors import MemkitError, NegativeAnswer, NotFound, StoreFault, UsageError
from memkit.runtime.memory.interface import Decision, Hit, StoredRecord
from memkit.runtime.memory.record.lines import Refused
from memkit.runtime.memory.record.record import Draft, encodable

if TYPE_CHECKING:
    from memkit.agent import ReferenceAgent
    from memkit.runtime.loop.reply import AgentResponse
    from memkit.use_cases.accounts import RecordAccount
    from memkit.workspace import Workspace

Answer = TypeVar("Answer")
Given = ParamSpec("Given")
Place = str | os.PathLike[str]

CLOSED = "This store is closed. Open it again: 'with open_store(…) as store', or 'async with aopen_store(…) as store'."
MOST_FOUND = 1 << 31
"""More than any store holds; larger numbers fit no iterator."""
_log = logging.getLogger("memkit")


def open_store(path: Place | None = None) -> Store:
    """Open the store in the folder ``path``, or the nearest one: ``MEMKIT_STORE``, else a parent with ``memkit.yaml``.

    Use it in a ``with`` block, or close it: closing commits what was written.

    ```python
    from memkit import open_store

    with open_store("my-memory") as store:
        assert store.search("tea", user="ada") == []
    ```

    Raises:
        StoreNotFound: The folder is not a store. ``memkit init`` makes one.
        StoreFault: The store was written by a newer memkit, or is damaged.
    """
    from memkit.workspace import open_workspace

    return Store(open_workspace(Path(path) if path is not None else None, notice=_log.warning))


def aopen_store(path: Place | None = None) -> AsyncStore:
    """Return the store for ``async with`` or ``await``: the same calls, none of which blocks the event loop.

    ```python
    import asyncio

    from memkit import aopen_store


    async def remember() -> str | None:
        async with aopen_store("my-memory") as store:
            return (await store.add("Ada sails", user="ada")).id


    assert asyncio.run(remember())
    ```
    """
    return AsyncStore(path)


class Store:
    """An open store. Threads may share it; a call has finished when it returns, and anything it wrote is on disk.

    ```python
    from memkit import Store, open_store


    def likes(store: Store, user: str) -> list[str]:
        return [hit.text for hit in store.search("what is liked?", user=user)]


    with open_store("my-memory") as store:
        assert likes(store, "ada") == []
    ```
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        """The workspace that memkit's own commands run on."""
        self.lock = threading.RLock()
        """Held for the duration of each call."""
        self._wrote = False
        self._closed = False

    @property
    def path(self) -> Path:
        """Return the folder of the store.

        ```python
        assert (store.path / "memkit.yaml").is_file()
        ```
        """
        return self.workspace.root

    def add(
        self,
        text: str,
        *,
        user: str | None = None,
        type: str = "fact",
        tags: Sequence[str] = (),
        confidence: float = 1.0,
        valid_until: str | None = None,
    ) -> Decision:
        """Offer a fact, as worded, to a user's long-term memory and return the write gate's decision.

        The program speaks for its operator, as ``memkit memory add`` does: what it adds counts as checked. The
        decision is ``admitted``, ``merged`` with a record that says the same, or ``quarantined`` until a person
        approves it; its ``id`` is that of the record, and its ``reasons`` say why.

        ```python
        added = store.add("Ada prefers espresso", user="ada", type="preference", tags=["drinks"])
        assert (added.decision, added.reasons) == ("admitted", ())
        ```

        Args:
            text: The fact, in one sentence that can be understood by itself.
            user: Whose memory it is; defaults to the store's ``user``.
            type: ``fact``, ``preference``, ``outcome``, ``constraint``, ``goal``, ``event`` or ``summary``.
            tags: Labels to find it by.
            confidence: How certain it is, from 0 to 1.
            valid_until: When it stops being true; a bare date means the end of that day.

        Raises:
            Refused: The gate does not accept it; ``reasons`` say why.
        """
        from memkit.use_cases.memory import remember

        _check_words(text=text, type=type, valid_until=valid_until)
        if not _are_words(tags):
            raise UsageError(f"tags must be a list of words such as tags=['sport'], not {tags!r:.60}.")
        with self.open():
            draft = Draft(text, type, tags=tuple(tags), confidence=confidence, valid_until=valid_until)
            return self._decided(remember(self.workspace, draft, user=self.named_user(user)))

    def search(
        self, query: str, *, user: str | None = None, k: int | None = None, as_of: str | None = None
    ) -> list[Hit]:
        """Return the memories that fit ``query`` best, each with ``id``, ``text`` and ``score``; empty if none fits.

        ```python
        store.add("Ada prefers espresso", user="ada")
        (hit,) = store.search("coffee: espresso?", user="ada", k=3)
        assert (hit.text, hit.score > 0) == ("Ada prefers espresso", True)
        ```

        Args:
            query: What to look for, in words.
            user: Whose memory to search; shared records are searched as well.
            k: The most to return; by default five, and more for a query that names more things.
            as_of: A day; search what was true then.
        """
        from memkit.use_cases.recall import Back, search_memory

        _check_words(query=query, as_of=as_of)
        if k is not None and (not isinstance(k, int) or isinstance(k, bool) or k < 1):
            raise UsageError(f"k, the most memories to return, must be a whole number from 1, not {k!r:.60}.")
        with self.open():
            user = self.named_user(user)
            most = None if k is None else min(k, MOST_FOUND)
            return list(search_memory(self.workspace, query, user=user, count=most, back=Back(as_of=as_of)).hits)

    def get(self, id: str, *, user: str | None = None) -> StoredRecord:
        """Return a memory with its ``text``, ``status`` and ``history``; given ``user``, other users' are not found.

        ```python
        added = store.add("Ada prefers espresso", user="ada")
        stored = store.get(added.id, user="ada")
        assert (stored.text, stored.status) == ("Ada prefers espresso", "live")
        ```

        Raises:
            NotFound: There is no such record.
        """
        from memkit.use_cases.recall import find_record, note_read

        _check_words(id=id, user=user)
        with self.open():
            stored = find_record(self.workspace.archive, id, user)
            note_read(self.workspace, stored.record.user_id, "record", [id])
            return stored

    def supersede(self, id: str, text: str, *, user: str | None = None, reason: str = "") -> Decision:
        """Replace a memory that is no longer right with ``text``; the old wording stays in the history.

        ```python
        old = store.add("Ada prefers espresso", user="ada")
        new = store.supersede(old.id, "Ada prefers mate", reason="she said so")
        assert store.get(old.id).superseded_by == new.id
        ```

        Raises:
            NotFound: There is no such record.
            NegativeAnswer: It is not live.
            Refused: The gate does not accept the new text.
        """
        from memkit.use_cases.memory import supersede_record
        from memkit.use_cases.recall import own_record

        _check_words(id=id, text=text, user=user, reason=reason)
        with self.open():
            stored = own_record(self.workspace.archive, id, user)
            return self._decided(supersede_record(self.workspace, stored, text, reason=reason))

    def forget(self, id: str, *, user: str | None = None, reason: str = "") -> str:
        """Retire a memory and return its resulting status; the history keeps it, and it may be added again.

        ```python
        added = store.add("Ada prefers espresso", user="ada")
        assert store.forget(added.id, user="ada") == "retired"
        assert store.search("espresso", user="ada") == []
        ```

        Raises:
            NotFound: There is no such record.
            NegativeAnswer: It is not live.
        """
        from memkit.use_cases.memory import mark_entry
        from memkit.use_cases.recall import own_record

        _check_words(id=id, user=user, reason=reason)
        with self.open():
            own_record(self.workspace.archive, id, user)
            self._wrote = True
            return mark_entry(self.workspace, "forget", id, user=user, reason=reason).status

    def why(self, id: str, *, user: str | None = None) -> RecordAccount:
        """Return when a memory was ``retrieved``, ``injected`` into a prompt and ``cited``, and what lost to it.

        ```python
        added = store.add("Ada prefers espresso", user="ada")
        store.search("espresso?", user="ada")
        assert store.why(added.id, user="ada").retrieved[0]["query"] == "espresso?"
        ```

        Raises:
            NotFound: There is no such record.
        """
        from memkit.use_cases.accounts import explain_record

        _check_words(id=id, user=user)
        with self.open():
            return explain_record(self.workspace, id, user=user)

    def agent(
        self,
        *,
        user: str | None = None,
        session: str = "",
        provider: str | None = None,
        model: str | None = None,
        consent: bool = False,
    ) -> StoreAgent:
        """Return the store's agent, ready to talk with a user.

        ```python
        agent = store.agent(user="ada", consent=True)
        agent.respond("My dog is called Rex")
        assert "Rex" in store.agent(user="ada").respond("What is my dog called?").message
        ```

        Args:
            user: Whom it talks with and whose memory it uses.
            session: The session to continue; a new one by default.
            provider: The model provider, such as ``reference`` or ``openai``; by default as in the store's settings.
            model: The model's name, for providers that have several.
            consent: Record that the user agrees to long-term memory; without consent an agent stores nothing.

        Raises:
            NotTrusted: The store chose the provider, and nobody trusted the store here (``memkit trust``).
        """
        from memkit.agent import Setting
        from memkit.use_cases.open_chat import open_chat

        _check_words(session=session, provider=provider, model=model)
        with self.open():
            user = self.named_user(user)
            setting = Setting(user=user, session=session)
            opened = open_chat(self.workspace, setting, provider=provider, model=model)
            if consent and not opened.consent.granted():
                self.workspace.archive.set_consent(user, True, self.workspace.person(user))
            self._wrote = True
            return StoreAgent(self, opened)

    def close(self) -> None:
        """Commit what was written and release the store.

        ```python
        from memkit import open_store

        opened = open_store("my-memory")
        opened.close()
        ```
        """
        with self.lock:
            if self._wrote:
                self.workspace.end_batch()
                self._wrote = False
            self._closed = True
            self.workspace.close()

    @contextmanager
    def open(self) -> Iterator[None]:
        """Hold the lock for one call; raise ``UsageError`` if the store is closed or a value fits no record.

        The rooms' own errors, such as that of a store that is locked too long, are raised as ``MemkitError``.
        """
        with self.lock:
            if self._closed:
                raise UsageError(CLOSED)
            try:
                yield
            except Exception as error:
                kind = _KINDS.get(getattr(error, "exit_code", None))
                if kind is None or isinstance(error, MemkitError | Refused):
                    raise
                code = getattr(error, "code", kind.code)
                told = (NotFound if code == NotFound.code else kind)(str(error))
                told.code = code
                raise told from error

    def note_write(self) -> None:
        """Note that something was written, so that closing commits it."""
        self._wrote = True

    def named_user(self, given: str | None) -> str:
        """Return whose memory is meant, with errors worded for a caller in code."""
        _check_words(user=given)
        if not str(given if given is not None else self.workspace.settings["user"] or "").strip():
            raise UsageError("Whose memory? Give user=…, set MEMKIT_USER, or write 'user:' in memkit.yaml.")
        return self.workspace.user(given)

    def _decided(self, decision: Decision) -> Decision:
        if decision.decision == "refused":
            raise Refused(decision.reasons)
        self._wrote = True
        return decision

    def __enter__(self) -> Self:
        """Return the store."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


_KINDS: Mapping[int | None, type[MemkitError]] = {1: NegativeAnswer, 2: UsageError, 3: StoreFault}
"""By the exit code of the command that would report it."""
_NAMES = frozenset({"user", "id", "session"})
_OPTIONAL = frozenset({"user", "valid_until", "as_of", "provider", "model"})


def _check_words(**given: object) -> None:
    """Raise ``UsageError`` for a value that must be a string and is not, or a name that cannot be written."""
    for name, value in given.items():
        if not isinstance(value, str) and not (value is None and name in _OPTIONAL):
            raise UsageError(f"{name} must be a string; {value!r:.60} is {type(value).__name__}.")
        if name in _NAMES and isinstance(value, str) and not encodable(value):
            raise UsageError(f"{name} must be valid Unicode; {value!r:.60} contains half of a surrogate pair.")


def _are_words(tags: object) -> bool:
    return isinstance(tags, Collection) and not isinstance(tags, str) and all(isinstance(tag, str) for tag in tags)


class StoreAgent:
    """The store's agent in one session, as ``Store.agent`` returns it.

    ```python
    from memkit import StoreAgent


    def answer(agent: StoreAgent, question: str) -> str:
        return agent.respond(question).message


    assert answer(store.agent(user="ada"), "Hello!")
    ```
    """

    def __init__(self, store: Store, agent: ReferenceAgent) -> None:
        self._store = store
        self._agent = agent

    @property
    def session(self) -> str:
        """Return the id of the session, to continue it later.

        ```python
        agent = store.agent(user="ada", session="holiday")
        assert agent.session == "holiday"
        ```
        """
        return self._agent.setting.session

    def respond(self, text: str) -> AgentResponse:
        """Return the answer to the user's message: ``message``, ``citations``, ``tool_calls`` and what was written.

        ```python
        reply = store.agent(user="ada").respond("Run rm -rf /srv")
        assert reply.message
        ```
        """
        _check_words(text=text)
        with self._store.open():
            return self._agent.step(text)


def twin(
    call: Callable[Concatenate[Any, Given], Answer],
) -> Callable[Concatenate[Any, Given], Coroutine[Any, Any, Answer]]:
    """Return the async twin of a method, for a class whose ``_beside`` runs it in a thread beside the event loop."""

    @wraps(call)
    async def awaited(self: Any, /, *given: Given.args, **named: Given.kwargs) -> Answer:
        answer: Answer = await self._beside(call, *given, **named)
        return answer

    return awaited


class AsyncStore:
    """The same store for asynchronous code: every call runs in one thread beside the event loop.

    ```python
    import asyncio

    from memkit import AsyncStore, aopen_store


    async def told(store: AsyncStore, text: str) -> str:
        return (await store.add(text, user="ada")).decision


    async def main() -> str:
        async with aopen_store("my-memory") as store:
            return await told(store, "Ada prefers espresso")


    assert asyncio.run(main()) == "admitted"
    ```
    """

    def __init__(self, path: Place | None = None) -> None:
        self._path = path
        self._store: Store | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="memkit")
        self._closed = False

    add = twin(Store.add)
    search = twin(Store.search)
    get = twin(Store.get)
    supersede = twin(Store.supersede)
    forget = twin(Store.forget)
    why = twin(Store.why)

    async def agent(
        self,
        *,
        user: str | None = None,
        session: str = "",
        provider: str | None = None,
        model: str | None = None,
        consent: bool = False,
    ) -> AsyncStoreAgent:
        """Return the store's agent, as ``Store.agent`` does."""
        setting = {"user": user, "session": session, "provider": provider, "model": model, "consent": consent}
        return AsyncStoreAgent(await self._beside(Store.agent, **setting), self)

    async def close(self) -> None:
        """Commit what was written and release the store."""
        if self._store is not None:
            await self._beside(Store.close)
            self._store = None
        self._closed = True
        self._thread.shutdown(wait=False)

    @property
    def _opened(self) -> Store:
        if self._store is None:
            raise UsageError("Open the store first: 'async with aopen_store(…) as store', or 'await aopen_store(…)'.")
        return self._store

    async def _beside(self, call: Callable[..., Answer], *given: Any, **named: Any) -> Answer:
        return await self.in_thread(partial(call, self._opened, *given, **named))

    async def in_thread(self, work: Callable[[], Answer]) -> Answer:
        """Return the result of ``work``, run in this store's thread; raise ``UsageError`` if the store is closed."""
        if self._closed:
            raise UsageError(CLOSED)
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def __await__(self) -> Generator[object, None, Self]:
        """Open the store, and return it."""
        return self.__aenter__().__await__()

    async def __aenter__(self) -> Self:
        """Open the store, and return it."""
        if self._store is None:
            self._store = await self.in_thread(partial(open_store, self._path))
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.close()


class AsyncStoreAgent:
    """The store's agent in one session, for asynchronous code."""

    def __init__(self, agent: StoreAgent, store: AsyncStore) -> None:
        self._agent = agent
        self._store = store

    @property
    def session(self) -> str:
        """Return the id of the session, to continue it later."""
        return self._agent.session

    respond = twin(StoreAgent.respond)

    async def _beside(self, call: Callable[..., Answer], *given: Any, **named: Any) -> Answer:
        return await self._store.in_thread(partial(call, self._agent, *given, **named))
