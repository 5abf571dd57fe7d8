"""Erase a person: their lines in every commit, their sessions and counts, and prove that nothing is left."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from memkit import __version__
from memkit.errors import EnvironmentFault, MemkitError, NegativeAnswer, StoreNotFound, UsageError
from memkit.generate.runtime_wheel import runtime_files
from memkit.generate.targets import installed_source
from memkit.privacy.belonging import ARCHIVE, Belonging, Subject, holds_lines, objects_in
from memkit.privacy.journal import NOTHING_FOUND, ErasureJournal, Unproven
from memkit.privacy.needles import KeptNeedles, Shipped
from memkit.privacy.rebuilding import Rebuilt, rebuild
from memkit.privacy.repository import Repository, repository_of
from memkit.privacy.scan import (
    Certificate,
    Place,
    Scanner,
    as_text,
    files_below,
    git_files,
    holds_messages,
    person_digest,
    require_place,
)
from memkit.privacy.survey import Survey, stores_inside
from memkit.runtime.host.terminal import shell_word
from memkit.runtime.memory.archive.view import burials
from memkit.runtime.memory.index.steps import SeveralCalled
from memkit.runtime.memory.log.clone import cache_folder, lock_file
from memkit.runtime.memory.log.log import SHARD_LIMIT, claimed_link, shard_name, shard_writer
from memkit.runtime.memory.log.shards import LOCK_SECONDS, locked
from memkit.runtime.memory.record.lines import JSON, decode_line, new_id, shown
from memkit.store.chain_history import heads_without, tips_of_heads
from memkit.store.config import OUTBOX, load_settings
from memkit.store.files import WrittenPlaces, write_whole
from memkit.store.git import writing
from memkit.store.git_process import require_git
from memkit.store.layout import git_folder, keys_home, require_writable_inside
from memkit.store.schema import suggestion
from memkit.store.tokens import ServerTokens
from memkit.use_cases.store import starter_files
from memkit.workspace import Workspace, open_workspace


@dataclass(frozen=True)
class ErasurePlan:
    """What an erasure would do."""

    user_id: str
    removed: Mapping[str, int]
    about: str | None = None
    """The person in the user's memory to erase; None if it is the user."""
    told: tuple[str, ...] = ()
    """The memories and statements that name them, to look at before they go."""
    commits: int = 0
    """Number of commits in the history; those that hold something are rewritten, with all their descendants."""
    refs: tuple[str, ...] = ()
    remotes: Mapping[str, str] = field(default_factory=dict)
    top: Path | None = None
    """The root of the repository; None without one."""
    elsewhere: tuple[str, ...] = ()
    """Other repositories and large files in it, which are not searched."""
    quotes: tuple[str, ...] = ()
    """Ids of others' lines that repeat a whole text; they stay."""
    quoting: tuple[str, ...] = ()
    """Files written by people that quote a text, and stay as they are."""
    projects: tuple[Path, ...] = ()
    """Projects generated elsewhere that hold something about the person."""
    was_sealed: bool = False
    """Whether every text was sealed from the beginning, with a key that never left this machine."""


@dataclass(frozen=True)
class Erasure:
    """What was done, and how much of it is proven."""

    plan: ErasurePlan
    done: bool
    removed: Mapping[str, int]
    scanned: tuple[Place, ...] = ()
    unprovable: tuple[Mapping[str, str], ...] = ()
    certificate: Path | None = None
    commit_map: Mapping[str, str] = field(default_factory=dict)
    sealed_copies: tuple[str, ...] = ()
    """Remotes that only ever had the sealed texts, so that destroying the key erased them."""

    @property
    def proven(self) -> bool:
        """Return whether nothing was found and nothing is left to others."""
        return not self.unprovable and not self.found

    @property
    def found(self) -> bool:
        """Return whether something about the person is left in a searched place."""
        return any(place.traces for place in self.scanned)


