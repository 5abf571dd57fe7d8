"""The commands about a whole store: init, migrate, git, commit, doctor, fsck, index, config."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memkit.cli.display import ListCell, ListRow
from memkit.cli.output import (
    MOST_SHOWN,
    PLACE,
    READABLE_FILE,
    Front,
    KnownName,
    MemkitGroup,
    diagnostic,
    executor_option,
    memkit_command,
    require_person,
    suggestion,
    with_trust,
    words_argument,
)
from memkit.errors import MemkitError, StoreNotFound, UsageError
from memkit.runtime.host.terminal import agent_at_work, counted, one_line, shell_word

if TYPE_CHECKING:
    from memkit.runtime.memory.interface import ShardProblem
    from memkit.store.config import SettingValue


@memkit_command("init")
@click.argument("folder", metavar="[DIR]", default=".", type=PLACE)
@click.option("--name", help="The store's name (default: the folder's).")
@click.option("--adopt", is_flag=True, help="Add only what is missing to an existing project.")
@click.option("--dry-run", is_flag=True, help="Show the diff of existing files and list new ones; do nothing.")
@click.option("--install", metavar="REQUIREMENT", help="What installs memkit elsewhere (default: as here).")
def init(front: Front, folder: Path, name: str | None, adopt: bool, dry_run: bool, install: str | None) -> None:
    """Make a store in DIR: starter skills, policies and domains, a workflow and a hook that check them, a first commit.

    With --adopt DIR may be a project with a history, or a part of one: its files stay as they are, except that those
    that decide what git keeps and what is checked gain the lines that a store needs.
    """
    from memkit.use_cases.store import make_store

    store = make_store(folder, name=name, adopt=adopt, dry_run=dry_run, install=install)
    data = {
        "root": str(store.root),
        "added": list(store.added),
        "kept": list(store.kept),
        "changed": [{"path": change.path, "lines": change.lines} for change in store.changed],
        "uncommitted": list(store.uncommitted),
        "commit": store.commit,
        "dry_run": dry_run,
    }
    notes = [diagnostic("adopt", note, severity="warning") for note in store.notes]
    if dry_run:
        lines = [line for change in store.changed for line in change.diff()]
        lines += [f"new file: {path}" for path in store.added]
        front.answer(data | {"diff": "\n".join(lines)}, [*lines, *store.notes, "Nothing was done."], diagnostics=notes)
        return
    lines = [f"Made a store in {store.root} ({len(store.added)} files, commit {(store.commit or 'none')[:10]})."]
    if store.kept:
        lines.append(f"Kept as they were: {', '.join(store.kept)}")
    lines += [f"Added to {change.path}: {line}" for change in store.changed for line in change.lines]
    if store.uncommitted:
        lines.append(f"Left for you to commit, because you were changing it: {', '.join(store.uncommitted)}")
    lines += store.notes
    lines += [
        "Next:",
        f"  cd {shell_word(str(folder))}" if str(folder) != "." else "  (you are in it)",
        '  memkit memory add "Ada prefers espresso" --user ada --type preference',
        '  memkit memory search "coffee espresso" --user ada',
        "  memkit chat --user ada",
        "  memkit gen --target langgraph",
    ]
    front.answer(data, lines, diagnostics=notes)


@memkit_command("migrate")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
def migrate(front: Front, dry_run: bool) -> None:
    """Migrate the store to the format that this version writes; each step is a commit of its own."""
    from memkit.use_cases.upkeep import migrate_store

    done = migrate_store(front.workspace, dry_run=dry_run)
    data = {"from": done.before, "to": done.after, "steps": list(done.steps), "commits": list(done.commits)}
    if not done.steps:
        front.answer(
            data, f"The store already has format {done.after}, the newest that this memkit knows: nothing to do."
        )
        return
    begin = "Would" if dry_run else "Done:"
    lines = [f"{begin} {words}." for words in done.steps]
    front.answer(data, [*lines, f"Format: {done.before or 'not stated'} → {done.after}."])


# ``memkit git``: how git merges and shows memory.

_PLACE = click.Path(exists=True, path_type=Path)


@click.group("git", cls=MemkitGroup)
def git() -> None:
    """Set up how git merges and shows shards."""


@git.command("setup")
@click.option("--remove", is_flag=True, help="Undo setup.")
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
def setup(front: Front, remove: bool, dry_run: bool) -> None:
    """Let this clone merge shards line by line, skills, policies and domains clause by clause, and show shards as text.

    Writes merge.memkit.* and diff.memkit.textconv to .git/config and rules to .git/info/attributes; both stay in this
    clone. Repeating it changes nothing.
    """
    from memkit.use_cases.store import set_up_git

    changes = set_up_git(front.workspace.root, remove=remove, dry_run=dry_run)
    would = "would " if dry_run else ""
    lines = [f"{change.file}: {would}{change.action} {change.entry}" for change in changes]
    if not lines:
        lines = ["Nothing to remove." if remove else "Everything is already set up."]
    data = {"changes": [asdict(change) for change in changes], "dry_run": dry_run}
    front.answer(data, lines)


@git.command("merge-driver", hidden=True)
@click.argument("base", type=PLACE)
@click.argument("ours", type=READABLE_FILE)
@click.argument("theirs", type=READABLE_FILE)
@click.argument("name")
def merge_driver(front: Front, base: Path, ours: Path, theirs: Path, name: str) -> None:
    """Merge THEIRS into OURS, for git: two versions of the shard or the file NAME; the exit code is 1 on a conflict."""
    from memkit.use_cases.upkeep import merge_shard_files, merge_written_files

    if name.endswith(".yaml"):
        clashes = merge_written_files(base, ours, theirs)
        conflicts = tuple(clash.place for clash in clashes)
        messages = [
            f"{name}: both sides changed {clash.place}: here {_shown(clash.ours)}, there {_shown(clash.theirs)}."
            for clash in clashes
        ]
    else:
        conflicts = merge_shard_files(ours, theirs)
        messages = [f"{name}: id {id} differs between the two sides. Keep one of the two lines." for id in conflicts]
    code = "clause-conflict" if name.endswith(".yaml") else "id-conflict"
    findings = front.remark(code, *messages, severity="error", path=name)
    front.answer({"conflicts": list(conflicts)}, ok=not conflicts, diagnostics=findings)


def _shown(value: object) -> str:
    """Return one side of a conflict on one line."""
    return "nothing" if value is None else one_line(json.dumps(value, ensure_ascii=False), 80)


@git.command("textconv", hidden=True)
@click.argument("file", type=READABLE_FILE)
def textconv(front: Front, file: Path) -> None:
    """Print the shard FILE as sentences, one per line, for git; sealed text is opened if its key is here."""
    from memkit.store.shard_merge import as_it_is, readable

    try:
        open_line = front.workspace.sealer.open
    except MemkitError:
        open_line = as_it_is  # git shows diffs even of a store whose settings are broken
    lines = list(readable(file.read_bytes(), open_line))
    front.answer({"lines": lines}, lines)


@memkit_command("commit")
def commit(front: Front) -> None:
    """Commit what the archive has gained since the last commit of memory."""
    made = front.workspace.commit_memory(force=True, added=0)
    front.answer({"commit": made}, f"Committed {made[:10]}." if made else "Nothing to commit.")


@memkit_command("doctor")
@click.option("--call", is_flag=True, help="Also ask the store's model one question.")
@click.option("--deep", is_flag=True, help="Also start a sandbox and a container for evolved programs.")
def doctor(front: Front, call: bool, deep: bool) -> None:
    """Check Python, git, the token counter, and the store with its model if there is one; nothing is downloaded."""
    from memkit.use_cases.examine import examine

    checks = examine(front.store, call=call, deep=deep)
    data = {"checks": [{"name": check.name, "ok": check.ok, "detail": check.detail} for check in checks]}
    lines = [
        ListRow(
            ListCell("ok", "good") if check.ok else ListCell("NO", "bad"),
            ListCell(check.name, "name"),
            ListCell(one_line(check.detail)),
            plain=f"{'ok ' if check.ok else 'NO '} {check.name:<16} {check.detail}",
        )
        for check in checks
    ]
    findings = [diagnostic("doctor", f"{check.name}: {check.detail}") for check in checks if not check.ok]
    front.answer(data, lines, ok=not findings, diagnostics=findings)


@memkit_command("fsck")
@click.option("--fix", is_flag=True, help="Repair what needs no decision; the clone's state keeps what is removed.")
@click.option("--accept", is_flag=True, help="Adopt, as your own word, what was changed behind memkit's back.")
@click.option("--yes", is_flag=True, help="Answer the question of --accept.")
@click.option("--heads", type=_PLACE, metavar="DIR|FILE", help="Compare with a copy of archive/heads kept elsewhere.")
@click.option("--since", metavar="COMMIT", help="Require that every later commit is signed, with --signers.")
@click.option("--signers", type=READABLE_FILE, metavar="FILE", help="Allowed signers, as ssh-keygen reads them.")
def fsck(
    front: Front, fix: bool, accept: bool, yes: bool, heads: Path | None, since: str | None, signers: Path | None
) -> None:
    """Check every line of every shard and report each problem with file and line.

    Shards are compared with their links, with the recorded heads, and with the last commit, because their lines
    are never edited. The exit code is 1 while problems remain.
    """
    from memkit.use_cases.upkeep import check_archive, check_signatures

    if (since is None) != (signers is None):
        raise UsageError("--since and --signers require each other: since which commit, and who may have signed.")
    if yes and not accept:
        raise UsageError("--yes requires --accept.")
    if accept:
        if fix or heads or since:
            raise UsageError("--accept cannot be combined with --fix, --heads or --since: look first, then accept.")
        _accept(front, yes=yes)
    front.workspace.tells_damage = False
    report = check_archive(front.workspace, fix=fix, heads=heads)
    if since is not None and signers is not None:
        unsigned = check_signatures(front.workspace, since, signers)
        report = replace(report, problems=(*report.problems, *unsigned))
    told = [(problem, True) for problem in report.fixed] + [(problem, False) for problem in report.problems]
    problems = [_data(problem, fixed=fixed) for problem, fixed in told]
    lines = [
        f"{_place(problem)}: {'fixed ' if fixed else ''}{problem.code}: {problem.message}" for problem, fixed in told
    ]
    lines += [
        f"{_place(one)}: {'note' if one.code in NOTES else 'warning'}: {one.code}: {one.message}"
        for one in report.warnings
    ]
    if report.unreadable:
        lines.append(f"{report.unreadable} of {report.sealed} sealed lines cannot be read: their key is not here.")
    what = "1 record" if report.records == 1 else f"{report.records} records"
    fixed = "1 problem" if len(report.fixed) == 1 else f"{len(report.fixed)} problems"
    lines.append(f"{what}, {fixed} fixed, {len(report.problems)} remain{'s' * (len(report.problems) == 1)}.")
    if not fix and {one.code for one in report.problems} & {"tampered", "missing"}:
        lines.append(SETTLED)
    findings = [
        *(_finding(problem, "info" if fixed else "error") for problem, fixed in told),
        *(_finding(warning, "info" if warning.code in NOTES else "warning") for warning in report.warnings),
    ]
    seals = {"lines": report.sealed, "unreadable": report.unreadable}
    data = {"records": report.records, "problems": problems, "sealed": seals}
    front.answer(data, lines, ok=not report.problems, diagnostics=findings, signs=True)


SETTLED = (
    "'memkit fsck --fix' restores the lines that git has and removes what nobody wrote; 'memkit fsck --accept' adopts "
    "what was changed as your own word, and misses no more what is gone."
)
NOTES = ("unlinked", "reordered", "moved_back", "new_writer", "uncommitted")
"""Remarks about the chains that are not faults."""


def _accept(front: Front, *, yes: bool) -> None:
    """Let a person adopt what was changed behind memkit's back, and end the run."""
    from memkit.use_cases.upkeep import accept_damage

    require_person("'memkit fsck --accept'")
    front.workspace.tells_damage = False

    def confirm(problems: Sequence[ShardProblem]) -> None:
        lines = [f"{_place(one)}: {one.code}: {one.message}" for one in problems]
        for line in [*lines[:MOST_SHOWN], *([f"and {len(lines) - MOST_SHOWN} more"] if lines[MOST_SHOWN:] else [])]:
            front.note(line)
        doing = "restore what git has, record changed text as your own, and miss the rest no more"
        front.confirm(f"Of {counted(len(problems), 'line')}: {doing}?", yes=yes)

    done = accept_damage(front.workspace, confirm)
    lines = [f"accepted {id}" for id in done.accepted] + [f"not accepted: {why}" for why in done.left]
    lines += [f"{counted(done.gone, 'line is', 'lines are')} accepted as gone."] if done.gone else []
    findings = [diagnostic("refused", f"Not accepted: {why}") for why in done.left]
    front.workspace.damage.clear()  # it is settled
    front.answer({"accepted": list(done.accepted)}, lines or "Nothing was changed behind memkit's back.",
                 ok=not done.left, diagnostics=findings)  # fmt: skip


