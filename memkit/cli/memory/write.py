"""``memkit memory add``, ``supersede``, ``update``, ``refine``, ``merge``, and commands that vouch for a record."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

from memkit.cli.output import (
    UNIT,
    Date,
    Diagnostic,
    Front,
    KnownName,
    RecordId,
    SessionName,
    SuggestingChoice,
    diagnostic,
    memkit_command,
    owner_option,
    reason_option,
    record_argument,
    require_person,
    user_option,
    words_argument,
)
from memkit.errors import UsageError
from memkit.runtime.host.terminal import counted, one_line, tainted
from memkit.runtime.memory.gate.secrets import mask
from memkit.runtime.memory.interface import Decision
from memkit.runtime.memory.record.record import SCOPES, SOURCES, TYPES, Draft
from memkit.use_cases.memory import (
    allow_value,
    approve_origin,
    decision_data,
    decision_lines,
    mark_entry,
    merge_records,
    put_value,
    refine_record,
    remember,
    resolve_question,
    supersede_record,
    update_record,
)


def report_decision(front: Front, decision: Decision, *, extra: Mapping[str, Any] | None = None) -> None:
    """Print the write gate's decision; refused and quarantined offers exit 1."""
    ok = decision.decision in ("admitted", "merged")
    severity = "info" if ok else "error"
    findings = [diagnostic(reason.code, reason.message, severity=severity) for reason in decision.reasons]
    data = decision_data(decision, **extra or {})
    front.answer(data, decision_lines(decision), ok=ok, diagnostics=findings)


def given_text(text: str) -> str:
    """Return a text of the command line, or standard input for "-"; raise ``UsageError`` if it is empty."""
    if text != "-":
        return text
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise UsageError(f"Standard input is not UTF-8 at byte {error.start}.") from None


SCOPE_HELP = "Who may see it: its user, one session of theirs, the agent of this store, or everybody."


@memkit_command("add")
@words_argument("text")
@user_option
@click.option(
    "--type", "kind", type=SuggestingChoice(TYPES), default="fact", show_default=True, help="The type of the record."
)
@click.option("--scope", type=SuggestingChoice(SCOPES), default="user", show_default=True, help=SCOPE_HELP)
@click.option("--tag", "tags", multiple=True, help="A label to find it by; may be repeated.")
@click.option("--confidence", type=UNIT, default=1.0, show_default=True, help="How certain it is, 0 to 1.")
@click.option("--importance", type=UNIT, help="How much it matters, 0 to 1 (default: memkit.yaml).")
@click.option(
    "--source", type=SuggestingChoice(SOURCES), default="explicit", show_default=True, help="Where it comes from."
)
@click.option("--source-url", help="A link to where it comes from.")
@click.option("--session", type=SessionName(), help="The session it was said in.")
@click.option("--turn", type=click.IntRange(0), help="The turn it was said in.")
@click.option("--valid-from", type=Date(), metavar="DATE", help="True from this date on.")
@click.option("--valid-until", type=Date(), metavar="DATE", help="True up to the end of this date.")
def add(
    front: Front,
    /,
    text: str,
    user: str | None,
    kind: str,
    tags: tuple[str, ...],
    session: str | None,
    turn: int | None,
    **fields: Any,
) -> None:
    """Offer TEXT to long-term memory and print what the write gate decided; - reads TEXT from standard input."""
    if fields["scope"] == "session" and not session:
        raise UsageError("--scope session is for one session only: name it with --session.")
    workspace = front.workspace
    draft = Draft(text=given_text(text), type=kind, tags=tags, **fields)
    report_decision(front, remember(workspace, draft, user=workspace.user(user), session=session, turn=turn))


@memkit_command("put")
@click.argument("key", type=KnownName("key"))
@words_argument("value")
@user_option
def put(front: Front, key: str, value: str, user: str | None) -> None:
    """Store VALUE (- reads standard input) under KEY, replacing the present value."""
    decision = put_value(front.workspace, key, given_text(value), user=front.workspace.user(user))
    report_decision(front, decision, extra={"key": key})


@memkit_command("supersede")
@record_argument
@words_argument("text")
@owner_option
@reason_option
def supersede(front: Front, record_id: str, text: str, user: str | None, reason: str) -> None:
    """Replace record ID with TEXT (- reads standard input); the old wording stays in the history."""
    from memkit.use_cases.recall import find_record

    record = find_record(front.workspace.archive, record_id, user)
    decision = supersede_record(front.workspace, record, given_text(text), reason=reason)
    report_decision(front, decision, extra={"supersedes": record_id})


