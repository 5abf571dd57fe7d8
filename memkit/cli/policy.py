"""``memkit policy``: new, list, show, search, check, commit, history, rollback and export."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memkit.cli.file_history import (
    answer_commit,
    answer_rollback,
    bump_option,
    history_command,
    note_option,
)
from memkit.cli.output import (
    FILE,
    Diagnostic,
    Front,
    KnownName,
    SuggestingChoice,
    diagnostic,
    memkit_command,
    read_pairs,
    words_argument,
)
from memkit.errors import UsageError
from memkit.policies.files import POLICY
from memkit.runtime.guard.interface import EFFECTS
from memkit.runtime.host.terminal import counted, one_line
from memkit.use_cases.policies import (
    FORMATS,
    LOSSES,
    ExportedPolicies,
    Losses,
    accept_policy,
    check_policy,
    checked_data,
    checked_lines,
    commit_policy,
    count_verdicts,
    export_policies,
    find_policies,
    list_policies,
    show_policy,
)

if TYPE_CHECKING:
    from memkit.cli.display import ListRow, Meaning
    from memkit.policies.export import ExportedPolicy
    from memkit.policies.files import PolicyFile
    from memkit.policies.overview import Usage
    from memkit.store.yaml_edit import Part


@memkit_command("new")
@click.argument("name")
def new(front: Front, name: str) -> None:
    """Start the policy NAME from an example that passes its own tests; it is soft, and not committed yet."""
    from memkit.use_cases.files import draft_file

    path = draft_file(front.root, POLICY, name)
    told = [
        f"Wrote {path}. Until you edit it, it only warns about a program that does not exist.",
        f"Edit it, make it hard, then: memkit policy test {name}; memkit policy commit {name}",
    ]
    front.answer({"name": name, "path": str(path)}, told)


@memkit_command("list")
def list_command(front: Front) -> None:
    """List the store's policies."""
    policies = list_policies(front.root)
    lines: list[str] = [_line(*found) for found in policies]
    lines = lines or ["No policies yet: policies/ contains no *.yaml."]
    front.answer({"policies": [{**_summary(found), "version": version} for found, version in policies]}, lines)


@memkit_command("show")
@click.argument("name", type=KnownName("policy"))
def show(front: Front, name: str) -> None:
    """Show the policy NAME."""
    found = show_policy(front.root, name)
    front.answer(dict(found.data), found.document.text.rstrip("\n"))


@memkit_command("search")
@words_argument("query")
@click.option("-k", "limit", type=click.IntRange(min=1), default=5, show_default=True, help="How many at most.")
def search(front: Front, query: str, limit: int) -> None:
    """Search the policies for the words of QUERY, best first."""
    hits = find_policies(front.root, query, limit)
    lines: list[str] = [_line(found, score=score) for found, score in hits]
    lines = lines or ["No policy shares a word with that."]
    front.answer({"results": [{**_summary(found), "score": score} for found, score in hits]}, lines)


@memkit_command("stats")
@click.argument("name", type=KnownName("policy"), required=False)
def stats(front: Front, name: str | None) -> None:
    """Show how often policies (or the policy NAME) matched an agent's call on this machine, and with what effect."""
    found = count_verdicts(front.workspace, name)
    if name is not None:
        front.answer(_usage(found[0]), _usage_line(found[0]))
    lines: list[str] = [_usage_line(one) for one in found]
    lines = lines or ["No policies yet: policies/ contains no *.yaml."]
    front.answer({"policies": [_usage(one) for one in found]}, lines)


def _usage(used: Usage) -> dict[str, Any]:
    return {
        "name": used.name,
        "matched": used.matched,
        "decisions": {decision: used.decisions[decision] for decision in reversed(EFFECTS)},
        "last_used": used.last_used,
    }


def _usage_line(used: Usage) -> ListRow:
    from memkit.cli.display import ListCell, ListRow

    name = ListCell(f"{one_line(used.name)}:", "name")
    if not used.matched:
        return ListRow(name, ListCell("matched no call yet"), plain=f"{name.plain} matched no call yet")
    said = ", ".join(
        f"{used.decisions[decision]} {decision}" for decision in reversed(EFFECTS) if used.decisions[decision]
    )
    last = str(used.last_used)
    cells = (name, ListCell(last, "time"), ListCell(said))
    return ListRow(*cells, plain=f"{name.plain} {said}; last at {last}")


def _summary(found: PolicyFile) -> dict[str, Any]:
    data = found.data
    return {
        "name": found.name,
        "description": data["description"],
        "enforcement": data["enforcement"],
        "effect": data.get("effect"),
        "active": data.get("active", True),
        "deprecated": bool(data.get("deprecated", False)),
        "advice": "match" not in data,
        "exceptions": len(data.get("exceptions", ())),
        "tests": len(data.get("tests", ())),
    }


def _line(found: PolicyFile, version: str | None = None, score: float | None = None) -> ListRow:
    from memkit.cli.display import ListCell, ListRow

    shown = _summary(found)
    kind = "advice" if shown["advice"] else f"{shown['enforcement']} {shown['effect']}"
    marks = f" {version}" if version else ""
    marks += "" if shown["active"] else " (off)"
    marks += " (deprecated)" if shown["deprecated"] else ""
    scored = [] if score is None else [ListCell(f"{score:7.3f}", "number")]
    return ListRow(
        *scored,
        ListCell(f"{found.name}{marks}", "name"),
        ListCell(kind, _MEANS.get(shown["effect"] or "", "aside")),
        ListCell(one_line(shown["description"], 90), exact=one_line(shown["description"])),
    )