def _data(problem: ShardProblem, *, fixed: bool) -> dict[str, Any]:
    return {
        "code": problem.code,
        "path": problem.path,
        "line": problem.line,
        "message": problem.message,
        "fixed": fixed,
    }


def _place(problem: ShardProblem) -> str:
    return f"{problem.path}:{problem.line}" if problem.line else problem.path


def _finding(problem: ShardProblem, severity: str) -> Any:
    return diagnostic(problem.code, problem.message, severity=severity, path=problem.path, line=problem.line or None)


@click.group("index", cls=MemkitGroup)
def index() -> None:
    """Show the state of the index, or rebuild it."""


@index.command("status")
def status(front: Front) -> None:
    """Show how many users and live records the index holds, once it has caught up with the archive."""
    _tell(front, "")


@index.command("rebuild")
@click.option(
    "--vectors", is_flag=True, help="Adopt the model of retrieval.vectors for good, and embed everything anew."
)
@executor_option
def rebuild(front: Front, vectors: bool, executor: str | None) -> None:
    """Delete the index and build it from the archive's files."""
    from memkit.use_cases.upkeep import rebuild_index

    rebuild_it = partial(rebuild_index, front.workspace, vectors=vectors, executor=executor)
    with_trust(front, rebuild_it) if vectors else rebuild_it()
    _tell(front, "Rebuilt: ")