def _mark_command(op: str, help_line: str) -> click.Command:
    @memkit_command(op, help=help_line)
    @record_argument
    @owner_option
    @reason_option
    def mark(front: Front, record_id: str, user: str | None, reason: str) -> None:
        _mark(front, op, record_id, user, reason)

    return mark


def _mark(front: Front, op: str, record_id: str, user: str | None, reason: str) -> None:
    now = mark_entry(front.workspace, op, record_id, user=user, reason=reason)
    sure = f", confidence {now.confidence:.2f}" if now.confidence is not None and now.status == "live" else ""
    line = (
        f"{one_line(record_id)} is already {now.status}."
        if now.already
        else f"{op}: {one_line(record_id)} is {now.status}{sure}."
    )
    if now.proposal:
        line = f"{op} of {one_line(record_id)} waits for a person: memkit memory approve {one_line(now.proposal)}"
    notes = [_outdated(record_id, now.outdated)] if now.outdated else []
    notes += [
        diagnostic("revived", f"The record it had replaced is live again: {one_line(id)}", severity="info")
        for id in now.revived
    ]
    if op == "confirm" and now.taint:
        why = f"It is {tainted(now.taint)}, so recall leaves it out until a person runs"
        notes.append(diagnostic("tainted", f"{why}: memkit memory approve {record_id}", severity="info"))
    front.answer(now.to_data(op, record_id), [line, *(str(note["message"]) for note in notes)], diagnostics=notes)


def _outdated(edit_id: str, section: str) -> Diagnostic:
    message = (
        f"{section} has been edited since and no longer says this. To restore this text: memkit core rollback {section}"
    )
    return diagnostic("superseded", f"{message} {edit_id}", severity="info")


confirm = _mark_command("confirm", "Say that record ID is true: its confidence and trust rise.")
contradict = _mark_command("contradict", "Doubt record ID: its confidence falls, and it stays.")
reject = _mark_command("reject", "Say that record ID is false: it goes, and the same value cannot come back.")


@memkit_command("approve")
@click.argument("record_id", metavar="[ID]", required=False, type=RecordId())
@click.option("--batch", metavar="IMPORT", help="Instead of ID: everything that an import brought.")
@click.option("--source-url", metavar="U", help="Instead of ID: everything that comes from a page.")
@owner_option
@reason_option
def approve(
    front: Front, record_id: str | None, batch: str | None, source_url: str | None, user: str | None, reason: str
) -> None:
    """Vouch for record, core edit or proposal ID: it leaves quarantine and loses its taint."""
    require_person("'memkit memory approve'")
    if sum(one is not None for one in (record_id, batch, source_url)) != 1:
        raise UsageError("Approve one thing: an ID, --batch IMPORT or --source-url U.")
    if record_id is not None:
        _mark(front, "approve", record_id, user, reason)
        return
    origin = f"import:{batch}" if batch is not None else str(source_url)
    ids = [record.id for record in approve_origin(front.workspace, origin, user=user, reason=reason)]
    data = {"origin": origin, "ids": ids, "trust": "verified", "taint": []}
    front.answer(
        data,
        f"approve: {counted(len(ids), 'record')} of {one_line(origin)} {'is' if len(ids) == 1 else 'are'} verified.",
    )


forget = _mark_command("forget", "Retire record ID; history keeps it, and it may be told again.")


@memkit_command("update")
@record_argument
@owner_option
@click.option("--tag", "tags", multiple=True, help="The new labels; may be repeated.")
@click.option("--confidence", type=UNIT, help="How certain it is, 0 to 1.")
@click.option("--importance", type=UNIT, help="How much it matters, 0 to 1.")
@click.option("--valid-from", type=Date(), metavar="DATE", help="True from this date on.")
@click.option("--valid-until", type=Date(), metavar="DATE", help="True up to the end of this date.")
@reason_option
def update(
    front: Front,
    /,
    record_id: str,
    user: str | None,
    tags: tuple[str, ...],
    reason: str,
    **fields: Any,
) -> None:
    """Change the tags, confidence, importance or validity of record ID; for its text see memory supersede."""
    from memkit.use_cases.recall import find_record

    changes = {"tags": list(tags) or None, **fields}
    wanted = {key: value for key, value in changes.items() if value is not None}
    if not wanted:
        raise UsageError("Nothing to change: give --tag, --confidence, --importance, --valid-from or --valid-until.")
    waits = update_record(front.workspace, find_record(front.workspace.archive, record_id, user), wanted, reason=reason)
    if waits:
        message = "An agent may not end or weaken what a person said or checked: that waits for a person."
        data = {"id": record_id, "op": "update", "decision": "quarantined", "proposal": waits}
        finding = diagnostic("persons_word", f"{message} memkit memory approve {waits}")
        front.answer(data, str(finding["message"]), ok=False, diagnostics=[finding])
    front.answer(
        {"id": record_id, "op": "update", "changed": sorted(wanted)},
        f"Changed {', '.join(sorted(wanted))} of {one_line(record_id)}.",
    )


