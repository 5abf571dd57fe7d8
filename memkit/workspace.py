"""An open store: the one place that names concrete classes and hands clock, identity and files to the rooms."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memkit.errors import EnvironmentFault, MemkitError, MissingExtra, NotTrusted, UsageError
from memkit.runtime.host.terminal import one_line, writer
from memkit.runtime.memory.interface import MemorySettings, PrivacySettings, ShardProblem, StoreKeys
from memkit.runtime.memory.log.clone import cache_folder, claim, state_folder
from memkit.runtime.memory.log.log import Observe
from memkit.runtime.memory.record.lines import NoSealer, Sealer, seconds_before
from memkit.runtime.memory.record.record import Origin
from memkit.store.audit import AuditLog
from memkit.store.config import Settings, load_settings
from memkit.store.layout import MANIFEST, find_store, manifest_state

if TYPE_CHECKING:
    from memkit.interchange.memkit import MachineState
    from memkit.llm.providers import Patience, StoreModels
    from memkit.policies.files import LiveGuard, PoliciesInForce
    from memkit.privacy.keys import KeyRing
    from memkit.runtime.backends.postgres import PostgresLog
    from memkit.runtime.backends.redis_state import RedisState
    from memkit.runtime.embeddings.local import LocalEmbedder
    from memkit.runtime.embeddings.nearest import NearestIndex, Similarity
    from memkit.runtime.guard.core import Guard
    from memkit.runtime.loop.interface import DeclaredTool, Model
    from memkit.runtime.memory.archive.archive import ArchivalStore
    from memkit.runtime.memory.archive.reader import ArchiveReader
    from memkit.runtime.memory.interface import Gate
    from memkit.runtime.memory.log.log import Log
    from memkit.runtime.memory.tiers.conversation import Similar
    from memkit.runtime.memory.tiers.recall import RecallMemory
    from memkit.skills.runs import RunLog
    from memkit.skills.skill import Skill
    from memkit.store.files import LastGood
    from memkit.store.git import Git
    from memkit.store.sessions import SessionBook
    from memkit.store.trust import Trust

Clock = Callable[[], datetime]
Notice = Callable[[str], None]

INSTEAD = ", or leave it out with '--provider reference'"
"""How to talk to a store that nobody trusted."""
LEFT_ASIDE = "Ignored, because this store is not trusted here ('memkit trust --show'): {}."
BATCH = 100
"""Number of additions between two commits of memory, with ``git.commit: batch``."""
NAMED = 3
"""How many faulty lines are listed individually; the rest are counted."""
PRESENT = ""
"""Stands for the present among the names of commits."""
UNWRITTEN = frozenset({"refusal", "index", "torn"})
"""Events of the archive that did not write a line to be committed."""


def utc_now() -> datetime:
    """Return this machine's current time, in UTC."""
    return datetime.now(UTC)


def open_workspace(given: Path | None = None, *, clock: Clock = utc_now, notice: Notice | None = None) -> Workspace:
    """Open the store at ``given``, or the nearest one; raise ``StoreFault`` if there is none."""
    root = find_store(given)
    for told in claim(root):
        (notice or _unheard)(told)
    _finish_erasure(root, notice)
    return Workspace(root, clock=clock, notice=notice)


def _unheard(message: str) -> None:
    """Discard the message."""


