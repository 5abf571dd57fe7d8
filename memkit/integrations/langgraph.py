"""LangGraph: a store whose items are reviewed, corrected, explained and erased by memkit, and a checkpointer.

```python
from memkit.integrations.langgraph import MemkitSaver, MemkitStore

graph = builder.compile(store=MemkitStore("my-memory"), checkpointer=MemkitSaver("my-memory", user="ada"))
```
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, Self, cast

from memkit.errors import MissingExtra, UsageError
from memkit.integrations.hosted_vectors import HostedVectors
from memkit.integrations.interface import Plug, draft_of, moment, noted, text_of, value_of
from memkit.library import MOST_FOUND, Place, Store
from memkit.runtime.memory.archive.keeping import KeptDocument
from memkit.runtime.memory.index.documents import COMPARED, Documents, Prefilter, StoredDocument
from memkit.runtime.memory.interface import Hit
from memkit.runtime.memory.record.lines import normal_time, to_text
from memkit.runtime.memory.record.record import MAX_TEXT_BYTES, encodable, item_of
from memkit.runtime.memory.words.text import query_terms

try:
    from langgraph.store.base import (
        BaseStore,
        Embeddings,
        GetOp,
        IndexConfig,
        InvalidNamespaceError,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        ensure_embeddings,
        get_text_at_path,
        validate_op_namespace,
    )
except ImportError as error:  # pragma: no cover - the extra is installed where this is tested
    raise MissingExtra(
        "MemkitStore needs LangGraph: pip install langgraph (the extra memkit-agent[langgraph])"
    ) from error

from memkit.integrations.langgraph_saver import MemkitSaver

__all__ = ["MemkitSaver", "MemkitStore"]

NAME = "langgraph"
KIND = "item"
AS_OF = "$as_of"
LONGEST_TTL = 1_000_000_000
"""Minutes, some 1,900 years; a date cannot be much later."""
FILTER_KEY = re.compile(r"[\w.\-]+")
ORDERED: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": lambda one, other: one > other,
    "$gte": lambda one, other: one >= other,
    "$lt": lambda one, other: one < other,
    "$lte": lambda one, other: one <= other,
}
LOOKED_AT = 50
"""Records that a word search examines first; it doubles the number until there are enough results."""


class Below(NamedTuple):
    """The items that a search covers: those of a namespace and below it whose values fit a filter."""

    space: str
    wanted: Mapping[str, Any]

    def holds(self, document: StoredDocument) -> bool:
        """Return whether a document is in the namespace and its value fits."""
        if self.space and document.space != self.space and not document.space.startswith(f"{self.space}."):
            return False
        if not self.wanted:
            return True
        value = value_of(document)
        return all(_compares(_at(value, key), expected) for key, expected in self.wanted.items())

    def first_of(
        self, ranked: Iterator[tuple[str, float]], most: int, documents: Documents
    ) -> list[tuple[StoredDocument, float]]:
        """Return the best live documents among the ranked versions, each once."""
        found, seen = list[tuple[StoredDocument, float]](), set()
        for id, score in ranked:
            if len(found) >= most:
                break
            document = documents.version(id)
            if document is not None and (document.space, document.name) not in seen and self.holds(document):
                seen.add((document.space, document.name))
                found.append((document, score))
        return found

    def told_by(
        self, hits: Sequence[Hit], as_of: str | None, documents: Documents
    ) -> list[tuple[StoredDocument, float]]:
        """Return the documents that records were derived from."""
        places = [(hit.score, item_of(hit.record)) for hit in hits]
        named = [(score, place) for score, place in places if place is not None and place[0] == KIND]
        stood = [(documents.get(kind, space, name, as_of), score) for score, (kind, space, name) in named]
        return [(document, score) for document, score in stood if document is not None and self.holds(document)]

    def sharing_words(
        self, query: str, most: int, as_of: str | None, documents: Documents
    ) -> list[tuple[StoredDocument, float]]:
        """Return the items without a text, and so without a record, that share words with a query, best first."""
        asked, scored = set(query_terms(query)), list[tuple[StoredDocument, float]]()
        wanted = _prefilter(self.wanted)._replace(has_no_record=True)
        for document in documents.newest(KIND, self.space, wanted=wanted, as_of=as_of):
            if document.record is None and self.holds(document):
                content = json.dumps(value_of(document), ensure_ascii=False)[:MAX_TEXT_BYTES]
                shared = asked & set(query_terms(content.replace("_", " ")))
                scored += [(document, len(shared) / len(asked))] if shared else []
        return sorted(scored, key=lambda one: -one[1])[:most]


Found = tuple[str, StoredDocument, float | None]
"""Whose item it is, the item, and its score."""


class MemkitStore(BaseStore):
    """A ``BaseStore`` on a memkit store: an item is a document, and its text, if it has one, a record.

    A put at the same key supersedes, a delete retires, and the value comes back whole. What a person corrects, forgets
    or rejects is corrected or gone here as well. A search without ``index`` uses memkit's own retrieval; with the
    host's embedding its cosine decides. The filter ``$as_of`` returns the state at a day or a moment.

    ```python
    from memkit.integrations.langgraph import MemkitStore

    items = MemkitStore("my-memory", consent=True)
    items.put(("ada", "prefs"), "drink", {"text": "Ada prefers espresso"})
    assert items.get(("ada", "prefs"), "drink").value == {"text": "Ada prefers espresso"}
    ```
    """

    supports_ttl = True

    def __init__(
        self,
        store: Store | Place | None = None,
        *,
        user: str | None = None,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        consent: bool | None = None,
        taint: str | None = None,
    ) -> None:
        """Open the items of ``store``, a folder or an open ``memkit.Store``.

        Args:
            store: Where they are stored; by default the nearest store, as ``open_store`` finds it.
            user: Whose they are; by default the first label of a namespace is the user.
            index: LangGraph's own: the embedding, its ``dims``, and the ``fields`` to embed.
            ttl: LangGraph's own: ``default_ttl`` in minutes and ``refresh_on_read``.
            consent: True if the host states that its users agreed to be remembered.
            taint: ``clean`` if the host's model reads nothing written by strangers.
        """
        self.plug = Plug(store, NAME, user=user, consent=consent, taint=taint)
        self.index_config = index
        self.ttl_config = ttl
        self.embeddings: Embeddings | None = ensure_embeddings(index.get("embed")) if index else None
        self._fields = _fields_of(index)
        self._vectors: dict[str, HostedVectors] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: ThreadPoolExecutor | None = None

    def setup(self) -> None:
        """Do nothing: ``memkit init`` makes a memkit store. LangGraph's own stores have this method."""

    def sweep_ttl(self) -> int:
        """Return 0: an item ends by itself when its time is over, and nothing is left to sweep."""
        return 0

    def start_ttl_sweeper(self, sweep_interval_minutes: int | None = None) -> Future[None]:
        """Return a finished future: nothing has to be swept. LangGraph's own stores with a TTL want this call."""
        finished: Future[None] = Future()
        finished.set_result(None)
        return finished

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Return True: no sweeper runs."""
        return True

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations: reads see the state before, and of two puts at one key the last one counts."""
        try:
            if self._loop is not None and asyncio.get_running_loop() is self._loop:
                raise asyncio.InvalidStateError("This would block the event loop: await store.abatch(…) or aput.")
        except RuntimeError:
            pass
        return self._carried_out(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations in a thread beside the event loop."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="memkit")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._carried_out, list(ops))

    def close(self) -> None:
        """Commit what was written, and release the store if it was opened here."""
        for vectors in self._vectors.values():
            vectors.close()
        self._vectors.clear()
        self.plug.close()

    def _carried_out(self, ops: Iterable[Op]) -> list[Result]:
        ops = [_checked(op) for op in ops]
        puts = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        with self.plug.writing():
            results: list[Result] = [self._read(op) for op in ops]
            self._put(list(puts.values()))
        return results

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        return self._listed(op) if isinstance(op, ListNamespacesOp) else None

    # Users.

    def _user(self, namespace: Sequence[str]) -> str:
        return self.plug.of(namespace[0] if namespace else None)

    def _users(self, prefix: Sequence[str]) -> list[str]:
        """Return the users whose items may be below a prefix."""
        if self.plug.user is not None or prefix:
            return [self._user(prefix)]
        return self.plug.store.workspace.archive.users()

    # Reading.

    def _get(self, op: GetOp) -> SearchItem | None:
        user = self._user(op.namespace)
        space, key = _space(op.namespace), op.key

        def got(documents: Documents) -> tuple[StoredDocument, SearchItem] | None:
            document = documents.get(KIND, space, key)
            return (document, _items([(document, None)], documents)[0]) if document else None

        found = self.plug.ask(user, got)
        if found is None:
            return None
        self._refresh(user, [found[0]], op.refresh_ttl)
        return found[1]

    def _search(self, op: SearchOp) -> list[SearchItem]:
        wanted = dict(op.filter or {})
        as_of = normal_time(str(wanted.pop(AS_OF))) if AS_OF in wanted else None
        for key in wanted:
            if not FILTER_KEY.fullmatch(key):
                raise ValueError(f"Invalid filter key: {key!r:.80}. Use only letters, digits, '_', '-' and '.'.")
        below = Below(_space(op.namespace_prefix), wanted)
        users, most = self._users(op.namespace_prefix), op.offset + op.limit
        if op.query and self.embeddings is not None and as_of is None:
            found = self._nearest(op.query, users, below, most)
        elif op.query:
            found = self._by_words(op, users, below, as_of)
        else:
            found = self._newest(users, below, most, as_of)
        shown = found[op.offset : most]
        items: dict[tuple[str, str, str], SearchItem] = {}
        for user in dict.fromkeys(user for user, *_ in shown):
            own = [(document, score) for owner, document, score in shown if owner == user]
            made = self.plug.ask(user, partial(_items, own))
            items |= {(user, one.space, one.name): item for (one, _), item in zip(own, made, strict=True)}
            if as_of is None:
                self._refresh(user, [document for document, _ in own], op.refresh_ttl)
        return [items[user, document.space, document.name] for user, document, _ in shown]

    def _newest(self, users: Sequence[str], below: Below, most: int, as_of: str | None = None) -> list[Found]:
        """Return the newest fitting items, at most ``most`` of each user."""
        wanted = _prefilter(below.wanted)

        def newest(documents: Documents) -> list[StoredDocument]:
            standing = documents.newest(KIND, below.space, wanted=wanted, as_of=as_of)
            return list(islice(filter(below.holds, standing), most))

        found: list[Found] = [(user, one, None) for user in users for one in self.plug.ask(user, newest)]
        return sorted(found, key=lambda one: (one[1].at, one[1].id), reverse=True) if len(users) > 1 else found

    def _nearest(self, query: str, users: Sequence[str], below: Below, most: int) -> list[Found]:
        """Return the fitting items, those nearest to a query first, then those without an embedding."""
        asked, scored = self._embedded([query])[0], list[Found]()
        for user in users:
            ranked = self._vectors_of(user).ranked(asked)
            nearest = self.plug.ask(user, partial(below.first_of, ranked, most))
            scored += [(user, one, score) for one, score in nearest]
        scored.sort(key=lambda one: -cast("float", one[2]))
        if len(scored) >= most:
            return scored
        seen = {(user, one.space, one.name) for user, one, _ in scored}
        rest = self._newest(users, below, most + len(seen))
        return scored + [one for one in rest if (one[0], one[1].space, one[1].name) not in seen]

    def _by_words(self, op: SearchOp, users: Sequence[str], below: Below, as_of: str | None) -> list[Found]:
        """Return the items whose records memkit's own retrieval finds, and those without a text that share words."""
        archive, found, most = self.plug.store.workspace.archive, list[Found](), op.offset + op.limit
        for user in users:
            k = max(LOOKED_AT, 2 * most)
            while True:
                tags = _tags(op.namespace_prefix, user)
                hits = archive.search(op.query or "", user_id=user, k=k, tags=tags, as_of=as_of).hits
                fitting = self.plug.ask(user, partial(below.told_by, hits, as_of))
                if len(fitting) >= most or len(hits) < k:
                    break
                k *= 2
            self.plug.tell("retrieved", user, [document.record or "" for document, _ in fitting[:most]], op.query or "")
            fitting += self.plug.ask(user, partial(below.sharing_words, op.query or "", most, as_of))
            found += [(user, document, score) for document, score in fitting]
        return sorted(found, key=lambda one: -cast("float", one[2]))

    def _listed(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        spaces = [
            tuple(space.split("."))
            for user in self._users(())
            for space in self.plug.ask(user, lambda documents: documents.spaces(KIND))
        ]
        found = {one for one in spaces if all(_matches(condition, one) for condition in conditions)}
        if op.max_depth is not None:
            found = {one[: op.max_depth] for one in found}
        return sorted(found)[op.offset : op.offset + op.limit]

    # Writing.

    def _put(self, ops: Sequence[PutOp]) -> None:
        now = self.plug.store.workspace.clock()
        by_user: dict[str, list[tuple[PutOp, KeptDocument]]] = {}
        for op in ops:
            user = self._user(op.namespace)
            by_user.setdefault(user, []).append((op, _kept(op, user, now)))
        for user, kept in by_user.items():
            if self.embeddings is not None:
                self._vectors_of(user)  # first, so that the new items do not count as missing vectors
            self.plug.keep(user, [document for _, document in kept])
            if self.embeddings is not None:
                self._embed(user, [document for op, document in kept if op.value is not None])

    def _refresh(self, user: str, documents: Sequence[StoredDocument], wanted: bool) -> None:
        ending = [(one, noted(one).get("ttl")) for one in documents if one.until is not None]
        if wanted and ending:
            archive = self.plug.store.workspace.archive
            archive.keep_longer([(one, float(ttl)) for one, ttl in ending if ttl], self.plug.origin(user))

    # Embedding.

    def _vectors_of(self, user: str) -> HostedVectors:
        """Return the vectors of a user's items, after computing the missing ones."""
        vectors = self._vectors.get(user)
        if vectors is None:
            vectors = self._vectors[user] = HostedVectors(self.plug.ask(user, lambda documents: documents.beside()))
            known = vectors.known()
            missing = self.plug.ask(user, lambda documents: [
                (one.id, one) for one in documents.newest(KIND) if one.id not in known
            ])  # fmt: skip
            self._add_vectors(vectors, missing)
        return vectors

    def _embed(self, user: str, kept: Sequence[KeptDocument]) -> None:
        vectors = self._vectors_of(user)
        found = self.plug.ask(user, lambda documents: [documents.get(*one.place) for one in kept])
        self._add_vectors(vectors, [(one.id, one) for one in found if one is not None])

    def _add_vectors(self, vectors: HostedVectors, documents: Sequence[tuple[str, StoredDocument]]) -> None:
        texts: list[tuple[str, str, str]] = []
        for id, document in documents:
            index = noted(document).get("index")
            fields = self._fields if index is None else index or []
            value = value_of(document)
            for field in fields:
                found = get_text_at_path(value, field)
                texts += [(id, f"{field}.{place}", text) for place, text in enumerate(found)]
        if texts:
            unique = list(dict.fromkeys(text for *_, text in texts))
            made = dict(zip(unique, self._embedded(unique), strict=True))
            vectors.add([(id, path, made[text]) for id, path, text in texts])

    def _embedded(self, texts: list[str]) -> list[list[float]]:
        embeddings = cast("Embeddings", self.embeddings)
        try:
            return embeddings.embed_documents(texts)
        except (ValueError, NotImplementedError):
            if type(embeddings).__name__ != "EmbeddingsLambda":
                raise
        return asyncio.run(embeddings.aembed_documents(texts))  # the host's function is asynchronous only

    def __enter__(self) -> Self:
        """Return the store."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    async def __aenter__(self) -> Self:
        """Return the store; from now on calls that would block this event loop are errors."""
        self._loop = asyncio.get_running_loop()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        self._loop = None
        self.close()


def _prefix(op: Op) -> object:
    return op.namespace_prefix if isinstance(op, SearchOp) else ()


def _checked(op: Op) -> Op:
    """Return an operation with a valid namespace, key and numbers.

    Raises:
        InvalidNamespaceError: The namespace is not valid.
        UsageError: Something else is not.
    """
    if isinstance(namespace := op.namespace if isinstance(op, GetOp | PutOp) else _prefix(op), str):
        # A string is a sequence of its letters, and the first of them would be the user.
        raise InvalidNamespaceError(f"A namespace must be a tuple of strings. Write ({namespace!r:.80},).")
    if not isinstance(op, GetOp | PutOp | SearchOp | ListNamespacesOp):
        raise UsageError(f"{op!r:.60} is not an operation of a store.")
    validate_op_namespace(op)
    if isinstance(op, SearchOp) and (op.limit < 0 or op.offset < 0):
        raise UsageError(f"limit and offset of a search must be 0 or more, not {min(op.limit, op.offset)}.")
    if isinstance(op, SearchOp):
        op = op._replace(limit=min(op.limit, MOST_FOUND), offset=min(op.offset, MOST_FOUND))
    if isinstance(op, PutOp) and op.ttl is not None and not abs(op.ttl) <= LONGEST_TTL:
        raise UsageError(f"ttl must be a number of minutes of at most {LONGEST_TTL:,}, not {op.ttl!r:.40}.")
    if isinstance(op, GetOp | PutOp):
        if not op.namespace:
            raise InvalidNamespaceError("Namespace cannot be empty.")
        if not isinstance(op.key, str):
            raise UsageError(f"The key of an item must be a string, not {type(op.key).__name__}.")
        if not encodable(named := "".join([*op.namespace, op.key])):
            raise UsageError(f"A namespace and a key must be valid Unicode; {named!r:.60} holds half a surrogate pair.")
    return op


def _fields_of(index: IndexConfig | None) -> list[str]:
    found = (index or {}).get("fields") or (index or {}).get("text_fields") or ["$"]
    return [found] if isinstance(found, str) else list(cast("Iterable[str]", found))


def _space(namespace: Sequence[str]) -> str:
    return ".".join(namespace)


def _tags(namespace: Sequence[str], user: str) -> tuple[str, ...]:
    """Return the part of a namespace that becomes labels of its records: everything but the user."""
    return tuple(label for label in namespace if label != user)


def _kept(op: PutOp, user: str, now: Any) -> KeptDocument:
    until = to_text(now + timedelta(minutes=op.ttl)) if op.ttl is not None and op.value is not None else None
    more: dict[str, Any] = {"ttl": op.ttl} if until else {}
    if op.index is not None:
        more["index"] = list(op.index) if op.index else False
    value = None if op.value is None else dict(op.value)
    tags = _tags(op.namespace, user)
    return KeptDocument(KIND, _space(op.namespace), op.key, value, draft_of(text_of(value), tags), until, more)


def _items(found: Sequence[tuple[StoredDocument, float | None]], documents: Documents) -> list[SearchItem]:
    items = []
    for document, score in found:
        place = document.kind, document.space, document.name
        made = documents.made_at(*place) if document.number > 1 else None
        items.append(
            SearchItem(
                namespace=tuple(document.space.split(".")), key=document.name, value=value_of(document),
                created_at=moment(made or document.at), updated_at=moment(document.at), score=score,
            )
        )  # fmt: skip
    return items


# Filters.


def _prefilter(wanted: Mapping[str, Any]) -> Prefilter:
    """Return what every fitting value is certain to contain."""
    asked = [(key, *one) for key, value in wanted.items() for one in _conditions(value)]
    return Prefilter(
        tuple(value for _, operator, value in asked if operator == "$eq" and isinstance(value, str)),
        tuple(
            (key, operator, value) for key, operator, value in asked
            if operator in COMPARED and isinstance(value, int | float) and "." not in key
        ),
    )  # fmt: skip


def _conditions(value: Any) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, Mapping) else [("$eq", value)]


def _at(value: Any, key: str) -> Any:
    """Return what a value holds under a key or a dotted path of keys."""
    if isinstance(value, Mapping) and key in value:
        return value[key]
    for part in key.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value


def _compares(value: Any, expected: Any) -> bool:
    if isinstance(expected, Mapping):
        if any(str(key).startswith("$") for key in expected):
            return all(_holds(value, operator, other) for operator, other in expected.items())
        return isinstance(value, Mapping) and all(_compares(value.get(key), one) for key, one in expected.items())
    if isinstance(expected, list | tuple):
        pairs = zip(value, expected, strict=False) if isinstance(value, list | tuple) else ()
        return isinstance(value, list | tuple) and len(value) == len(expected) and all(_compares(*one) for one in pairs)
    return _same(value, expected)


def _same(value: Any, expected: Any) -> bool:
    return isinstance(value, bool) == isinstance(expected, bool) and bool(value == expected)


def _holds(value: Any, operator: str, expected: Any) -> bool:
    if operator == "$eq":
        return _same(value, expected)
    if operator == "$ne":
        return not _same(value, expected)
    if operator not in ORDERED:
        raise ValueError(f"Unsupported operator: {operator!r:.40}. Supported: $eq, $ne, {', '.join(ORDERED)}, {AS_OF}.")
    numbers = isinstance(value, int | float) and isinstance(expected, int | float)
    texts = isinstance(value, str) and isinstance(expected, str)
    return (numbers or texts) and ORDERED[operator](value, expected)


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"Match type {condition.match_type!r:.40} must be prefix or suffix.")
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(expected in ("*", label) for expected, label in zip(path, part, strict=True))