@memkit_command("resolve")
@record_argument
@click.option("--holds", is_flag=True, help="ID holds; the others of its question are history from then on.")
@click.option("--since", type=Date(), metavar="DATE", help="Since when (default: its own date, else when added).")
@owner_option
@reason_option
def resolve(front: Front, record_id: str, holds: bool, since: str | None, user: str | None, reason: str) -> None:
    """Settle an open question: record ID holds, and what contradicts it was true until then."""
    require_person("'memkit memory resolve'")
    if not holds:
        raise UsageError(
            "Give --holds: memkit memory resolve ID --holds. To discard a false record, use 'memory reject'."
        )
    done = resolve_question(front.workspace, record_id, user=user, since=since, reason=reason)
    data = {"id": done.id, "op": "resolve", "holds": True, "since": done.since, "ended": list(done.ended)}
    lines = [f"resolve: {one_line(done.id)} holds since {done.since}."]
    lines += [f"  true until then: {one_line(id)}" for id in done.ended]
    front.answer(data, lines)


@memkit_command("refine")
@record_argument
@words_argument("feedback")
@owner_option
@click.option("--dry-run", is_flag=True, help="Only print the proposed wording.")
@click.option("--yes", is_flag=True, help="Do not ask on a terminal.")
@reason_option
def refine(
    front: Front, record_id: str, feedback: str, user: str | None, dry_run: bool, yes: bool, reason: str
) -> None:
    """Propose a wording for record ID from FEEDBACK, and replace the record with it; the old one stays in the history.

    Understood are "X, not Y", "change Y to X", "it is X", "add X", "remove X" and "say: X"; nothing is guessed.
    """

    def agree(old: str, new: str) -> None:
        if front.interactive and not yes:
            front.note(f"- {one_line(old, 200)}\n+ {one_line(new, 200)}")
            front.confirm("Use this wording?", yes=False)

    workspace = front.workspace
    worded, decision = refine_record(
        workspace, record_id, feedback, agree=agree, user=user, reason=reason, dry_run=dry_run
    )
    # The gate has not seen a dry run, and what it refused is not shown to anybody.
    proposal = mask(worded)
    told = {"supersedes": record_id, "proposal": proposal}
    if decision is None:
        front.answer({"decision": "proposed", "id": None, "reasons": [], **told}, f"proposed: {proposal}")
    else:
        report_decision(front, decision, extra=told)


@memkit_command("merge")
@click.argument("ids", metavar="ID ID…", nargs=-1, required=True, type=RecordId())
@click.option("--text", help="The text of the merged record (default: what the records say together).")
@owner_option
@reason_option
def merge(front: Front, ids: tuple[str, ...], text: str | None, user: str | None, reason: str) -> None:
    """Replace several live records of one user and scope with one; they stay in the history."""
    workspace = front.workspace
    decision = merge_records(workspace, ids, user=user, text=text, reason=reason)
    stored = workspace.archive.get(decision.id) if decision.id else None
    said = {"text": stored.record.text} if stored else {}
    report_decision(front, decision, extra={"merges": list(dict.fromkeys(ids)), **said})


@memkit_command("allow")
@click.argument("value", metavar="VALUE|ID", type=RecordId())
@user_option
@reason_option
def allow(front: Front, value: str, user: str | None, reason: str) -> None:
    """Allow a rejected or erased VALUE, or that of rejected record ID, to be added again; the record stays rejected."""
    require_person("'memkit memory allow'")
    workspace = front.workspace
    owner = workspace.user(user)
    lifted = allow_value(workspace, value, user=owner, reason=reason)
    data = {"user_id": owner, "lifted": [{"kind": item.kind, "target": item.target} for item in lifted]}
    front.answer(data, [f"allowed: {item.kind} {item.target}" for item in lifted])