def _tell(front: Front, done: str) -> None:
    archive = front.workspace.archive
    data = {"users": len(archive.users()), "records": sum(1 for _ in archive.told(user_id=None))}
    front.answer(data, f"{done}{counted(data['users'], 'user')}, {counted(data['records'], 'live record')}.")


# ``memkit config``: every setting, where its value came from, and how to change it.

LISTED = " 'memkit config show' lists them."
PEOPLES = ("persona", "write.")
"""Settings that only people may change: the agent's persona, and what the write gate admits."""


@click.group("config", cls=MemkitGroup)
def config() -> None:
    """Show every setting and where its value came from, or change one."""


def shown(key: str, value: object) -> object:
    """Return the value of a setting as anybody may see it: an address without its password."""
    from memkit.runtime.backends.interface import without_secrets

    return without_secrets(str(value)) if key.startswith("backends.") and "://" in str(value) else value


@config.command("show")
@click.argument("key", type=KnownName("setting"), required=False)
def show(front: Front, key: str | None) -> None:
    """Print every setting, its value and its origin: a default, memkit.yaml or a variable.

    With KEY print its meaning, or the settings of a section.
    """
    settings = list(front.workspace.settings)
    section = [item for item in settings if key and item.key.startswith(f"{key}.")]
    if section:
        settings = section
    elif key is not None:
        _explain(front, key, {item.key: item for item in settings})
    settings = [item._replace(value=shown(item.key, item.value)) for item in settings]
    data = [{"key": item.key, "value": item.value, "origin": item.origin} for item in settings]
    width = max(len(item.key) for item in settings)
    lines: list[str] = [
        ListRow(
            ListCell(f"{item.key:<{width}}", "name"),
            ListCell(json.dumps(item.value, ensure_ascii=False)),
            ListCell(f"({item.origin})", "aside" if item.origin == "default" else "care"),
        )
        for item in settings
    ]
    lines.append("Meaning and accepted values of a setting: memkit config show KEY")
    front.answer({"settings": data}, lines)


