"""``memkit skill``: list, show, search, new, check, commit, history, propose, export and import."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memkit.cli.display import ListCell, ListRow
from memkit.cli.file_history import (
    answer_commit,
    answer_rollback,
    bump_option,
    change_rows,
    commit_findings,
    history_command,
    note_option,
)
from memkit.cli.output import (
    FILE,
    FOLDER,
    PLACE,
    Diagnostic,
    Front,
    KnownName,
    SessionName,
    SuggestingChoice,
    diagnostic,
    memkit_command,
    user_option,
    with_trust,
    words_argument,
)
from memkit.runtime.host.terminal import counted, one_line

if TYPE_CHECKING:
    from memkit.skills.skill import Skill
    from memkit.store.yaml_edit import Part
    from memkit.use_cases.compare_skill import Comparison, SkillSide
    from memkit.use_cases.import_skill import ImportedSkill


def summary(found: Skill) -> dict[str, Any]:
    """Return a skill's entry in a list."""
    return {
        "name": found.name,
        "description": found.description,
        "version": found.version,
        "deprecated": bool(found.deprecated),
    }


def skill_line(found: Skill, score: float | None = None) -> ListRow:
    """Return a skill as one line of a list, after its score in a search."""
    marks = f" {found.version}" if found.version else ""
    marks += " (deprecated)" if found.deprecated else ""
    scored = [] if score is None else [ListCell(f"{score:7.3f}", "number")]
    about = ListCell(one_line(found.description, 90), exact=one_line(found.description))
    return ListRow(*scored, ListCell(f"{found.name}{marks}", "care" if found.deprecated else "name"), about)


@memkit_command("list")
def list_command(front: Front) -> None:
    """List the store's skills."""
    from memkit.use_cases.skills import list_skills

    skills = list_skills(front.root)
    lines: list[str] = [skill_line(found) for found in skills]
    lines = lines or ["No skills yet: skills/ contains no *.yaml."]
    front.answer({"skills": [summary(found) for found in skills]}, lines)


@memkit_command("show")
@click.argument("name", type=KnownName("skill"))
def show(front: Front, name: str) -> None:
    """Show the skill NAME."""
    from memkit.skills.sheet import skill_body
    from memkit.use_cases.skills import show_skill

    found = show_skill(front.root, name)
    front.answer(found.to_data(), skill_body(found))


@memkit_command("search")
@words_argument("query")
@click.option("-k", "limit", type=click.IntRange(min=1), default=5, show_default=True, help="How many at most.")
def search(front: Front, query: str, limit: int) -> None:
    """Search the skills for the words of QUERY, best first."""
    from memkit.use_cases.skills import find_skills

    hits = find_skills(front.root, query, limit)
    lines: list[str] = [skill_line(found, score) for found, score in hits]
    lines = lines or ["No skill matches any of these words."]
    front.answer({"results": [{**summary(found), "score": score} for found, score in hits]}, lines)


skip_option = click.option("--skip-checks", is_flag=True, help="Commit without running the skill's checks.")


@memkit_command("new")
@click.argument("name")
def new(front: Front, name: str) -> None:
    """Start the skill NAME from an example; it is not committed yet."""
    from memkit.skills.skill import SKILL
    from memkit.use_cases.files import draft_file

    path = draft_file(front.root, SKILL, name)
    front.answer({"name": name, "path": str(path)}, f"Wrote {path}. Edit it, then: memkit skill commit {name}")


@memkit_command("rollback")
@click.argument("name", type=KnownName("skill"))
@click.argument("version")
@skip_option
def rollback(front: Front, name: str, version: str, skip_checks: bool) -> None:
    """Restore the skill NAME as of VERSION (or a commit), as a new commit, if its checks pass."""
    from memkit.use_cases.skills import roll_back_skill

    root = front.root
    done = with_trust(front, lambda: roll_back_skill(root, name, version, checked=not skip_checks))
    answer_rollback(front, root, done)


@memkit_command("commit")
@click.argument("name", type=KnownName("skill"))
@bump_option
@note_option
@skip_option
def commit(front: Front, name: str, bump: Part | None, note: str | None, skip_checks: bool) -> None:
    """Commit your changes to the skill NAME if its checks pass, with a message that says what changed.

    The version follows from the commits; --bump says which part to increment (default: minor). If the file states a
    version itself, a change of meaning needs a higher one: write it yourself, or let --bump do it.
    """
    from memkit.skills.skill import SKILL, read_skill
    from memkit.use_cases.files import commit_file
    from memkit.use_cases.skills import accept_skill

    root = front.root
    accept = None if skip_checks else lambda document: accept_skill(root, read_skill(document.data))
    done = with_trust(front, lambda: commit_file(root, SKILL, name, bump=bump, note=note, accept=accept))
    answer_commit(front, root, done)