def erase_user(
    workspace: Workspace,
    user: str,
    *,
    confirm: Callable[[ErasurePlan], None],
    out: Path | None = None,
    dry_run: bool = False,
    redact_files: bool = False,
    whole_repository: bool = False,
    about: str | None = None,
) -> Erasure:
    """Remove everything held on ``user``, prove it by scanning, and write a certificate.

    Args:
        workspace: The store.
        user: Whose memory to erase.
        confirm: Asks the person, and raises if the answer is no.
        out: The file for the certificate, outside git. Default: beside the keys of the store.
        dry_run: Only say what would be done.
        redact_files: Also replace quotes in files written by people.
        whole_repository: Agree to rewriting a repository of which the store is only a part.
        about: The person in the user's memory to erase alone: what names them, and all that was drawn from it.

    Raises:
        EnvironmentFault: Something here would keep, lose or break a part, such as a conversation still in
            progress, or the keys here are those of another clone; nothing was changed.
        NegativeAnswer: Nothing is held on ``user``, or about ``about``.
        UsageError: ``out`` is not a place for a certificate.
    """
    repository = repository_of(workspace.root)
    if out is not None:
        ignored = bool(workspace.git.run("check-ignore", "--", str(out.resolve()), check=False).strip())
        require_place(out, repository.top if repository else workspace.root, ignored=ignored)
    subject = Subject(user, lambda line: shown(line, workspace.sealer), _called(workspace, user, about))
    with _all_locked(workspace.root, repository), workspace.session_book.all_held(user):
        _require_erasable(workspace.root, repository, whole_repository=whole_repository)
        if workspace.server:
            workspace.server.require_rights()
        earlier = _owed(workspace, subject)
        if workspace.shared is not None:
            workspace.shared.ping()
            workspace.shared.pull(user)  # other instances' data is searched here, and is removed from both
        survey = _survey(workspace, repository, subject, redact_files=redact_files, earlier=earlier)
        only_key = about is None and _has_only_key(workspace, user)
        plan = replace(_plan(survey, only_key=only_key), about=about, projects=_projects_with(survey))
        if survey.is_empty() and earlier is None and not plan.projects:
            if about:
                raise NegativeAnswer(f"Nothing is stored about {about!r} for {user!r}. Nothing was changed.")
            near = suggestion(user, workspace.archive.users())
            raise NegativeAnswer(f"Nothing is stored about {user!r}. Nothing was changed.{near}")
        if dry_run:
            return Erasure(plan, done=False, removed=plan.removed)
        workspace.keys.require_use()
        confirm(plan)
        WrittenPlaces(workspace.root).forget_what_is_gone()
        key = workspace.keys.store_key(create=True)
        assert key is not None
        rebuilt: Rebuilt | None = None
        owed: Mapping[str, Any] = _owes(survey, key, earlier)
        needles = survey.needles.to_keep(key, survey.folder)
        if not survey.is_empty() or any(place.traces for place in _scan(survey, owed)):
            rebuilt, owed = _change(workspace, survey, needles, owed, was_sealed=plan.was_sealed)
        if workspace.shared is not None:
            workspace.shared.drop(user)
        if about is None:
            workspace.keys.destroy(user)
            ServerTokens(workspace.root).revoke_all(user)
        erasure = _proven(workspace, survey, plan, owed, rebuilt, out)
        if erasure.proven:
            Unproven(workspace.root).settle(owed["digest"])
        else:
            Unproven(workspace.root).keep({**owed, NOTHING_FOUND: not erasure.found}, needles.marks)
        return erasure


def _called(workspace: Workspace, user: str, about: str | None) -> tuple[tuple[str, ...], ...]:
    """Return the words by which the user's memory refers to a person; empty if no person is given.

    Raises:
        EnvironmentFault: Memory is on a server, which can only erase whole users.
        UsageError: The name is ambiguous.
    """
    if about is None:
        return ()
    if workspace.server or workspace.shared:
        raise EnvironmentFault(
            "Memory on a server is erased by user. Move it to files first ('memkit backend move --to files'), or "
            "reject each record that names them. Nothing was changed."
        )
    try:
        if called := workspace.archive.callings(user, about):
            return called
        raise UsageError("--about needs a name, such as Tom or 'my brother'.")
    except SeveralCalled as error:
        raise UsageError(
            f"Several are called {about!r}: {', '.join(error.titles)}. Name the relation, such as 'my sister'."
        ) from None


