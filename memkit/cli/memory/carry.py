"""``memkit memory export | import``: carry memories from one store or system to another."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memkit.cli.output import (
    FILE,
    PLACE,
    Diagnostic,
    Front,
    SuggestingChoice,
    User,
    diagnostic,
    executor_option,
    memkit_command,
    require_person,
    user_option,
)
from memkit.errors import UsageError
from memkit.interchange.formats import FORMATS, format_of
from memkit.interchange.interface import ImportSource, Passed, Unfit, Wishes
from memkit.privacy.scan import WENT_WITH_KEY
from memkit.runtime.host.terminal import counted, harmless, is_able_terminal, listed, one_line
from memkit.runtime.memory.record.record import TYPES
from memkit.store.files import WrittenPlaces, whole_file

if TYPE_CHECKING:
    from memkit.use_cases.carry import Imported, Restored
    from memkit.use_cases.erase_user import Erasure, ErasurePlan


MAPPED = ("text", "id", "user_id", "agent_id", "session_id", "created_at", "valid_until", "tags")
"""Fields that ``--map`` may name."""
STEP = 200
"""Memories between two progress messages."""
COUNTED = {
    "records": ("record", "records"),
    "events": ("event", "events"),
    "turns": ("turn", "turns"),
    "sessions": ("session", "sessions"),
    "access": ("count of recalls", "counts of recalls"),
    "audit": ("line of the audit log", "lines of the audit log"),
}
"""The contents of an export, in singular and plural."""
SHOWN = 20
"""The most refused memories, or statements to be erased, that a person is shown; ``--json`` has all."""


@memkit_command("export")
@user_option
@click.option("--out", type=FILE, metavar="FILE", help="Write FILE instead.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
def export(front: Front, user: str | None, out: Path | None, force: bool) -> None:
    """Write everything held on USER, one JSON object per line, to standard output or to a file only you can read."""
    from memkit.use_cases.carry import ImportAccount, export_memory

    workspace = front.workspace
    owner = workspace.user(user)
    if workspace.has_strangers():
        front.note(
            "What other clones wrote is exported as theirs, tainted; if they are yours, run 'memkit trust' first."
        )
    account = ImportAccount()
    counts = account.counts
    lines = export_memory(workspace, owner, account)
    data: dict[str, Any] = {"user_id": owner, "out": str(out) if out else None}
    if out is not None:
        if not force and os.path.lexists(out):
            raise UsageError(f"{out} already exists and was left unchanged. Name another file, or add --force.")
        with whole_file(out) as file:
            file.writelines(f"{line}\n".encode() for line in lines)
        WrittenPlaces(workspace.root).note("export", out)
    elif front.json:
        data["entries"] = [json.loads(line) for line in lines]
    else:
        _print(lines)
    data |= {"lines": counts.total(), "counts": dict(sorted(counts.items()))}
    said = f"Exported {_listed(counts)} of {one_line(owner)}{f' to {out}' if out else ''}."
    gaps = front.remark("gap", *account.gaps)
    if out is None and not front.json:
        front.note(said)
        return
    front.answer(data, said, diagnostics=gaps)


@memkit_command("import")
@click.argument("file", metavar="FILE", type=click.Path(exists=True, allow_dash=True))
@click.option(
    "--format", "format_name", type=SuggestingChoice(list(FORMATS)), help="The format of FILE (default: detected)."
)
@click.option("--user", type=User(), help="Whose memories they are; those of another user are refused.")
@click.option("--restore", is_flag=True, help="Restore a user from an export, unjudged, with everything it holds.")
@click.option("--dry-run", is_flag=True, help="Say what would become of each, and keep nothing.")
@click.option("--mine", is_flag=True, help="They are your own, and nobody else wrote into them: recall shows them.")
@click.option(
    "--type", "kind", type=SuggestingChoice(TYPES), default="fact", show_default=True, help="Type if none is given."
)
@click.option(
    "--map", "pairs", multiple=True, metavar="OURS=THEIRS", help="FILE's name for a field, as in text=memory."
)
@click.option("--user-label", type=click.IntRange(1), metavar="N", help="The label of a namespace that is the user.")
@executor_option
def import_command(
    front: Front,
    file: str,
    format_name: str | None,
    user: str | None,
    restore: bool,
    dry_run: bool,
    mine: bool,
    kind: str,
    pairs: tuple[str, ...],
    user_label: int | None,
    executor: str | None,
) -> None:
    """Offer the memories in FILE (a folder for claude and letta, - for standard input) to long-term memory."""
    from memkit.use_cases.carry import import_memory, restore_memory

    if mine or restore:
        require_person(f"'memkit memory import {'--mine' if mine else '--restore'}'")
    elif front.interactive and not dry_run:
        mine = click.confirm("Are these memories all your own, with nothing written by others?", err=True)
    workspace = front.workspace
    with _source(file) as source:
        if restore:
            if executor:
                raise UsageError("--restore writes one user's lines unchanged, so there is no work for an executor.")
            if format_name not in (None, "memkit"):
                raise UsageError("--restore reads memkit's own exports: it works only with --format memkit.")
            restored = restore_memory(workspace, source, user=user, dry_run=dry_run)
            _report_restored(front, restored, source, dry_run=dry_run)
        wishes = Wishes(
            user=user,
            fallback=workspace.settings["user"],
            kind=kind,
            names=_names(pairs),
            user_label=user_label,
        )
        name = format_name or _shown_format(front, source)
        imported = import_memory(
            workspace,
            source,
            wishes,
            format=name,
            dry_run=dry_run,
            mine=mine,
            progress=_progress(front),
            executor=executor,
        )
        if imported.total >= STEP and _shows_progress(front):
            click.echo(err=True)
    _report_imported(front, imported, source, dry_run=dry_run)


def _shown_format(front: Front, source: ImportSource) -> str:
    found = format_of(source)
    if not front.json:
        front.note(f"Reading {source.name} as {found}; use --format to change that.")
    return found


def _names(pairs: Sequence[str]) -> dict[str, str]:
    """Return our field → theirs; raise ``UsageError`` for any other text."""
    found = {}
    for pair in pairs:
        ours, equals, theirs = pair.partition("=")
        if not equals or not theirs or ours not in MAPPED:
            raise UsageError(f"--map {pair!r:.80} is not OURS=THEIRS with OURS one of {', '.join(MAPPED)}.")
        found[ours] = theirs
    return found


def _print(lines: Iterable[str]) -> None:
    shown = harmless if sys.stdout.isatty() else str  # a program that reads along gets the exact bytes
    for line in lines:
        sys.stdout.write(f"{shown(line)}\n")


@contextmanager
def _source(name: str) -> Iterator[ImportSource]:
    """Yield the source of an import; what a pipe brings goes to an unnamed file, because it is read twice."""
    from memkit.interchange.interface import ImportSource

    path = Path(name)
    if name != "-" and not path.is_fifo():
        yield ImportSource(name, path)
        return
    with (
        tempfile.TemporaryFile() as spooled,
        nullcontext(sys.stdin.buffer) if name == "-" else path.open("rb") as brought,
    ):
        shutil.copyfileobj(brought, spooled)
        yield ImportSource("standard input" if name == "-" else name, None, spooled)


def _progress(front: Front) -> Any:
    if not _shows_progress(front):
        return lambda count: None

    def show(count: int) -> None:
        if count % STEP == 0:
            click.echo(f"\r{count:,} memories …", nl=False, err=True)

    return show


def _shows_progress(front: Front) -> bool:
    return not front.json and is_able_terminal(sys.stderr)


def _report_imported(front: Front, imported: Imported, source: ImportSource, *, dry_run: bool) -> None:
    from memkit.use_cases.memory import HOW_TO_AGREE

    counts = imported.counts
    data = {
        "counts": counts,
        "refused": [_unfit(unfit) for unfit in imported.refused],
        "quarantined": [
            {"line": line, "id": decision.id, "reasons": [one._asdict() for one in decision.reasons]}
            for line, decision in imported.quarantined
        ],
        "not_imported": [
            {"what": item.what, "why": item.why, "line": item.line, "count": item.count} for item in imported.passed
        ],
        "format": imported.format,
        "batch": imported.batch,
        "dry_run": dry_run,
    }
    lines = [", ".join(f"{count:,} {word}" for word, count in counts.items()) + (" (dry run)." if dry_run else ".")]
    lines += _refused_lines(imported.refused)
    if any(reason.code == "consent" for unfit in imported.refused for reason in unfit.reasons):
        lines.append(f"  {HOW_TO_AGREE}")
    lines += [
        f"  line {line}: quarantined {decision.id}: {decision.reasons[0].message}"
        for line, decision in imported.quarantined[:SHOWN]
    ]
    lines += _passed_lines(imported.passed)
    findings = [_finding(unfit, source) for unfit in imported.refused]
    batches = [imported.batch] if counts["admitted"] and not imported.mine and not dry_run else []
    for batch in (*batches, *(one for one in imported.earlier if one not in batches)):
        what = "them" if batch == imported.batch else "what was already here"
        lines.append(f"Recall leaves {what} out until a person runs: memkit memory approve --batch {one_line(batch)}")
    if not imported.total:
        lines = ["The file contains no memories.", *lines[1:]]
        findings.append(diagnostic("empty", "The file contains no memories."))
    ok = bool(imported.total) and not counts["refused"] and not counts["quarantined"]
    front.answer(data, lines, ok=ok, diagnostics=findings)


def _report_restored(front: Front, restored: Restored, source: ImportSource, *, dry_run: bool) -> None:
    records = restored.counts["records"]
    counts = {"admitted": records, "merged": 0, "quarantined": 0, "refused": len(restored.refused)}
    data = {
        "counts": counts,
        "refused": [_unfit(unfit) for unfit in restored.refused],
        "user_id": restored.user_id,
        "restored": dict(sorted(restored.counts.items())),
        "already_here": restored.here,
        "dry_run": dry_run,
    }
    if restored.refused:
        lines = [
            f"Nothing was restored: {counted(len(restored.refused), 'line')} cannot be accepted.",
            *_refused_lines(restored.refused),
            "Restore into a store without data on this user, or leave out --restore to let the gate judge each line.",
        ]
        front.answer(data, lines, ok=False, diagnostics=[_finding(unfit, source) for unfit in restored.refused])
    said = "Every line would be accepted; nothing was written." if dry_run else f"Restored {_listed(restored.counts)}"
    known = (
        f" {restored.here:,} of its records and events {'was' if restored.here == 1 else 'were'} already here."
        if restored.here
        else ""
    )
    front.answer(data, f"{said}{known}" if dry_run else f"{said} of {one_line(restored.user_id)}.{known}")


def _refused_lines(refused: list[Unfit]) -> list[str]:
    lines = [
        f"  line {unfit.line}: {reason.code}: {reason.message}" for unfit in refused[:SHOWN] for reason in unfit.reasons
    ]
    more = len(refused) - SHOWN
    return [*lines, f"  … and {more:,} more: --json lists them all."] if more > 0 else lines


def _passed_lines(passed: Iterable[Passed]) -> Iterator[str]:
    """Yield one line for each reason that something was not imported, with the entries it applies to."""
    reasons: dict[str, Counter[str]] = {}
    for item in passed:
        reasons.setdefault(item.why, Counter())[item.what] += item.count
    for why, counts in reasons.items():
        yield f"  not imported: {', '.join(f'{count:,} × {what}' for what, count in counts.items())}. {why}"


def _unfit(unfit: Unfit) -> dict[str, Any]:
    return {"line": unfit.line, "reasons": [one._asdict() for one in unfit.reasons]}


def _finding(unfit: Unfit, source: ImportSource) -> Diagnostic:
    reason = unfit.reasons[0]
    return diagnostic(reason.code, reason.message, path=str(source.path) if source.path else None, line=unfit.line)


def _listed(counts: Counter[str]) -> str:
    """Return counts in words, memories first."""
    listed = [f"{counts[kind]:,} {words[counts[kind] != 1]}" for kind, words in COUNTED.items() if counts[kind]]
    return ", ".join(listed) or "nothing new"


TRACED = (
    "Erased text is still present where a trace is named. Check each place: what memkit wrote, such as outputs/,",
    "can be deleted and regenerated; quotes in people's files can be removed by hand or with --redact; lines of other",
    "users stay. Then erase the same user again: it continues where this one ended, and proves it.",
)
QUOTING = "--redact removes that too"

KINDS = {
    "records": "record{s}",
    "events": "event{s}",
    "files": "file{s} of the work tree",
    "sessions": "file{s} of sessions",
    "access": "file{s} of access counts",
    "audit": "file{s} of the audit log",
    "torn": "file{s} of torn lines",
    "other": "other file{s} of this machine",
    "caches": "cache{s}",
    "commits_rewritten": "rewritten commit{s}",
    "messages": "message{s}",
    "signatures": "signature{s}",
    "refs_renamed": "name{s} of refs",
    "refs_dropped": "ref{s}",
}
"""What each count of an erasure counts."""


@memkit_command("erase")
@click.option("--user", type=User(), required=True, help="Whose memory to erase.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--out", type=PLACE, metavar="FILE", help="Where the certificate goes, outside of git.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and change nothing.")
@click.option("--redact", is_flag=True, help="Also replace what other files and their history quote of the user.")
@click.option("--about", metavar="NAME", help="Only what USER's memory says of NAME, and what was drawn from it.")
@click.option("--whole-repository", is_flag=True, help="Rewrite a repository of which the store is only a part.")
def erase(
    front: Front, user: str, yes: bool, out: Path | None, dry_run: bool, redact: bool, about: str | None,
    whole_repository: bool,
) -> None:  # fmt: skip
    """Remove everything held on USER from files, history and state; scan for it; write a certificate.

    With --about only what tells of one person, firm or thing goes, with every conclusion and summary that rests on it.

    Every commit that held something is rewritten, so commit ids change. Exits 1 when a trace is left, or when something
    is left to others, such as a remote.
    """
    from memkit.use_cases.erase_user import erase_user

    if not dry_run:
        require_person("'memkit memory erase'")

    workspace = front.workspace
    findings: list[Diagnostic] = []

    def confirm(plan: ErasurePlan) -> None:
        # A search for a misspelt name left a line in the audit log, so there is something to erase and to confirm.
        findings.extend(front.nobody(user))
        lines = [f"{line}\n" for line in _plan_lines(plan)]
        front.confirm(f"{''.join(lines)}This cannot be undone. Erase?", yes=yes)

    erasure = erase_user(
        workspace, user, confirm=confirm, out=out, dry_run=dry_run, redact_files=redact,
        whole_repository=whole_repository, about=about,
    )  # fmt: skip
    if dry_run:
        findings += front.nobody(user)
    findings += [
        diagnostic("trace", f"{place.place}: {name}", path=name) for place in erasure.scanned for name in place.where
    ]
    findings += [
        diagnostic("word", f"{place.place}: {name} contains single words from {one_line(user)}'s texts; it stays.",
                   severity="warning", path=name)
        for place in erasure.scanned for name in place.words
    ]  # fmt: skip
    findings += [
        diagnostic("unprovable", f"{item['place']} is left to {item['owner']}.") for item in erasure.unprovable
    ]
    findings += [
        diagnostic("sealed_copy", f"Remote {name}: {WENT_WITH_KEY}.", severity="info") for name in erasure.sealed_copies
    ]
    findings += [
        diagnostic("quote", f"Line {id} of another user repeats a text of {one_line(user)}; it stays.", severity="info")
        for id in erasure.plan.quotes
    ]
    if not erasure.done:
        findings += [
            diagnostic("quoting", f"{name} quotes {one_line(user)}. {QUOTING}.", severity="warning", path=name)
            for name in erasure.plan.quoting
        ]
    data = {
        "user_id": user,
        "removed": dict(erasure.removed),
        "scanned": [{"place": place.place, "items": place.items, "traces": place.traces} for place in erasure.scanned],
        "unprovable": [dict(item) for item in erasure.unprovable],
        "certificate": str(erasure.certificate) if erasure.certificate else None,
        "commits": dict(erasure.commit_map),
        "told": [] if erasure.done else list(erasure.plan.told),
        "dry_run": dry_run,
    }
    front.answer(data, _lines(erasure), ok=erasure.proven, diagnostics=findings)


def _whose(plan: ErasurePlan) -> str:
    return f"what {one_line(plan.user_id)} said about {one_line(plan.about)}" if plan.about else one_line(plan.user_id)


def _plan_lines(plan: ErasurePlan) -> Iterator[str]:
    yield f"To be removed of {_whose(plan)}: {_counted(plan.removed)}."
    yield from (f"  {one_line(text, 100)}" for text in plan.told[:SHOWN])
    if (more := len(plan.told) - SHOWN) > 0:
        yield f"  … and {more:,} more: --dry-run --json has all of them."
    if plan.quotes:
        yield f"Lines of other users that repeat a text, and stay: {listed(plan.quotes)}."
    if plan.quoting:
        yield f"Files that quote a text, and stay as they are: {listed(plan.quoting)}. {QUOTING}."
    if plan.top:
        yield (
            f"Of the {_number(plan.commits, 'commit{s}')} in {plan.top}, those that contain erased text and all after "
            "them are rewritten: their ids change, and signatures are dropped."
        )
        yield f"Refs: {', '.join(plan.refs) or 'none'}."
    if plan.remotes:
        named = ", ".join(f"{name} ({url})" for name, url in plan.remotes.items())
        yield f"Remotes keep their copies: {named}."
    if plan.projects:
        yield f"Also erased in: {', '.join(map(str, plan.projects))}."
    if plan.elsewhere:
        yield f"Not searched: {', '.join(plan.elsewhere)}."


def _lines(erasure: Erasure) -> Iterator[str]:
    if not erasure.done:
        yield from _plan_lines(erasure.plan)
        yield "Nothing was changed."
        return
    yield f"Removed of {_whose(erasure.plan)}: {_counted(erasure.removed)}."
    if erasure.commit_map:
        yield "Rewritten commits, old and new id:"
    for old, new in erasure.commit_map.items():
        yield f"{old} {new}"
    for place in erasure.scanned:
        yield f"scanned {place.place}: {_number(place.items, 'item{s}')}, {_number(place.traces, 'trace{s}')}"
        yield from (f"  trace in {name}" for name in place.where)
        yield from (f"  single words, which may be anyone's, in {name}" for name in place.words)
    for item in erasure.unprovable:
        yield f"not provable: {item['place']}; left to {item['owner']}"
    yield from (f"remote {name}: {WENT_WITH_KEY}" for name in erasure.sealed_copies)
    yield f"certificate: {erasure.certificate}"
    if any(place.traces for place in erasure.scanned):
        yield from TRACED


def _counted(removed: Mapping[str, int]) -> str:
    """Return how much will be removed, in words."""
    known = [_number(count, KINDS[kind]) for kind, count in removed.items() if count and kind in KINDS]
    return ", ".join(known) or "nothing but what an interrupted run left to prove"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun.format(s='' if count == 1 else 's')}"