@memkit_command("check")
@click.argument("name", type=KnownName("skill"), required=False)
def check(front: Front, name: str | None) -> None:
    """Run the checks of the skills (or of the skill NAME): their commands, and what the policies decide."""
    from memkit.skills.skill import SKILL
    from memkit.use_cases.skills import check_skills

    root = front.root
    results = with_trust(front, lambda: check_skills(root, name))
    failed = [(skill, result) for skill, found in results for result in found if not result.passed]
    data = {"skills": [{"name": skill.name, "checks": [asdict(one) for one in found]} for skill, found in results]}
    lines = [
        ListRow(
            ListCell(skill.name, "name"),
            ListCell(f"{'ok' if one.passed else 'FAIL':4}", "good" if one.passed else "bad"),
            ListCell(f"{one.name}: {one.detail}"),
        )
        for skill, found in results
        for one in found
    ]
    findings = [
        diagnostic("skill-check", f"{one.name}: {one.detail}", path=SKILL.path(skill.name)) for skill, one in failed
    ]
    front.answer(data, lines, ok=not failed, diagnostics=findings)


history = history_command("skill")


@memkit_command("diff")
@click.argument("name", type=KnownName("skill"))
@click.argument("span", metavar="[V1..V2]", required=False)
def diff(front: Front, name: str, span: str | None) -> None:
    """Show what changed in the skill NAME, by meaning.

    V1 and V2 are versions of the skill, or branches, tags and ids of commits. Without V2 it is the work tree; without
    both, the uncommitted changes, or else the last change. "!" marks what needs a second look.
    """
    from memkit.use_cases.compare_skill import compare_skill

    found = compare_skill(front.root, name, span)
    data = {
        "name": name,
        "from": _side(found.before),
        "to": _side(found.after),
        "changes": change_rows(found.changes),
    }
    front.answer(data, _lines(found))


def _side(side: SkillSide) -> dict[str, Any]:
    return {"name": side.name, "commit": side.commit, "version": side.version}


def _lines(found: Comparison) -> Iterator[str]:
    yield f"{found.name}: from {_named(found.before)} to {_named(found.after)}"
    yield from (f" {'!' if change.attention else ' '} {change.message}" for change in found.changes)
    if not found.changes:
        same = found.before.text == found.after.text
        yield "   no change" if same else "   no change of meaning: only comments, order or spelling of the YAML"


def _named(side: SkillSide) -> str:
    return f"{side.name} ({side.version})" if side.version not in (None, side.name) else side.name


@memkit_command("propose")
@click.option(
    "--from-session", "session", type=SessionName(), required=True, metavar="SESSION", help="The session to learn from."
)
@user_option
@click.option("--name", help="The skill's name (default: the names of its tools).")
@click.option("--branch", help="The new branch (default: memkit/skill-<name>).")
@click.option("--quote", is_flag=True, help="Put the user's own words into the examples, in git, for all to read.")
@click.option("--dry-run", is_flag=True, help="Print the draft, and make no branch.")
def propose(
    front: Front, session: str, user: str | None, name: str | None, branch: str | None, quote: bool, dry_run: bool
) -> None:
    """Draft a skill from the tool calls that worked in a session, on a branch; nothing loads it until you merge."""
    from memkit.use_cases.propose_skill import propose_skill

    workspace = front.workspace
    made = propose_skill(workspace, session, user=user, name=name, branch=branch, quote=quote, dry_run=dry_run)
    data = {
        "name": made.skill.name,
        "path": made.path,
        "branch": made.branch,
        "commit": made.commit,
        "dry_run": dry_run,
        "steps": list(made.skill.steps),
        "required_tools": list(made.skill.required_tools),
        "text": made.text,
        "taint": list(made.taint),
    }
    lines = [made.text]
    if made.branch:
        lines += [
            f"On branch {made.branch}, commit {(made.commit or '')[:12]}; nothing has changed here yet.",
            f"Review: git diff HEAD...{made.branch}    Accept: git merge {made.branch}",
        ]
    front.answer(data, lines)


_PROFILES = ("agentskills", "claude-code")
"""The names of ``PROFILES`` in memkit/skills/sheet.py, repeated here because completion waits for imports."""


