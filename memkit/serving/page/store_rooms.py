"""Rooms about a store's content besides memory: changes, rules, skills, runs and settings."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from memkit.errors import MemkitError, NotFound, UsageError
from memkit.review.text import bounded, end_name, lint_summary, markdown, subject_title, summary
from memkit.runtime.guard.interface import EFFECTS
from memkit.serving.page.room import SHOWN, Asked, Shown, commits_of, shortened
from memkit.serving.page.visits import Visit
from memkit.skills.sheet import skill_body
from memkit.store.config import own_tools
from memkit.use_cases.policies import check_policy, checked_data, list_policies
from memkit.use_cases.review import review_commits, review_part
from memkit.use_cases.skills import find_skills, list_skills, show_skill
from memkit.workspace import Workspace

if TYPE_CHECKING:
    from memkit.domains.runs import PlanRuns
    from memkit.use_cases.policy_proofs import CoveredCall

MOST_CHANGES = 50
MOST_LINES = 400


def changes(workspace: Workspace, visit: Visit, asked: Asked, name: str | None) -> Shown:
    """Return the review of two commits by meaning, or of the uncommitted changes; a token sees its user's part."""
    commits = commits_of(workspace, visit)
    before, after = asked.get("from", "").strip(), asked.get("to", "").strip()
    for said in (before, after):
        if said.startswith("-") or ".." in said or any(char.isspace() for char in said):
            raise UsageError(f"{said!r:.60} is not a commit.")
    span = f"{before or 'HEAD'}..{after}" if after else before or None
    shown: Shown = {"commits": commits, "from_": before, "to": after, "review": None, "fault": "", "markdown": ""}
    try:
        found = review_commits(workspace.root, span)
        if not visit.is_operator:
            found = review_part(found, visit.user)
    except MemkitError as error:
        return shown | {"fault": str(error)}
    subjects = [(one, subject_title(one), *bounded(one.changes, MOST_CHANGES)) for one in found.difference.subjects]
    return shown | {
        "review": found, "subjects": subjects[:200], "more": max(0, len(subjects) - 200),
        "before": end_name(found.difference.before), "after": end_name(found.difference.after),
        "before_commit": found.difference.before.commit, "after_commit": found.difference.after.commit,
        "summary": summary(found.difference), "lint": lint_summary(found.lint),
        "markdown": markdown(found, MOST_CHANGES),
    }  # fmt: skip


def policies(workspace: Workspace, visit: Visit, asked: Asked, name: str | None) -> Shown:
    """Return the policies, their conflicts on request, and their decisions about a call."""
    shown: Shown = {"policies": [], "fault": "", "conflicts": None, "coverage": None, "astray": []}
    shown |= {"tool": "", "args": "{}", "verdict": None}
    try:
        found = list_policies(workspace.root)
    except MemkitError as error:
        found, shown["fault"] = [], str(error)
    shown["policies"] = [
        {
            "name": one.name, "text": one.document.text,
            **{key: one.data.get(key, "") for key in ("description", "rule", "effect", "enforcement", "rationale")},
        }
        for one, _ in found
    ]  # fmt: skip
    if asked.get("conflicts") and not shown["fault"]:
        from memkit.use_cases.policy_proofs import find_policy_conflicts

        found_out = find_policy_conflicts(workspace.root).analysis.conflicts
        shown["conflicts"] = [{"kind": one.kind, "policies": one.policies, "proof": one.proof} for one in found_out]
    if asked.get("coverage") and not shown["fault"]:
        shown["coverage"], shown["astray"] = _coverage(workspace)
    if tool := asked.get("tool", "").strip():
        shown |= {"tool": tool, "args": asked.get("args", "")}
        shown["verdict"] = checked_data(check_policy(workspace.root, tool, _arguments(asked.get("args", "")), {}))
    return shown


def _coverage(workspace: Workspace) -> tuple[list[Shown], list[CoveredCall]]:
    """Return the policies' decisions about memkit's list of calls, by kind of call, and the unexpected ones."""
    from memkit.use_cases.policy_proofs import cover_corpus

    kinds: dict[str, Counter[str]] = {}
    astray: list[CoveredCall] = []
    for one in cover_corpus(workspace.root):
        kinds.setdefault(one.category, Counter())[one.decision] += 1
        astray += [] if one.as_expected else [one]
    return [{"kind": kind, **{effect: found[effect] for effect in EFFECTS}} for kind, found in kinds.items()], astray


def _arguments(said: str) -> dict[str, Any]:
    try:
        found = json.loads(said or "{}")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UsageError('Arguments must be a JSON object such as {"command": "ls"}.')
    return found