_MEANS: Mapping[str, Meaning] = {"deny": "bad", "ask": "care", "warn": "care", "allow": "good"}
"""The colour of each effect, by meaning."""


@memkit_command("commit")
@click.argument("name", type=KnownName("policy"))
@bump_option
@note_option
def commit(front: Front, name: str, bump: Part | None, note: str | None) -> None:
    """Commit your changes to the policy NAME and its tables, if it passes its tests; the message says what changed.

    The version follows from the commits; --bump says which part to increment (default: minor). If the file states a
    version itself, a change of meaning needs a higher one: write it yourself, or let --bump do it.
    """
    root = front.root
    answer_commit(front, root, commit_policy(root, name, bump=bump, note=note))


history = history_command("policy")


@memkit_command("rollback")
@click.argument("name", type=KnownName("policy"))
@click.argument("version")
def rollback(front: Front, name: str, version: str) -> None:
    """Restore the policy NAME as of VERSION (or a commit), as a new commit, if it passes its own tests."""
    from memkit.store.file_history import roll_back

    root = front.root
    answer_rollback(front, root, roll_back(root, POLICY, name, version, accept=accept_policy))


_STOPS = ("deny", "ask")


@memkit_command("check")
@click.option("--tool", required=True, help="The tool that would be called.")
@click.option("--arg", "args", multiple=True, metavar="K=V", help="An argument; K:=JSON gives it a type.")
@click.option(
    "--context", "context", multiple=True, metavar="K=V", help="A fact that the host program sets; K:=JSON too."
)
def check(front: Front, tool: str, args: tuple[str, ...], context: tuple[str, ...]) -> None:
    """Show what the policies decide about a tool call, and why; nothing is run."""
    if not tool.strip():
        raise UsageError("--tool is empty. Name the tool that would be called.")
    root = front.root
    checked = check_policy(root, tool, read_pairs(args, "--arg"), read_pairs(context, "--context"))
    findings = [diagnostic("tool-name", checked.hint, severity="info")] if checked.hint else []
    ok = checked.verdict.decision not in _STOPS
    front.answer(checked_data(checked), checked_lines(checked), ok=ok, diagnostics=findings, signs=True)


_SAID = {
    "exact": "as it is",
    "narrower": "permits less than memkit",
    "wider": "PERMITS MORE than memkit",
    "both": "permits more here and less there than memkit",
    "missing": "NOT EXPORTED",
    "nothing": "decides nothing",
}


@memkit_command("export")
@click.option("--format", "form", type=SuggestingChoice(list(FORMATS)), required=True, help="The language to write.")
@click.option("--out", type=FILE, help="The file (default: standard output).")
@click.option(
    "--losses",
    type=SuggestingChoice(list(LOSSES)),
    default="report",
    show_default=True,
    help="Where it would permit what memkit stops: report it, refuse the export, or restrict it further.",
)
@click.option("--force", is_flag=True, help="Replace a file that holds another text.")
def export(front: Front, form: str, out: Path | None, losses: Losses, force: bool) -> None:
    """Write the policies for another tool, and report how each was translated.

    "claude-code" is a settings file with permissions; "cedar" is a set of Cedar policies. Whatever permits more than
    memkit is reported on standard error; with --losses refuse, such an export is not made (exit 1).
    """
    done = export_policies(front.root, form, out=out, losses=losses, force=force)
    findings = [_finding(policy) for policy in done.export.policies if policy.state not in ("exact", "nothing")]
    if not front.json:
        for line in _account(done):
            front.note(line)
    front.answer(_data(done, form, losses), _lines(done), ok=not done.refused, diagnostics=findings)


def _data(done: ExportedPolicies, form: str, losses: Losses) -> dict[str, Any]:
    accounts = [asdict(policy) | {"lets_through": policy.lets_through} for policy in done.export.policies]
    return {
        "format": form,
        "losses": losses,
        "out": str(done.path) if done.path else None,
        "content": None if done.refused else done.export.content,
        "policies": accounts,
        "weaker": [policy.name for policy in done.export.weaker],
    }


def _lines(done: ExportedPolicies) -> str:
    if done.refused:
        return "Not exported. Use --losses tighten to permit less there, or --losses report to accept the difference."
    return f"Wrote {done.path}" if done.path else done.export.content.rstrip("\n")


_REASONS = 5
"""The most losses of one policy that are printed."""


def _account(done: ExportedPolicies) -> Iterator[str]:
    for policy in done.export.policies:
        yield f"{policy.name} ({policy.effect}): {_SAID[policy.state]}"
        yield from (f"  {reason}" for reason in policy.reasons[:_REASONS])
        if len(policy.reasons) > _REASONS:
            yield f"  and {counted(len(policy.reasons) - _REASONS, 'more loss', 'more losses')}; --json names them all"
    if done.export.weaker:
        names = ", ".join(policy.name for policy in done.export.weaker)
        yield f"WEAKER THAN MEMKIT: calls that {names} would stop can run there."


def _finding(policy: ExportedPolicy) -> Diagnostic:
    severity = "warning" if policy.lets_through else "note"
    reasons = " ".join(policy.reasons)
    message = f"{policy.name}: {_SAID[policy.state]}. {reasons}".strip()
    return diagnostic(f"policy-{policy.state}", message, severity=severity, path=f"policies/{policy.name}.yaml")