@memkit_command("export")
@click.argument("name", type=KnownName("skill"))
@click.option(
    "--profile", type=SuggestingChoice(_PROFILES), default="agentskills", show_default=True, help="Whose fields."
)
@click.option("--out", type=FOLDER, help="The folder (default: outputs/skills).")
@click.option("--force", is_flag=True, help="Replace a SKILL.md that holds another text.")
def export(front: Front, name: str, profile: str, out: Path | None, force: bool) -> None:
    """Write the skill NAME as an agent skill, OUT/<name>/SKILL.md, with the files beside it."""
    from memkit.use_cases.skills import export_skill

    root = front.root
    exported = export_skill(root, name, profile=profile, out=out or root / "outputs" / "skills", force=force)
    if exported.shortened:
        front.note("The description was cut to the format's 1,024 characters; the body has all of it.")
    if exported.left_out:
        front.note(f"SKILL.md has no place for {', '.join(exported.left_out)}.")
    data = {
        "name": exported.name,
        "path": str(exported.path),
        "profile": profile,
        "shortened": exported.shortened,
        "left_out": list(exported.left_out),
        "files": list(exported.files),
    }
    told = f" and {counted(len(exported.files), 'file')} beside it" if exported.files else ""
    front.answer(data, f"Wrote {exported.path}{told}")


@memkit_command("scan")
@click.argument("path", type=PLACE)
@click.option("--keys", type=FILE, help="Require a signature by one of these keys (PEM).")
def scan(front: Front, path: Path, keys: Path | None) -> None:
    """Scan the skill at PATH (a folder, an archive, a checkout, or a SKILL.md) for hostile content.

    Every file is read and none is run; no store is needed. Exit code 1 if something has to be reviewed.
    """
    from memkit.use_cases.skills import scan_skill

    found = scan_skill(path, keys)
    verdict = "flagged" if found.flagged else "clean"
    data = {"verdict": verdict, "findings": [asdict(finding) for finding in found.findings], "files": found.files}
    told = [
        f"{one.path}:{one.line}: {one.severity} {one.code} {one.message}" + (f"  [{one.text}]" if one.text else "")
        for one in found.findings
    ]
    diagnostics = [
        diagnostic(one.code, one.message, severity=one.severity, path=one.path, line=one.line) for one in found.findings
    ]
    front.answer(
        data, [*told, f"{verdict}: {counted(found.files, 'file')} read."], ok=not found.flagged, diagnostics=diagnostics
    )


@memkit_command("import")
@click.argument("path", type=PLACE)
@click.option("--as", "name", metavar="NAME", help="The skill's name (default: the one it states).")
@click.option("--accept-findings", is_flag=True, help="Import it although something in it looks hostile.")
@click.option("--dry-run", is_flag=True, help="Print what would be written, and write nothing.")
def import_command(front: Front, path: Path, name: str | None, accept_findings: bool, dry_run: bool) -> None:
    """Import the SKILL.md at PATH (the file, its folder or an archive), with everything beside it, as one commit.

    A skill imported before takes over what is new and keeps your changes; if both changed the same part, nothing is
    written (exit 1). The same goes for text that looks hostile, until you have read it. Nothing in it is run.
    """
    from memkit.use_cases.import_skill import import_skill

    root = front.root
    importing = partial(import_skill, root, path, name=name, accept_findings=accept_findings, dry_run=dry_run)
    done = with_trust(front, importing)
    findings = list(_import_findings(done, str(path)))
    if not front.json:
        for finding in findings:
            front.note(f"{finding['severity']}: {finding['message']}")
    if done.commit:
        findings += commit_findings(front, root)
    front.answer(
        asdict(done) | {"dry_run": dry_run},
        _import_lines(done, dry_run),
        ok=done.action not in ("refused", "conflict"),
        diagnostics=findings,
    )


def _import_lines(done: ImportedSkill, dry_run: bool) -> Iterator[str]:
    version = f" {done.version}" if done.version else ""
    if done.action == "refused":
        yield f"{done.name} was not imported: read the findings above, and add --accept-findings if they are harmless."
    elif done.action == "conflict":
        yield f"{done.name} was left unchanged, because both sides changed the same fields:"
        for conflict in done.conflicts:
            yield f"  {conflict.field}: here {_short(conflict.ours)}, there {_short(conflict.theirs)}"
    elif done.action == "unchanged":
        yield f"{done.name}{version}: nothing is new."
    elif dry_run:
        yield done.text
    else:
        told = f", commit {done.commit[:10]}" if done.commit else ""
        beside = f" and {counted(len(done.files), 'file')} beside it" if done.files else ""
        yield f"{done.name}{version} {done.action}: {done.path}{beside}{told}"


def _short(value: object) -> str:
    return one_line(str(value), 60) if value is not None else "nothing"


def _import_findings(done: ImportedSkill, path: str) -> Iterator[Diagnostic]:
    for loss in done.losses:
        yield diagnostic("import-loss", loss, severity="note", path=path)
    severity = "error" if done.action == "refused" else "warning"
    for found in done.findings:
        where = f"line {found.line}: " if found.line else ""
        yield diagnostic(found.code, f"{where}{found.message}", severity=severity, path=path, line=found.line)
    for conflict in done.conflicts:
        yield diagnostic("import-conflict", f"Both sides changed {conflict.field}.", path=done.path)