def skills(workspace: Workspace, visit: Visit, asked: Asked, name: str | None) -> Shown:
    """Return the skills, those that share words with a question, or one of them in full."""
    query = asked.get("q", "").strip()
    shown: Shown = {"q": query, "skills": [], "skill": None, "fault": ""}
    try:
        if name is not None:
            skill = show_skill(workspace.root, name)
            return shown | {"skill": skill, "body": shortened("\n".join(skill_body(skill)))}
        found = [skill for skill, _ in find_skills(workspace.root, query, 50)] if query else list_skills(workspace.root)
    except NotFound:
        raise
    except MemkitError as error:
        return shown | {"fault": str(error)}
    return shown | {"skills": found}


def evolution(workspace: Workspace, visit: Visit, asked: Asked, name: str | None) -> Shown:
    """Return the runs of evolution on this machine, or one of them: its course, and the ancestry of its best."""
    from memkit.drawing.interface import to_svg
    from memkit.evolution.account import account_of, course_of, status_of
    from memkit.evolution.folder import RunFolder, runs_folder
    from memkit.evolution.record import RECORD
    from memkit.evolution.report import course, diff_lines, lineage_graph

    folder = runs_folder(workspace.root)
    found = {path.parent.name: RunFolder(path.parent) for path in sorted(folder.glob(f"*/{RECORD}"))[-SHOWN:]}
    if name is None:
        rows = []
        for run in reversed(found.values()):
            with suppress(MemkitError):
                rows.append(status_of(account_of(run)))
        return {"runs": rows, "run": None}
    if name not in found:
        raise NotFound(f"There is no run {name!r:.60} here.")
    account = account_of(found[name])
    has_best = account.checkpoint is not None and account.checkpoint.best is not None
    steps = account.ancestry(account.best) if has_best else []
    points = course_of(account.judged, minimize=account.record.settings.minimize)[-200:]
    return {
        "runs": [], "run": status_of(account), "svg": to_svg(lineage_graph(steps)) if steps else "",
        "chart": course(points), "diff": diff_lines(account, steps)[:MOST_LINES],
        "columns": ("generation", "judged", "scored", "best", "best so far"),
        "rows": [["" if cell is None else f"{cell:.6g}" for cell in astuple(point)] for point in points],
    }  # fmt: skip


def plans(workspace: Workspace, visit: Visit, asked: Asked, name: str | None) -> Shown:
    """Return the planning domains, and with a name one of them as a picture and as a table."""
    from memkit.drawing.graph import task_network
    from memkit.drawing.interface import to_svg
    from memkit.use_cases.carry_out_plan import plan_runs
    from memkit.use_cases.domains import list_domains, show_domain

    shown: Shown = {"domains": [], "domain": None, "runs": [], "run": "", "fault": ""}
    try:
        recorded = plan_runs(None, workspace)
        if name is None and asked.get("run"):
            return shown | _run(recorded, visit, asked["run"])
        if name is not None:
            known = {one.name: one for one in list_domains(workspace.root)}
            if name not in known:
                raise NotFound(f"There is no domain {name!r:.60} here.")
            network = task_network(show_domain(name, workspace.root).domain)
            labels = {node.id: node.label for node in network.nodes}
            rows = [(labels[one.source], labels[one.target], one.label) for one in network.edges]
            return shown | {"domain": known[name], "svg": to_svg(network), "network": network, "rows": rows}
        runs = [one for one in recorded.states(lambda told: None) if one.run.user in (None, visit.user)]
        return shown | {"domains": list_domains(workspace.root), "runs": [one.to_data() for one in runs[-SHOWN:]]}
    except NotFound:
        raise
    except MemkitError as error:
        return shown | {"fault": str(error)}


def _run(recorded: PlanRuns, visit: Visit, name: str) -> Shown:
    """Return one run: the plan as a picture, and the outcome of each step."""
    from memkit.drawing.graph import decomposition
    from memkit.drawing.interface import to_svg

    found = recorded.find(name)
    if found.user not in (None, visit.user):
        raise NotFound(f"There is no run {name!r:.60}.")
    course = recorded.course(found)
    return {
        "run": name, "svg": to_svg(decomposition(course.tree, name)) if course.tree else "",
        "outcome": course.outcome, "steps": [one.to_data() for one in course.records[-MOST_LINES:]],
    }  # fmt: skip


def settings(workspace: Workspace, visit: Visit, asked: Asked, name: str | None) -> Shown:
    """Return every setting, its value and its origin."""
    rows = [
        (one.key, shortened(json.dumps(one.value, ensure_ascii=False), 300), one.origin) for one in workspace.settings
    ]
    return {
        "settings": rows,
        "own_tools": sorted(str(one["name"]) for one in own_tools(workspace.root, workspace.settings["tools"])),
    }
