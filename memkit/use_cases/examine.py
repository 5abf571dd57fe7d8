"""Examine this machine and the store."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from memkit import __version__
from memkit.errors import EnvironmentFault, MemkitError, NotTrusted, StoreFault, StoreNotFound
from memkit.policies.files import FOLDER as POLICIES
from memkit.policies.files import are_compiled
from memkit.privacy.belonging import ARCHIVE
from memkit.privacy.journal import UNPROVEN, ErasureJournal, Unproven
from memkit.privacy.sealer import ErasureFinding, Sealing, examined_keys, examined_sealing, examined_state
from memkit.runtime.host.terminal import counted
from memkit.runtime.memory.log.check import clear_lines
from memkit.runtime.memory.log.clone import (
    CACHE,
    MACHINE,
    cache_folder,
    foreign_states,
    lock_file,
    own_state,
    state_folder,
)
from memkit.runtime.memory.record.lines import ArchiveError
from memkit.runtime.memory.tiers.budget import counter
from memkit.skills.skill import load_skills
from memkit.store.git import Git, require_not_ignored, require_not_sparse, require_untracked
from memkit.store.git_process import git_version
from memkit.store.layout import find_store, git_folder, is_writable
from memkit.store.sessions import damaged_sessions
from memkit.use_cases.models import asked_once, wanted
from memkit.workspace import Workspace, open_workspace

EXACT = (
    " Exact counts take tiktoken's vocabulary, which it fetches once where there is a network, into TIKTOKEN_CACHE_DIR "
    """where that is set: python -c 'import tiktoken; tiktoken.get_encoding("o200k_base")'"""
)
NOT_STARTED = "not started; 'memkit doctor --deep' starts it, and only evolved programs need one"
LEAST_ROOM = 1 << 20
"""Bytes without which a disk counts as full: a remark with its index takes some tens of thousands."""
FAILURES = (MemkitError, ArchiveError, OSError)
"""Failures that prevent a check, and are themselves findings."""


class DoctorCheck(NamedTuple):
    """The result of one check."""

    name: str
    ok: bool
    detail: str


def examine(store: Path | None, *, call: bool = False, deep: bool = False) -> list[DoctorCheck]:
    """Return what works on this machine and, if there is a store, in it; nothing is changed or downloaded.

    With ``call`` the store's model is asked once; with ``deep`` a sandbox and a container are started, which costs more
    than everything else together and matters only for evolved programs.
    """
    return [*_machine(deep=deep), *_store(store, call=call)]


def _machine(*, deep: bool) -> Iterator[DoctorCheck]:
    version = platform.python_version()
    yield DoctorCheck("memkit", True, __version__)
    yield DoctorCheck("python", sys.version_info >= (3, 11), version)
    yield _tried("git", git_version)
    tokens = counter()
    more = EXACT if tokens.name == "estimate" else ""
    yield DoctorCheck("token counter", True, f"{tokens.name} ({tokens.error_bound}){more}")
    yield DoctorCheck("sandbox", True, _sandbox() if deep else NOT_STARTED)
    yield DoctorCheck("container", True, _container() if deep else NOT_STARTED)
    yield _targets()


def _sandbox() -> str:
    """Return how programs are confined here, determined by starting a sandbox."""
    from memkit.sandbox import available

    report = available()
    return str(report) if report.ok else f"none here; only evolved programs need one. {report}"


def _container() -> str:
    """Return which runtime can start a container for programs here."""
    from memkit.sandbox import SandboxUnavailable, usable_runtime

    try:
        return str(usable_runtime())
    except SandboxUnavailable as error:
        return f"none here; only 'memkit evolve --container' needs one. {error}"


def _targets() -> DoctorCheck:
    """Return the render targets available here; an unusable plug-in is a fault of this machine."""
    from memkit.generate.plugins import load_plugins
    from memkit.generate.targets import target_names

    try:
        own = target_names()
        more, problems = load_plugins(own)
    except FAILURES as error:
        return DoctorCheck("targets", False, _why(error))
    told = " ".join(problem.message for problem in problems)
    return DoctorCheck("targets", not told, told or ", ".join((*own, *more)))


def _store(given: Path | None, *, call: bool) -> Iterator[DoctorCheck]:
    try:
        root = find_store(given)
    except StoreNotFound as error:
        wanted = given is not None or "MEMKIT_STORE" in os.environ
        yield DoctorCheck("store", not wanted, str(error) if wanted else f"not checked. {error}")
        return
    except StoreFault as error:
        yield DoctorCheck("store", False, str(error))
        return
    told: list[str] = []
    try:
        workspace = open_workspace(root, notice=told.append)
    except MemkitError as error:
        yield DoctorCheck("store", False, str(error))
        return
    with workspace:
        yield DoctorCheck("store", True, str(root))
        yield from (DoctorCheck("opening", False, news) for news in told)
        yield _tried("repository", lambda: _repository(workspace.git))
        yield _tried("git identity", lambda: _identity(workspace.git))
        yield _model(workspace, call=call)
        if workspace.by_meaning:
            yield _tried("vectors", lambda: _vectors(workspace))
        yield _tried("archive", lambda: _archive(workspace))
        yield _tried("writing", lambda: _writing(root))
        yield _tried("own state", lambda: _own_state(root))
        yield _tried("sessions", lambda: _sessions(root))
        fault = workspace.guard.fault
        yield DoctorCheck("policies", fault is None or are_compiled(root / POLICIES), fault or "loaded")
        yield _tried("skills", lambda: _loaded(lambda: load_skills(root)))
        yield _tried("domains", lambda: _domains(root))
        yield from (DoctorCheck(*found) for found in _privacy(workspace))
        yield _erasure(root)


def _erasure(root: Path) -> DoctorCheck:
    unproven, under_way = Unproven(root), ErasureJournal(root).phase is not None
    if not under_way and not unproven.folder.is_dir():
        return DoctorCheck("erasure", True, "none in progress")
    if under_way or not unproven.is_left_to_others():
        return DoctorCheck("erasure", False, UNPROVEN)
    return DoctorCheck("erasure", True, "nothing is left here; certificates name what is left to others")


def _tried(name: str, look: Callable[[], str]) -> DoctorCheck:
    """Return the result of ``look``, or the failure that prevented it."""
    try:
        return DoctorCheck(name, True, look())
    except FAILURES as error:
        return DoctorCheck(name, False, _why(error))


def _why(error: Exception) -> str:
    return f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)


def _repository(git: Git) -> str:
    top = git.require_top("nothing in it has a history")
    require_untracked(git)
    require_not_ignored(git)
    require_not_sparse(git)
    return str(top)


def _model(workspace: Workspace, *, call: bool) -> DoctorCheck:
    """Return the store's model provider, with key and SDK checked; the model itself is asked only with ``call``."""
    try:
        found = asked_once(workspace, wanted(workspace), call=call)
    except NotTrusted as error:
        return DoctorCheck("model", True, f"not checked. {error}")
    except FAILURES as error:
        return DoctorCheck("model", False, _why(error))
    key = f", with the key in {found.key}" if found.key else ""
    asked = "" if not found.model else "; it answers" if call else "; 'memkit doctor --call' asks it"
    return DoctorCheck("model", found.fault is None, found.told if found.fault else f"{found.told}{key}{asked}")