def _explain(front: Front, key: str, settings: Mapping[str, SettingValue]) -> None:
    from memkit.store.manifest import meaning_of

    known = meaning_of(key)
    if known is None or key not in settings:
        raise UsageError(f"There is no setting {key!r:.60}.{suggestion(key, settings) or LISTED}")
    item = settings[key]._replace(value=shown(key, settings[key].value))
    data = {"key": key, "value": item.value, "origin": item.origin, **known._asdict()}
    value, default = (json.dumps(one, ensure_ascii=False) for one in (item.value, known.default))
    lines = [f"{key}  {value}  ({item.origin})", known.meaning, f"Values: {known.takes}. Default: {default}."]
    front.answer(data, lines)


@config.command("set")
@click.argument("key", type=KnownName("setting"))
@words_argument("value")
def set_command(front: Front, key: str, value: str) -> None:
    """Set KEY, such as context.max_tokens, to VALUE in memkit.yaml, as one commit; comments and order stay."""
    from memkit.use_cases.store import change_setting

    with _changing(front, "set", key):
        change = change_setting(front.workspace, key, value)
    before, after = shown(key, change.before), shown(key, change.after)
    data = {"key": key, "before": before, "after": after, "commit": change.commit}
    texts = [json.dumps(item, ensure_ascii=False) for item in (before, after)]
    notes = [diagnostic("missing", change.missing, severity="warning")] if change.missing else []
    front.answer(data, [f"{key}: {texts[0]} → {texts[1]}", *filter(None, [change.missing])], diagnostics=notes)