def written_by_tools(store: Path) -> Iterator[Path]:
    """Yield the files that the tools of a store write, as ``memkit.yaml`` declares them."""
    try:
        tools = load_settings(store)["tools"]
    except MemkitError:  # a broken store inside this one: its files are searched like any others
        return
    for tool in tools:
        shipped = OUTBOX[2:] if tool["run"] == list(OUTBOX) else ()
        for name in tool.get("writes", shipped):
            place = Path(os.path.normpath(store / Path(name).expanduser()))
            if ".git" not in place.parts:
                yield from files_below(place) if place.is_dir() else (place,)


def _projects_with(survey: Survey) -> tuple[Path, ...]:
    """Return the projects that were generated elsewhere from a store and may hold something about the person."""
    found = []
    for project in WrittenPlaces(survey.store).places("project"):
        if project.is_relative_to(survey.top):
            continue
        try:
            with open_workspace(project) as inside:
                if _survey(inside, repository_of(project), survey.subject).is_empty():
                    continue
        except StoreNotFound:
            continue
        except MemkitError:
            pass  # reported when its turn comes
        found.append(project)
    return tuple(found)


def _survey(
    workspace: Workspace, repository: Repository | None, subject: Subject, *, redact_files: bool = False,
    earlier: Mapping[str, Any] | None = None,
) -> Survey:  # fmt: skip
    return Survey(
        workspace.root, repository, replace(subject, opened=lambda line: shown(line, workspace.sealer)),
        shipped=replace(_shipped(), served=server.held(subject.user_id) if (server := workspace.server) else ()),
        redact_files=redact_files, tools=written_by_tools,
        kept=_kept_needles(workspace, earlier) if earlier else None,
    )  # fmt: skip


def _require_erasable(store: Path, repository: Repository | None, *, whole_repository: bool) -> None:
    """Raise ``EnvironmentFault`` if the history must not be rewritten."""
    if repository is None:
        return
    require_git()
    repository.require_erasable()
    if repository.top != store and not whole_repository:
        raise EnvironmentFault(
            f"The store is part of the repository {repository.top}, and erasing rewrites its commits. Confirm that "
            "with --whole-repository. Nothing was changed."
        )


@contextmanager
def _all_locked(store: Path, repository: Repository | None) -> Iterator[None]:
    """Hold the locks of the store, of the stores inside it, which agents may be writing to, and of commits."""
    with ExitStack() as locks:
        inside = stores_inside(store, repository.top if repository else store)
        for each in (store, *(each for each in inside if lock_file(each).parent.is_dir())):
            locks.enter_context(locked(lock_file(each), timeout=LOCK_SECONDS))
        if repository is not None and (folder := git_folder(store)) is not None:
            locks.enter_context(writing(folder))
        yield


def _shipped() -> Shipped:
    starters = {path: content.decode() for path, content in starter_files("memory").items()}
    templates = (path.read_text("utf-8", "replace") for path in installed_source().files.values())
    runtime = (content.decode("utf-8", "replace") for content in runtime_files().values())
    return Shipped(starters, chain(templates, runtime))


def _plan(survey: Survey, *, only_key: bool) -> ErasurePlan:
    repository = survey.repository
    is_part = bool(survey.subject.called)
    plan = ErasurePlan(
        survey.user_id, survey.removed(), told=survey.told(),
        quotes=() if is_part else tuple(sorted(survey.census.quotes)), quoting=tuple(survey.quoting),
        was_sealed=only_key and not (survey.census.in_clear or survey.redacts_files),
    )  # fmt: skip
    if repository is None:
        return plan
    return replace(
        plan, commits=repository.commit_count(), refs=tuple(repository.refs()), remotes=repository.remotes(),
        top=repository.top, elsewhere=tuple(repository.elsewhere()),
    )  # fmt: skip


def _has_only_key(workspace: Workspace, user: str) -> bool:
    """Return whether the key of ``user`` is here, and was never written to a file for other machines."""
    told = (event for event in workspace.audit.events(event="key") if event.get("user_id") in (None, user))
    copied = any(str(event.get("reason")).startswith(("exported", "imported")) for event in told)
    return workspace.keys.user_key(user) is not None and not copied