def _vectors(workspace: Workspace) -> str:
    """Return the model that searches by meaning; a fault if it is missing or not the store's."""
    from memkit.runtime.embeddings.interface import EmbeddingError, hold_to, identity

    try:
        hold_to(str(workspace.settings["retrieval.vector_model"]), workspace.embedder)
    except EmbeddingError as error:
        raise EnvironmentFault(str(error)) from error
    return identity(workspace.embedder)


def _identity(git: Git) -> str:
    git.require_identity()
    return "set"


def _archive(workspace: Workspace) -> str:
    archive = workspace.archive
    problems = [*archive.check(), *archive.chain_problems()]
    if problems:
        codes = ", ".join(sorted({one.code for one in problems}))
        raise StoreFault(f"{counted(len(problems), 'problem')} ({codes}): run 'memkit fsck'")
    return "every line is readable"


def _writing(root: Path) -> str:
    """Return that everything of a store can be written; a fault names what cannot, and what would fail."""
    shards = sorted((root / ARCHIVE).glob("*/*.jsonl"))[-1:]
    git = git_folder(root)
    needs = {
        "nothing can be remembered": (lock_file(root).parent, root / ARCHIVE, *(one.parent for one in shards), *shards),
        "no session can be continued": (state_folder(root),),
        "every command makes an index of its own": (root / MACHINE / CACHE, cache_folder(root)),
        "nothing can be committed": (git.shared / "objects",) if git else (),
        "settings, skills and policies cannot be changed": (root,),
    }
    failing = {what: [path for path in paths if not is_writable(path)] for what, paths in needs.items()}
    told = [f"{', '.join(map(str, paths))}: {what}" for what, paths in failing.items() if paths]
    if told:
        raise EnvironmentFault(f"not writable here: {'; '.join(told)}")
    if shutil.disk_usage(root).free < LEAST_ROOM:
        raise EnvironmentFault(f"the disk of {root} is full: nothing can be remembered until there is room")
    return "possible"


def _own_state(root: Path) -> str:
    own_state(root)
    others = foreign_states(root)
    if not others:
        return "all of it belongs to this clone"
    named = f": memkit sessions adopt {others[0].name}" if len(others) == 1 else ""
    return f"this clone's, and {counted(len(others), 'folder')} of other clones, not read{named}"


def _sessions(root: Path) -> str:
    damaged = sum(1 for _ in damaged_sessions(root))
    if damaged:
        raise StoreFault(f"{damaged} file{'' if damaged == 1 else 's'} of sessions cannot be read: run 'memkit fsck'")
    return "every file is readable"


def _domains(root: Path) -> str:
    from memkit.domains.files import check_domains

    return _loaded(lambda: check_domains(root))


def _loaded(load: Callable[[], object]) -> str:
    load()
    return "loaded"


def _privacy(workspace: Workspace) -> Iterator[ErasureFinding]:
    keys = examined_keys(workspace.keys)
    yield keys
    try:
        yield from examined_sealing(_sealing(workspace))
    except FAILURES as error:
        if keys.ok:
            yield ErasureFinding("sealing", False, _why(error))
    yield examined_state(workspace.root / ".memkit", seals=workspace.settings["privacy.seal"] == "user")


def _sealing(workspace: Workspace) -> Sealing:
    archive, on = workspace.archive, workspace.settings["privacy.seal"] == "user"
    clear, tombstones = clear_lines(archive.log) if on else 0, archive.view.tombstones
    return Sealing(
        on=on,
        clear=clear,
        unreadable=archive.seals().unreadable,
        remotes=tuple(workspace.git.run("remote", check=False).split()) if clear else (),
        erased_unchecked=tombstones.cannot_be_checked(),
        erased_back=tuple(sorted({one.user_id for one in tombstones.brought_back(archive.told(user_id=None))})),
        withheld=workspace.keys.is_withheld(),
    )