@config.command("unset")
@click.argument("key", type=KnownName("setting"))
def unset_command(front: Front, key: str) -> None:
    """Remove KEY from memkit.yaml, so that its default holds again, as one commit; comments and order stay."""
    from memkit.use_cases.store import unset_setting

    with _changing(front, "unset", key):
        change = unset_setting(front.workspace, key)
    before, after = shown(key, change.before), shown(key, change.after)
    data: dict[str, Any] = {"key": key, "before": before, "after": after, "commit": change.commit}
    data |= {"left": list(change.left)} if change.left else {}
    texts = [json.dumps(item, ensure_ascii=False) for item in (before, after)]
    line = f"{key}: {texts[0]} → {texts[1]} (default)"
    lines = [line if change.before != change.after or change.commit else f"{key} is not in memkit.yaml."]
    lines += [f"{name} is still in memkit.yaml: memkit config unset {name}" for name in change.left]
    front.answer(data, lines)


@contextmanager
def _changing(front: Front, verb: str, key: str) -> Iterator[None]:
    """Let a person's change keep the store's trust; some settings are for people only."""
    from memkit.store.trust import Trust

    if key.startswith(PEOPLES):
        require_person(f"'memkit config {verb} {key}'")
    by_person = agent_at_work() is None
    with Trust(front.workspace.root).in_step(front.note) if by_person else nullcontext():
        yield


def store_if_any(front: Front) -> Path | None:
    """Return the store if there is one; none is required, but a named one must exist and be readable."""
    from memkit.store.config import load_settings
    from memkit.store.layout import find_store

    try:
        root = find_store(front.store)
    except StoreNotFound:
        if front.store is not None:
            raise
        return None
    load_settings(root)
    return root