def _owed(workspace: Workspace, subject: Subject) -> Mapping[str, Any] | None:
    """Return what an earlier erasure of this subject still has to finish: what it removed, and what to look for."""
    key = workspace.keys.store_key()
    return None if key is None else Unproven(workspace.root).of(person_digest(key, subject.whole_name))


def _kept_needles(workspace: Workspace, owed: Mapping[str, Any]) -> KeptNeedles:
    return KeptNeedles(workspace.keys.store_key() or b"", Unproven(workspace.root).marks_of(owed))


def _owes(survey: Survey, key: bytes, earlier: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the record of unfinished work, kept until nothing is found any more."""
    head = survey.repository.head()[1] if survey.repository else None
    fresh: dict[str, Any] = {"digest": person_digest(key, survey.subject.whole_name), "before": head}
    fresh |= {"removed": {}, "tombstones": 0}
    return fresh | {name: value for name, value in (earlier or {}).items() if name != "needles"}


def _change(
    workspace: Workspace, survey: Survey, needles: KeptNeedles, owed: Mapping[str, Any], *, was_sealed: bool
) -> tuple[Rebuilt | None, Mapping[str, Any]]:
    """Build everything aside, then put it in place; a kill in between leaves the old store or the new one."""
    repository, journal = survey.repository, ErasureJournal(workspace.root)
    top = repository.top if repository else None
    with journal.preparing(top):
        server, barred = workspace.server, 0
        wanted: dict[Path, Content] = {change.path: change.content for change in survey.file_changes}
        gone = _links_that_go(server.held(survey.user_id), survey.belonging) if server else set[str]()
        wanted |= heads_without(workspace.root, _tips_that_go(workspace.root, wanted) | gone)
        events = burials(
            workspace.keys.store_key(), survey.user_id, survey.census.values, now=workspace.clock(), new_id=new_id
        )
        if server:
            barred = sum(1 for _ in events)  # the tombstones are written once the lines are gone
        staged: dict[Path, str | None] = {}
        for path, content, lines in _with_tombstones(workspace, wanted, (event.to_data() for event in events)):
            require_writable_inside(workspace.root, path)
            staged[path] = journal.stage(len(staged), content, like=path)
            barred += lines
        rebuilt = rebuild(repository, journal.new_repository, survey.remainder, gone) if repository else None
        removed = Counter(owed["removed"])
        removed.update(survey.removed() | (rebuilt.counts() if rebuilt else {}))
        went_with_key = was_sealed and not (rebuilt and (rebuilt.cleaned or rebuilt.renamed))
        owed = {
            "went_with_key": went_with_key, **owed, "removed": dict(removed),
            "tombstones": owed["tombstones"] + barred,
        }  # fmt: skip
        for path in wanted:
            require_writable_inside(workspace.root, path)
        for path, made in (*wanted.items(), *((change.path, change.content) for change in survey.state_changes)):
            if path not in staged:
                left = made() if callable(made) else made
                staged[path] = None if left is None else journal.stage(len(staged), left, like=path)
        journal.commit(journal.meant(top, list(staged.items()), owed), needles.marks)
        journal.change()
    if server:
        writers = {shard_writer(shard)[0] for shard in server.shards(())}
        server.erase(survey.user_id, survey.belonging.owns, server.witness.relinking(writers))
        workspace.archive.drop_index()
        workspace.archive.bury(survey.user_id, survey.census.values)
    if repository:
        workspace.git.run("update-index", "-q", "--refresh", check=False)
    subject = f"Bar {barred} erased value{'' if barred == 1 else 's'}" if barred else ""
    workspace.end_batch(added=barred, subject=subject)
    return rebuilt, owed


Content = bytes | Callable[[], bytes] | None
"""The future content of a file; None if the file is to be removed."""


def _made(content: Content) -> bytes:
    return content() if callable(content) else content or b""


def _with_tombstones(
    workspace: Workspace, wanted: Mapping[Path, Content], events: Iterable[Mapping[str, JSON]]
) -> Iterator[tuple[Path, bytes, int]]:
    """Yield this clone's shards with the events appended, and how many of them each holds."""
    month = workspace.root / ARCHIVE / f"{workspace.clock():%Y-%m}"
    path, content, part, lines = month, bytearray(), 0, 0
    for writer, line in workspace.archive.as_lines(events):
        while not part or len(content) + len(line) > SHARD_LIMIT:
            if lines:
                yield path, bytes(content), lines
            part, lines = part + 1, 0
            path = month / shard_name(writer, part)
            content = bytearray(_made(wanted[path] if path in wanted else path.read_bytes() if path.exists() else b""))
        content += line
        lines += 1
    if lines:
        yield path, bytes(content), lines


def _links_that_go(served: Iterable[bytes], belonging: Belonging) -> set[str]:
    """Return the links of the lines on a server that it deletes or links anew."""
    objects = ((text, data) for line in served for text, data in objects_in(line))
    return {claimed_link(data).hex() for text, data in objects if belonging.owns(data) or text in belonging.relinked}


def _tips_that_go(root: Path, wanted: Mapping[Path, Content]) -> set[str]:
    """Return the links recorded as heads that no line has any more."""
    gone, tips = set[str](), tips_of_heads(root)
    for path, content in wanted.items():
        if holds_lines(path.name) and path.is_file() and (before := _links_in(path.read_bytes().split(b"\n"), tips)):
            gone |= before - _links_in(_made(content).split(b"\n"), tips)
    return gone


def _links_in(lines: Iterable[bytes], among: Collection[str]) -> set[str]:
    """Return those of the given links that lines have."""
    objects = (data for line in lines for _, data in objects_in(line))
    return {link for data in objects if (link := claimed_link(data).hex()) in among}


def _proven(
    workspace: Workspace, survey: Survey, plan: ErasurePlan, owed: Mapping[str, Any], rebuilt: Rebuilt | None,
    out: Path | None,
) -> Erasure:  # fmt: skip
    """Scan every place again, write the certificate, and keep what a later run needs unless all is proven."""
    workspace.audit.append({"event": "erasure", "actor": "person", "ids": [], "reason": owed["digest"]})
    workspace.archive.drop_index()  # to be rebuilt; any word can occur by chance among a million digests
    scanned = [*_scan(survey, owed), *_scan_server(workspace, survey)]
    sealed_copies = tuple(plan.remotes) if owed.get("went_with_key") else ()
    unprovable = [*_left_to_others(plan, without=sealed_copies), *_left_elsewhere(survey), *_left_to_server(workspace)]
    for project in plan.projects:
        _take_in(project, survey.user_id, plan.about, scanned, unprovable)
    head = survey.repository.head()[1] if survey.repository else None
    certificate = Certificate(
        digest=owed["digest"],
        at=workspace.clock(),
        versions={"memkit": __version__} | ({"git": survey.repository.version()} if survey.repository else {}),
        heads={"before": owed["before"], "after": head},
        removed=owed["removed"],
        searched=survey.needles.counts(),
        scanned=scanned,
        unprovable=[{name: survey.needles.redacted(text) for name, text in each.items()} for each in unprovable],
        sealed_copies=sealed_copies,
        tombstones={"count": owed["tombstones"], "key": str(workspace.keys.folder)},
    )
    place = (
        out or keys_home().parent / "certificates" / f"{workspace.clock():%Y%m%dT%H%M%SZ}-{owed['digest'][:12]}.json"
    )
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_whole(place, as_text(certificate.to_data()).encode(), mode=0o600)
    commit_map = {old: new for old, new in (rebuilt.commits if rebuilt else {}).items() if old != new}
    if commit_map:
        lines = "".join(f"{old} {new}\n" for old, new in commit_map.items())
        write_whole(place.with_name(f"{place.name}.commits"), lines.encode(), mode=0o600)
    return Erasure(plan, True, owed["removed"], tuple(scanned), tuple(unprovable), place, commit_map, sealed_copies)


def _take_in(
    project: Path, user: str, about: str | None, scanned: list[Place], unprovable: list[Mapping[str, str]]
) -> None:
    """Erase the person in a project elsewhere; a project with its own history is left to its owner."""
    asked = f"whoever maintains it: erase the same user there (memkit memory erase --store {shell_word(str(project))})"
    if repository_of(project) is not None:
        unprovable.append({"place": f"the project {project}, which has its own history", "owner": asked})
        return
    try:
        with open_workspace(project) as inside:
            erasure = erase_user(inside, user, about=about, confirm=lambda _: None)
    except MemkitError as error:
        unprovable.append({"place": f"the project {project}", "owner": f"{asked}. {error}".removesuffix(".")})
        return
    scanned += [replace(place, place=f"{place.place} of {project}") for place in erasure.scanned]
    unprovable += erasure.unprovable


def _left_elsewhere(survey: Survey) -> Iterator[Mapping[str, str]]:
    """Yield the files outside the searched places that hold something: exports, and files that tools write."""
    exports = (path for path in WrittenPlaces(survey.store).places("export") if not path.is_relative_to(survey.top))
    for path, what in chain(
        ((path, "which memkit exported") for path in exports),
        ((path, "which a tool of this store writes") for path in survey.tools_elsewhere() if path.exists()),
    ):
        try:
            holds = survey.scanner.files(Place(""), path.parent, [path]).traces > 0
        except OSError:
            holds = True
        if holds:
            yield {"place": f"{path}, {what}", "owner": "whoever keeps it: remove the person, or delete it"}


def _scan(survey: Survey, owed: Mapping[str, Any]) -> Iterator[Place]:
    scanner = Scanner(survey.needles)
    store, repository = survey.store, survey.repository
    yield scanner.files(Place("working tree"), survey.top, survey.files(), survey.is_own)
    # The list of export paths is handled with the exports; it may name the person as long as they exist.
    # The unfinished work consists of keyed digests, so many for a long memory that words occur in them by chance.
    without = [cache_folder(store), WrittenPlaces(store).file, *Unproven(store).places(owed["digest"])]
    yield scanner.files(Place("state"), store, files_below(store / ".memkit", without=without))
    yield scanner.files(Place("cache"), store, files_below(cache_folder(store)))
    if repository:
        yield scanner.objects(Place("git objects"), repository.git)
        yield scanner.names(Place("git refs"), [*repository.refs(), *repository.symbolic_refs()])
        folder = repository.folder
        is_own = lambda path: holds_messages(path.relative_to(folder))  # noqa: E731
        yield scanner.files(Place("git files"), folder, git_files(folder), is_own)


def _scan_server(workspace: Workspace, survey: Survey) -> Iterator[Place]:
    """Search what a server still shows about the person, and what everybody shares."""
    if server := workspace.server:
        place = Place(f"archive in {server.shown}")
        for line in server.held(survey.user_id):
            place.items += 1
            place.traces += survey.belonging.owns(decode_line(line)) or survey.needles.repeated_in(line.decode())
        yield place
    if (shared := workspace.shared) is not None:
        yield Place(f"sessions in {shared.shown}", 1, shared.held(survey.user_id))


def _left_to_server(workspace: Workspace) -> Iterator[Mapping[str, str]]:
    """Yield the places that keep deleted rows out of reach of any query."""
    if server := workspace.server:
        asked = f"whoever maintains {server.shown}"
        yield {"place": "the write-ahead log and dead rows", "owner": f"{asked}: VACUUM, and let archived log expire"}
        yield {"place": "replicas", "owner": f"{asked}: check that each has replayed the log, or recreate it"}
        yield {"place": "backups and dumps", "owner": f"{asked}: let those made before today expire"}
        yield {
            "place": "indexes of other instances",
            "owner": "each machine that serves this memory: the next question about the user drops them; "
            "'memkit index rebuild' does so at once",
        }


def _left_to_others(plan: ErasurePlan, *, without: Sequence[str]) -> Iterator[Mapping[str, str]]:
    for place in plan.elsewhere:
        yield {"place": place, "owner": "whoever keeps it: search it, and if it is a store, erase there as well"}
    for name, url in plan.remotes.items():
        if name in without:
            continue
        yield {
            "place": f"remote {name} ({url}) and every clone of it",
            "owner": f"whoever maintains {url}: push with --force, delete old branches and tags there, have its server "
            "prune unreferenced objects, and recreate every other clone",
        }