class Workspace:
    """One store, opened for one run."""

    def __init__(self, root: Path, *, clock: Clock = utc_now, notice: Notice | None = None) -> None:
        self.root = root
        self.clock = clock
        self.notice = notice or _unheard
        self._manifest = manifest_state(root)
        self.settings: Settings = load_settings(root)
        self.audit = AuditLog(state_folder(root) / "audit", clock, lambda: self.sealer)
        if "opentelemetry" in sys.modules:  # only a program that uses it pays for telemetry
            from memkit.runtime.host.telemetry import telemetry

            self.audit.told = told.account if (told := telemetry()) else None
        self._client: Origin | None = None
        self._past: dict[str, ArchiveReader] = {}
        self._held: list[Callable[[], None]] = []
        self.damage: list[ShardProblem] = []
        """Problems found in the archive's lines, or lines moved back, while they were read."""
        self._told = 0
        """Number of changes that the archive reported since the last commit."""
        self.tells_damage = True
        """False if the answer itself names the damage."""

    @cached_property
    def git(self) -> Git:
        """Return the store's git commands."""
        from memkit.store.git import Git

        return Git(self.root)

    def _branch(self) -> str | None:
        from memkit.store.layout import head_branch

        return head_branch(self.root)

    @cached_property
    def trust(self) -> Trust:
        """Return what a person decided about trusting the store."""
        from memkit.store.trust import Trust

        return Trust(self.root)

    @cached_property
    def archive(self) -> ArchivalStore:
        """Return the archive, its index caught up with what was written."""
        archive = self._opened(self.root, self.sealer, log=self._log(), observe=self._observed)
        self._equip(archive)
        if PRESENT in self._past:
            archive.damage = self._past[PRESENT].damage  # already reported
        return archive

    @property
    def _reader(self) -> ArchiveReader:
        """Return the archive for reading only: a run that only reads need not load the code that writes."""
        if "archive" in self.__dict__:
            return self.archive
        if PRESENT not in self._past:
            from memkit.runtime.memory.archive.reader import ArchiveReader

            self._past[PRESENT] = reader = ArchiveReader(
                self._log(), path=self.root, observe=self._observed, **self._usual(self.sealer)
            )
            reader.foreign = self._is_foreign
            self._equip(reader)
        return self._past[PRESENT]

    def _log(self) -> Log:
        return self.log_at(self.settings["backends.archive"], is_chosen=self.settings.is_chosen("backends.archive"))

    def _equip(self, archive: ArchiveReader) -> None:
        """Let the present archive count uses where other instances do, and follow the store when it moves."""
        if self.settings["backends.working"] != "files":
            with suppress(NotTrusted):  # memory in files is read all the same, by the counts of this machine
                if self.shared is not None:
                    from memkit.runtime.backends.redis_state import SharedCounts

                    archive.count_in(SharedCounts(state_folder(self.root) / "access", self.shared))
        archive.moved = self._where_moved

    def _where_moved(self) -> Log | None:
        """Return the log at the place that the store names since another process moved its memory there."""
        changed = manifest_state(self.root)
        if changed == self._manifest:
            return None
        self._manifest, before = changed, self.settings["backends.archive"]
        try:
            settings = load_settings(self.root)
        except MemkitError:
            return None  # in the middle of a merge or an edit it names no place, and memory stays where it is
        place = settings["backends.archive"]
        if place == before:
            return None
        self.settings = settings
        vars(self).pop("trust", None)  # whoever moved it also trusted the new place
        return self.log_at(place, is_chosen=settings.is_chosen("backends.archive"))

    @property
    def server(self) -> PostgresLog | None:
        """Return the server that holds the archive; None if it is in files."""
        if self.settings["backends.archive"] == "files":
            return None
        from memkit.runtime.backends.postgres import PostgresLog

        return self.archive.log if isinstance(self.archive.log, PostgresLog) else None

    @cached_property
    def shared(self) -> RedisState | None:
        """Return where sessions, turns and counts are shared with other instances; None if they are not.

        Raises:
            NotTrusted: The store chose the server, and nobody trusted the store.
        """
        if self.settings["backends.working"] == "files":
            return None
        from memkit.runtime.backends.interface import WORKING, address
        from memkit.runtime.backends.opening import open_working

        if self.settings.is_chosen("backends.working"):
            self.trust.require("This store keeps sessions on a server that it names")
        where, limits = address(str(self.settings["backends.working"]), WORKING), self.memory_settings
        if not where.url:
            return None
        lasts = {"checkpoint": limits.checkpoint.ttl, "recall": limits.recall.ttl, "counts": limits.forget.max_age}
        name = str(self.settings["name"] or "")
        return open_working(where, root=state_folder(self.root), name=name, ttl=lasts, note=self.notice)

    def log_at(self, place: str, *, is_chosen: bool = False) -> Log:
        """Return the log of an archive in the store's files or on a server, without connecting yet.

        Raises:
            NotTrusted: The store chose a server, and nobody trusted the store.
        """
        if place == "files":
            from memkit.runtime.memory.log.shards import ShardLog

            log = ShardLog(self.root, clock=self.clock, observe=self._observed, branch=self._branch)
            log.witness.earlier, log.witness.written = self._was_earlier, self._written
            return log
        from memkit.runtime.backends.interface import ARCHIVES, Instance, address
        from memkit.runtime.backends.opening import open_archive

        if is_chosen:
            self.trust.require("This store keeps its memory on a server that it names")
        where = address(place, ARCHIVES)
        if not where.url:
            return self.log_at("files")
        return open_archive(where, Instance(self.root, self.clock, self._observed, str(self.settings["name"] or "")))

    def _was_earlier(self, shard: str, data: bytes | None, links: Sequence[str]) -> bool:
        """Return whether git held this state of a shard before it held the lines that are gone."""
        from memkit.store.chain_history import was_earlier

        try:
            return was_earlier(self.git, shard, data, links)
        except MemkitError:
            return False  # without git no earlier state is known

    def _written(self, shard: str) -> Iterable[Mapping[str, Any]]:
        """Return the lines of a shard, now and in git's history."""
        from memkit.store.chain_history import lines_as_written

        try:
            return [data for _, data in lines_as_written(self.git, f"archive/{shard}")]
        except MemkitError:
            return []

    def archive_at(self, name: str | None) -> ArchiveReader:
        """Return the archive as of the commit ``name``, for reading, or the present one for None.

        Its clock is that of the commit, so expiry and freshness are judged as they were then.
        """
        if name is None:
            return self._reader
        from memkit.runtime.memory.archive.reader import ArchiveReader
        from memkit.store.chain_history import TreeLog, index_folder, moment_of

        moment = moment_of(self.git, name)
        if moment.commit in self._past:
            return self._past[moment.commit]
        if not moment.holds_store:
            self.notice(f"The commit {moment.commit[:12]} has no {MANIFEST}: there was no store yet.")

        def heard(event: Mapping[str, Any]) -> None:
            if event["event"] == "damage":
                self._heard([one._replace(path=f"{moment.commit[:10]}:{one.path}") for one in event["problems"]])

        log = TreeLog(self.git, moment.commit)
        if moment.on_server and not log.shards():
            self.notice(
                f"In the commit {moment.commit[:12]} memory was on a server, so git has none of it. 'memkit memory "
                "snapshot' saves a point in time in git."
            )
        past = ArchiveReader(
            log,
            cache=index_folder(self.cache, moment.commit),
            **self._usual(self._sealer(seals=False)) | {"clock": lambda: moment.at, "observe": heard},
        )
        past.foreign = self._is_foreign
        self._past[moment.commit] = past
        return past

    def scratch_archive(self, folder: Path) -> ArchivalStore:
        """Return an archive in ``folder`` with the store's own judgement, whose events go nowhere."""
        return self._opened(folder, self._sealer(seals=False))

    @contextmanager
    def archive_on(self, log: Log, *, observe: Observe = lambda event: None) -> Iterator[ArchivalStore]:
        """Yield an archive that reads and writes ``log`` and reports to ``observe``; its index is deleted afterwards.

        If the process is killed, the index is removed along with those of the commits not looked at for longest.
        """
        from memkit.store.chain_history import index_folder

        folder = index_folder(self.cache, f"draft-{os.urandom(4).hex()}")
        try:
            with self._opened(None, self.sealer, log=log, observe=observe) as archive:
                archive.keep_index_in(folder)
                yield archive
        finally:
            import shutil

            shutil.rmtree(folder, ignore_errors=True)

    def _opened(self, root: Path | None, sealer: Sealer, **more: Any) -> ArchivalStore:
        from memkit.runtime.memory.archive.archive import ArchivalStore  # shell completion must not load it

        asks_model = self.settings["write.contradiction_model"] == "provider" and self.may_ask_provider()
        gate = self._gate_with_model() if asks_model else None
        archive = ArchivalStore(root, gate=gate, **self._usual(sealer) | more)
        archive.foreign = self._is_foreign
        return archive

    def _usual(self, sealer: Sealer) -> dict[str, Any]:
        """Return the arguments that an archive of this store is opened with, for writing or only for reading."""
        return {
            "settings": self.memory_settings,
            "clock": self.clock,
            "keys": StoreKeys(sealer, lambda: self.keys.store_key()),
            "vectors": (lambda: self.vectors) if self._has_vectors else None,
        }

    def _is_foreign(self, writer: str) -> bool:
        """Return whether a shard was written by another clone while nobody here trusted the store.

        Anyone who can write to a server was let in there, and the server is trusted with the store.
        """
        opened = self.__dict__.get("archive", self._past.get(PRESENT))
        if opened is not None and opened.log.cache:
            return False
        path = state_folder(self.root) / "writer"  # read each time: the first write of a clone creates it
        own = path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else ""
        return not (own and (writer == own or writer.startswith(f"{own}-"))) and not self._is_trusted

    def has_strangers(self) -> bool:
        """Return whether other clones wrote here and nobody here trusted the store; prompts leave such records out."""
        return bool(self._reader.strangers())

    @cached_property
    def _is_trusted(self) -> bool:
        try:
            return self.trust.vouches()
        except MissingExtra:
            return False  # without git it is unknown what the store would run

    @cached_property
    def _has_vectors(self) -> bool:
        return self.settings["retrieval.vectors"] != "off" and self.may_use("retrieval.vectors")

    def may_use(self, key: str) -> bool:
        """Return whether a setting may choose a service or code: the store did not choose it, or is trusted.

        A refusal is reported; whatever can do without goes on.
        """
        if not self.settings.is_chosen(key) or self.trust.holds():
            return True
        self.notice(LEFT_ASIDE.format(f"{key} {one_line(str(self.settings[key]), 120)}"))
        return False

    def may_ask_provider(self) -> bool:
        """Return whether there is a language model that may be asked in passing, besides the reference model."""
        return self.settings["provider"] != "reference" and self.may_use("provider")

    @property
    def summary_model(self) -> str:
        """Return the model for summaries; the store's own choice counts only if the store is trusted."""
        chosen = str(self.settings["context.summary_model"])
        return chosen if chosen in ("off", "provider") or self.may_use("context.summary_model") else "off"

    def side_model(self, provider: str | None = None) -> Callable[[Model], Model] | None:
        """Return a function from the answering model to the one that works beside it, for ``provider``."""
        from memkit.llm.providers import side_model

        return side_model(self.summary_model, provider or self.settings["provider"], self.language_model)

    def _gate_with_model(self) -> Gate:
        """Return a gate that asks the configured language model about contradictions."""
        from memkit.llm.summaries import contradictions_by
        from memkit.runtime.memory.gate.gate import WriteGate

        asked = contradictions_by(self.language_model)
        long_term = self.settings["privacy.long_term"] != "off"
        return WriteGate(self.memory_settings.write, asked, long_term)

    def language_model(
        self, provider: str | None = None, model: str | None = None, patience: Patience | None = None
    ) -> Model:
        """Return the configured language model, or the one that is named.

        Raises:
            NotTrusted: The store chose it, and nobody trusted the store.
            EnvironmentFault: There is no key.
        """
        is_stores = provider is None and self.settings.is_chosen("provider")
        if provider is None:
            self.require_provider()
        folder = self.root if is_stores else Path.cwd()
        return self.models.open(provider or self.settings["provider"], model, folder=folder, patience=patience)

    @property
    def models(self) -> StoreModels:
        """Return the object that opens models according to the settings."""
        from memkit.llm.providers import StoreModels

        return StoreModels(self.settings, self.may_use)

    def require_provider(self) -> None:
        """Raise ``NotTrusted`` if the store chose the provider and nobody trusted the store."""
        if self.settings.is_chosen("provider") and self.settings["provider"] != "reference":
            self.trust.require(f"This store would ask {one_line(str(self.settings['provider']), 120)}", INSTEAD)

    @cached_property
    def embedder(self) -> LocalEmbedder:
        """Return the embedding model that ``retrieval.vectors`` names, loaded from its folder."""
        from memkit.runtime.embeddings.local import LocalEmbedder

        if self.settings.is_chosen("retrieval.vectors"):
            self.trust.require("This store would load the embedding model that retrieval.vectors names")
        return LocalEmbedder(self.model_folder(self.settings["retrieval.vectors"]))

    def model_folder(self, named: str) -> Path:
        """Return the folder that a name in ``retrieval.vectors`` refers to."""
        return self.root / Path(named).expanduser()

    @cached_property
    def vectors(self) -> NearestIndex:
        """Return the index of vectors; raise ``OtherModel`` if they come from another model than the store's."""
        from memkit.runtime.embeddings.interface import hold_to
        from memkit.runtime.embeddings.nearest import NearestIndex

        agreed = str(self.settings["retrieval.vector_model"])
        hold_to(agreed, self.embedder)
        if not agreed:
            # If the store cannot be written, the question can still be answered, and the next one records the model.
            with suppress(EnvironmentFault):
                self.agree_on_model()
        return NearestIndex(self.embedder, self.archive.log.vectors)

    def similar(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return how close texts are to a question in meaning, according to the store's embedding model."""
        return self._similarity(query, texts)

    @cached_property
    def _similarity(self) -> Similarity:
        from memkit.runtime.embeddings.nearest import Similarity

        return Similarity(self.embedder, None if self.settings["privacy.seal"] == "user" else self.turn_vectors)

    @property
    def turn_vectors(self) -> Path:
        """Return the folder of the turns' vectors, which is used only while what is said is not sealed."""
        from memkit.runtime.embeddings.nearest import TURNS

        return self.cache / TURNS

    @property
    def by_meaning(self) -> Similar | None:
        """Return ``similar`` if the store searches by meaning."""
        return self.similar if self._has_vectors else None

    def agree_on_model(self) -> None:
        """Record in the store that its vectors come from the present model from now on."""
        from memkit.runtime.embeddings.interface import identity
        from memkit.store.manifest import change_manifest

        model = self.embedder
        change_manifest(
            self.root, {"retrieval.vector_model": identity(model)}, f"Search by the vectors of {model.name}"
        )

    @cached_property
    def keys(self) -> KeyRing:
        """Return the keys of the store, which are kept outside it."""
        from memkit.privacy.keys import KeyRing

        return KeyRing(self.root)

    @cached_property
    def sealer(self) -> Sealer:
        """Return what seals and opens text: a no-op if the store has no keys and wants none."""
        return self._sealer(seals=self.settings["privacy.seal"] == "user")

    def _sealer(self, *, seals: bool) -> Sealer:
        if not seals and self.settings["privacy.key_id"] is None:
            return NoSealer()
        from memkit.privacy.sealer import KeySealer

        return KeySealer(lambda: self.keys, seals=seals)

    @cached_property
    def memory_settings(self) -> MemorySettings:
        """Return the memory room's settings."""
        wanted: dict[str, Any] = {
            "importance": self.settings["importance"],
            "privacy": {name: self.settings[f"privacy.{name}"] for name in PrivacySettings._fields},
        }
        sections = (name for name in MemorySettings._fields if name not in wanted)
        return MemorySettings.from_mapping(wanted | {name: self.settings.section(name) for name in sections})

    @property
    def core_sections(self) -> tuple[str, ...]:
        """Return the writable sections of core memory; the persona is in memkit.yaml."""
        return ("human", "system", *self.settings["core.sections"])

    @cached_property
    def guard(self) -> Guard:
        """Return the compiled policies; a set that fails to load denies everything."""
        from memkit.policies.files import load_guard

        return load_guard(self.root / "policies")

    @cached_property
    def live_guard(self) -> LiveGuard:
        """Return the policies of a running agent, which follow the files between turns."""
        from memkit.policies.files import LiveGuard, name_set

        def taken(held: PoliciesInForce) -> None:
            if self.audit.is_kept:  # asking git for the commit writes git's index
                self.audit.append({"event": "policies", "actor": "program", "reason": name_set(held, self.git)})

        return LiveGuard(self.root / "policies", tell=self.notice, taken=taken)

    @property
    def skills(self) -> Mapping[str, Skill]:
        """Return the skills by name as their files are now, or as they were when all of them last loaded."""
        return self._skills.current()

    @cached_property
    def _skills(self) -> LastGood[Mapping[str, Skill]]:
        from memkit.skills.skill import FOLDER, load_skills
        from memkit.store.files import LastGood

        return LastGood(self.root / FOLDER, lambda: load_skills(self.root), what="skills", tell=self.notice)

    @property
    def tools(self) -> list[DeclaredTool]:
        """Return the tools that ``memkit.yaml`` declares.

        Raises:
            UsageError: The parameters of one describe no arguments.
        """
        from memkit.runtime.loop.interface import DeclaredTool
        from memkit.store.schema import require_arguments

        require_arguments(self.settings["tools"], self.root / MANIFEST)
        given = ("name", "description", "parameters", "run", "dangerous", "open_world", "idempotent", "writes")
        return [DeclaredTool(**{key: tool[key] for key in given if key in tool}) for tool in self.settings["tools"]]

    @property
    def own_tools(self) -> frozenset[str]:
        """Return the names of the declared tools that belong to the store, so that a person has to trust it first."""
        from memkit.store.config import own_tools

        return frozenset(str(tool["name"]) for tool in own_tools(self.root, self.settings["tools"]))

    def require_tools(self) -> None:
        """Raise ``NotTrusted`` if the store has tools of its own and nobody trusted it."""
        if own := self.own_tools:
            self.trust.require(f"This store would run {_tools(own)}", INSTEAD)

    @property
    def recall(self) -> RecallMemory:
        """Return the turns of every session on this machine, for as long as the store keeps them."""
        from memkit.runtime.memory.tiers.recall import RecallMemory

        policy = self.memory_settings.recall
        return RecallMemory(
            self.sessions, self.clock, policy.ttl, policy.max_items, self.sealer, similar=self.by_meaning
        )

    @property
    def skill_runs(self) -> RunLog:
        """Return the journal of the skills that were run on this machine."""
        from memkit.skills.runs import RunLog

        return RunLog(state_folder(self.root) / "skills", self.clock)

    @property
    def machine(self) -> MachineState:
        """Return the data about people that only this machine holds."""
        from memkit.interchange.memkit import MachineState
        from memkit.runtime.memory.tiers.recall import RecallMemory
        from memkit.store.sessions import Checkpoints

        recall = RecallMemory(self.sessions, self.clock, sealer=self.sealer)
        steps = Checkpoints(self.checkpoints, self.sealer)
        return MachineState(self.archive, recall, self.sessions, steps, self.audit, self.sealer)

    @property
    def session_book(self) -> SessionBook:
        """Return the list of sessions kept on this machine, each for its own user."""
        from memkit.store.sessions import SessionBook

        return SessionBook(state_folder(self.root), self.recall, self.sealer, self._sessions_kept_from())

    def _sessions_kept_from(self) -> datetime:
        return seconds_before(self.clock(), self.memory_settings.recall.ttl)

    @property
    def sessions(self) -> Path:
        """Return the folder of recall memory: the turns of every session."""
        return state_folder(self.root) / "sessions"

    @property
    def checkpoints(self) -> Path:
        """Return the folder of the journals of open turns."""
        return state_folder(self.root) / "checkpoints"

    @property
    def cache(self) -> Path:
        """Return the folder of caches: they can be deleted and are rebuilt."""
        return cache_folder(self.root)

    def user(self, given: str | None) -> str:
        """Return whose memory is meant: ``given``, else the configured user; raise ``UsageError`` without one."""
        user = given if given is not None else self.settings["user"]
        if not str(user or "").strip():
            raise UsageError("Whose memory? Give --user, set MEMKIT_USER, or write 'user:' in memkit.yaml.")
        return str(user)

    def user_if_named(self, given: str | None) -> str | None:
        """Return whose memory to look at, None for everybody's; raise ``UsageError`` for a name set but empty."""
        named = given if given is not None else self.settings["user"]
        return None if named is None else self.user(named)

    def person(
        self, user: str, *, session: str | None = None, turn: int | None = None, agent: str | None = None
    ) -> Origin:
        """Return the origin of a person's action at the command line; ``agent`` limits it to that agent's records."""
        return Origin(actor="person", user_id=user, session_id=session, turn_id=turn, agent_id=agent)

    def writer(self, user: str, *, session: str | None = None, turn: int | None = None) -> Origin:
        """Return the origin of what is written here: by a person, an agent, or the client it is open for."""
        own = self.person(user, session=session, turn=turn)._replace(actor=writer(), taint=())
        return self._client or own

    def opened_for(self, client: Origin) -> Workspace:
        """Return the same open store with its writes made in a client's name; only the original closes what is open."""
        _ = self.archive
        seat = copy.copy(self)
        seat._client = client
        return seat

    def leave_traces(self, wanted: bool) -> None:
        """Turn on or off the recording of everything from now on: audit records, counts and events."""
        self.archive.leaves_traces = self.audit.is_kept = wanted

    def commit_memory(self, *, force: bool = False, added: int = 1, subject: str = "") -> str | None:
        """Commit the archive when its turn has come, under ``subject`` or a count, and return the commit's id.

        The synced shard is the acknowledgement, so a failing commit is reported and loses nothing.
        """
        due = {"each": 1, "batch": BATCH, "manual": None}[self.settings["git.commit"]]
        self._told = 0
        try:
            pending = self._pending(added)
            if not force and (due is None or pending < due):
                return None
            from memkit.store.chain_history import lines_of_others, require_whole, write_heads
            from memkit.store.git import require_not_ignored, require_untracked

            require_untracked(self.git)
            require_not_ignored(self.git)
            require_whole(self.archive, self.git)
            for one in lines_of_others(self.archive.log, self.git):
                self.notice(f"{one.path}: {one.message} They go into this commit.")
            write_heads(self.root, self.archive, self.git)
            commit = self.git.commit(subject or _subject(pending), self._remembered())
        except (MemkitError, OSError) as error:
            if force:
                raise
            self._not_committed(error)
            return None
        self._pending_file.unlink(missing_ok=True)
        if commit is not None and self._branch() is None:
            from memkit.store.git import DETACHED

            self.notice(DETACHED)
        return commit

    def _remembered(self) -> list[str]:
        """Return the folders that programs write in a store, as opposed to those that people write."""
        learned = "domains/learned"  # git refuses a path that does not exist
        return ["archive", learned] if (self.root / learned).is_dir() else ["archive"]

    def end_batch(self, *, added: int | None = None, subject: str = "") -> None:
        """Commit what a chat, import or erasure wrote; if that fails it is reported, and nothing is lost.

        ``added`` is the number of changes; by default those that the archive reported.
        """
        if self.settings["git.commit"] == "manual":
            return
        try:
            self.commit_memory(force=True, added=self._told if added is None else added, subject=subject)
        except (MemkitError, OSError) as error:
            self._not_committed(error)

    def _not_committed(self, error: MemkitError | OSError) -> None:
        why = f"{error.strerror or error}." if isinstance(error, OSError) else str(error)
        self.notice(f"Memory is safe but not committed: {why}")

    def _observed(self, event: Mapping[str, Any]) -> None:
        """Record an event of the archive, and immediately report what a person should know."""
        if event["event"] == "damage":
            self._heard(event["problems"])
            return
        self.audit.append(event)
        self._told += event["event"] not in UNWRITTEN
        if event["event"] == "torn":
            self.notice(
                f"An interrupted write was repaired; its {event['bytes']} bytes are kept in {event['kept_in']}."
            )

    def _heard(self, problems: Sequence[ShardProblem]) -> None:
        """Report once which lines are withheld, missing or damaged; the first few by name."""
        self.damage += problems
        if not self.tells_damage:
            return
        for problem in problems[:NAMED]:
            place = f"{problem.path}:{problem.line}" if problem.line else problem.path
            self.notice(f"{place}: {problem.code}: {problem.message}")
        if any(problem.code != "moved_back" for problem in problems):
            more = f"{len(problems) - NAMED} more. " if len(problems) > NAMED else ""
            self.notice(f"{more}It is not served; for details: memkit fsck")

    @property
    def _pending_file(self) -> Path:
        return state_folder(self.root) / "pending"

    def _pending(self, added: int) -> int:
        """Return how many changes wait for a commit, one byte each in a file that only grows."""
        path = self._pending_file
        if added and path.parent.is_dir():
            with path.open("ab") as counter:
                counter.write(b"." * added)
        return path.stat().st_size if path.exists() else 0

    def release_at_close(self, release: Callable[[], None]) -> None:
        """Call ``release`` when the store is closed, for example for a session open in this process."""
        self._held.append(release)

    def close(self) -> None:
        """Release the archives and sessions that were opened."""
        while self._held:
            self._held.pop()()
        if "archive" in self.__dict__:
            self.archive.close()
        while self._past:
            self._past.popitem()[1].close()

    def __enter__(self) -> Workspace:
        """Return the workspace itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def _tools(names: Collection[str]) -> str:
    first, *more = sorted(names)
    return f"the tool {first}" + (f" and {len(more)} more" if more else "")


def _subject(pending: int) -> str:
    return f"Remember {pending} change{'' if pending == 1 else 's'}" if pending else "Remember"


def _finish_erasure(root: Path, notice: Notice | None) -> None:
    """Finish an erasure that was killed, before anybody reads half-old, half-new data."""
    if not (state_folder(root) / "erase").exists():
        return
    from memkit.privacy.journal import resume

    told = resume(root)
    if told and notice:
        notice(told)
