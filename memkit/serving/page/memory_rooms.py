"""Rooms about one user's memory.

No room writes, and none requests more than it shows.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from memkit.errors import MemkitError, UsageError
from memkit.runtime.host.terminal import one_line
from memkit.runtime.memory.gate.secrets import mask
from memkit.runtime.memory.record.lines import InvalidRecord, parse_time
from memkit.runtime.memory.record.record import MAX_TEXT_BYTES, TYPES, has_expired
from memkit.serving.page.deeds import digest_of, mark_of
from memkit.serving.page.room import SHOWN, Asked, Shown, brief, commits_of, shortened
from memkit.serving.page.visits import Visit
from memkit.use_cases.accounts import blame_record, explain_record
from memkit.use_cases.health import KINDS, examine_health, health_course
from memkit.use_cases.recall import core_sections, find_record, record_data, what_it_is_about, why_waiting
from memkit.use_cases.review import BranchDraft, list_drafts
from memkit.workspace import Workspace

if TYPE_CHECKING:
    from memkit.runtime.memory.index.graph import RelationGraph
    from memkit.use_cases.relations import GraphQuestion

CHAIN = 20
"""The most predecessors, or successors, that are followed from a record."""
STATUSES = ("live", "quarantined", "superseded", "retired", "rejected")
MOST_WAITING = 200
MOST_LOOKED = 500
"""Records that one view compares with others to find open questions; the next view takes the next ones."""
MOST_EXAMINED = 5000
"""The most records of a memory whose health is examined at each view."""
MOST_SAID = 200
MOST_TIES = 200
MOST_MOVING = 2000
"""The most things in the animated picture; those with most ties are included."""
MOST_DRAWN = 200
"""The most things in one picture; more would be unreadable, and the table has them."""
BESIDE: Mapping[str, str] = {
    "retrieved": "found", "injected": "shown to the model", "cited": "cited", "recall_skipped": "nothing was looked up",
    "write": "kept", "merge": "merged", "quarantine": "held back", "refusal": "refused", "supersede": "replaced",
    "core": "edited core memory", "reject": "rejected", "policy": "policy",
}  # fmt: skip
"""The page's names for the events of a turn."""


def today(workspace: Workspace, visit: Visit, asked: Asked, name: str | None) -> Shown:
    """Return what was learned last, what waits, which questions are open, and what is always in the prompt."""
    archive, now = workspace.archive, workspace.clock()
    newest = archive.browse(visit.user, limit=12)
    week = (now - timedelta(days=7)).date().isoformat()
    waits = archive.waiting(user_id=visit.user)
    return {
        "newest": [brief(one, now) for one in newest],
        "recent": sum(one.created_at >= week for one in newest),
        "waiting": len(waits),
        "open": len(archive.open_questions(user_id=visit.user, most=MOST_LOOKED)),
        "core": [(section, shortened(text)) for section, text in core_sections(workspace, visit.user).items() if text],
        "consent": archive.consent(visit.user),
        "damage": [one_line(f"{one.path}: {one.message}", 200) for one in workspace.damage[:5]],
    }


def memory(workspace: Workspace, visit: Visit, asked: Asked, name: str | None) -> Shown:
    """Return records that fit a question or filters, or with a name one record's whole life."""
    if name is not None:
        return life(workspace, visit, asked, name)
    query, kind, tag = asked.get("q", "").strip(), asked.get("type", ""), asked.get("tag", "").strip()
    status = asked.get("status", "") or "live"
    _one_of("status", status, STATUSES)
    types = (_one_of("type", kind, TYPES),) if kind else ()
    tags = (tag,) if tag else ()
    shown: Shown = {"q": query, "type": kind, "tag": tag, "status": status, "types": TYPES, "statuses": STATUSES}
    shown["shown_at_once"] = SHOWN
    now = workspace.clock()
    if query and status == "live":
        report = _looked_up(workspace, visit, query, types, tags)
        return shown | {
            "hits": [brief(hit.record, now) | {"score": hit.score} for hit in report.hits],
            "abstained": report.abstained, "more": None,
        }  # fmt: skip
    found = workspace.archive.browse(
        visit.user, status=status, types=types, tags=tags, words=query.split(), before=asked.get("before") or None,
        limit=SHOWN + 1,
    )  # fmt: skip
    more = found[SHOWN - 1].id if len(found) > SHOWN else None
    return shown | {"hits": [brief(one, now) for one in found[:SHOWN]], "abstained": False, "more": more}


def _looked_up(workspace: Workspace, visit: Visit, query: str, types: Sequence[str], tags: Sequence[str]) -> Any:
    """Search without counting it as a use: viewing a page changes no ranking. The audit log records it."""
    archive = workspace.archive
    archive.leaves_traces, before = False, archive.leaves_traces
    try:
        report = archive.search(query, user_id=visit.user, k=SHOWN, types=tuple(types), tags=tuple(tags))
    finally:
        archive.leaves_traces = before
    workspace.audit.append(
        {
            "event": "looked back", "user_id": visit.user, "actor": _actor(visit), "query": mask(query),
            "ids": [hit.id for hit in report.hits], "token": visit.token,
        }
    )  # fmt: skip
    return report


def _actor(visit: Visit) -> str:
    return visit.caller.origin.actor if visit.caller else "person"


def _one_of(what: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise UsageError(f"There is no {what} {value!r:.60}. There are {', '.join(known)}.")
    return value


def life(workspace: Workspace, visit: Visit, asked: Asked, name: str) -> Shown:
    """Return everything about one record: who, when, why, its predecessors and successors, and its recalls."""
    stored = find_record(workspace.archive, name, visit.user)
    record = stored.record
    account = explain_record(workspace, name, user=visit.user)
    data = record_data(stored, workspace.clock())
    hidden = ("waits", "text", "history", "salt", "link", "id", "status", "superseded_by", "tags")
    shown: Shown = {
        "record": brief(record, workspace.clock()) | {"text": shortened(record.text), "tags": list(record.tags)[:200]},
        "status": stored.status,
        "waits": data.get("waits", []),
        "mark": mark_of(stored),
        "correctable": record.text if len(record.text) <= MAX_TEXT_BYTES else "",
        "is_own": record.user_id == visit.user,
        "session": record.session_id if record.user_id == visit.user else None,
        "history": [dict(event) for event in stored.history],
        "fields": [
            (key, _plain(value)) for key, value in data.items() if key not in hidden and value not in (None, "")
        ],
        "earlier": _chain(workspace, visit, record.supersedes, lambda one: one.record.supersedes),
        "later": _chain(workspace, visit, stored.superseded_by, lambda one: one.superseded_by),
        "parents": list(record.parents)[:CHAIN],
        "recalls": [
            {"kind": kind, **occasion}
            for kind in ("retrieved", "injected", "cited")
            for occasion in getattr(account, kind)[-20:]
        ],
        "counts": {kind: len(getattr(account, kind)) for kind in ("retrieved", "injected", "cited", "lost")},
        "lines": None,
        "on_server": workspace.server is not None,
    }
    if asked.get("commits"):
        with suppress(MemkitError):
            shown["lines"] = blame_record(workspace, name, user=visit.user)
    return shown


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return shortened(", ".join(map(str, islice(value, 200))), 2000)
    return shortened(json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value), 2000)


def _chain(workspace: Workspace, visit: Visit, id: str | None, following: Callable[[Any], str | None]) -> list[Shown]:
    found: list[Shown] = []
    seen: set[str] = set()
    while id is not None and id not in seen and len(found) < CHAIN:
        seen.add(id)
        stored = workspace.archive.get(id, user_id=visit.user)
        if stored is None:
            break
        found.append(brief(stored.record) | {"status": stored.status})
        id = following(stored)
    return found


def waiting(workspace: Workspace, visit: Visit, asked: Asked, name: str | None) -> Shown:
    """Return a person's open decisions: writes that were held back, open questions, and drafts on branches."""
    archive = workspace.archive
    held = archive.waiting(user_id=visit.user)
    questions = []
    for one in archive.open_questions(user_id=visit.user, most=MOST_LOOKED)[:MOST_WAITING]:
        records = [stored for id in one.ids if (stored := archive.get(id, user_id=visit.user))]
        questions.append({
            "why": one.why, "kind": one.kind,
            "records": [brief(each.record) | {"status": each.status} for each in records],
        })  # fmt: skip
    return {
        "held": [
            {
                "id": one.id,
                "kind": one.kind,
                "text": shortened(one.text, 2000),
                "taint": one.taint,
                "about": [brief(each) for each in what_it_is_about(archive, one)],
                "waits": why_waiting(archive, one),
                "mark": digest_of(one.kind, one.text),
            }
            for one in held[:MOST_WAITING]
        ],
        "held_count": len(held),
        "questions": questions,
        "drafts": _drafts(workspace) if visit.is_operator else [],
        "methods": _methods(workspace) if visit.is_operator else [],
    }


def _methods(workspace: Workspace) -> list[Shown]:
    """Return the learned methods that nobody has promoted yet."""
    from memkit.domains.learned import LearnedMethods

    found: list[Shown] = []
    for path in sorted((workspace.root / "domains" / "learned").glob("*.yaml")):
        with suppress(MemkitError):
            found += [
                {"id": f"{path.stem}/{one['name']}", "domain": path.stem, "name": str(one["name"]), "text": _plain(one)}
                for one in LearnedMethods.of_store(workspace.root, path.stem).entries()
            ]
    return found[:MOST_WAITING]


def _drafts(workspace: Workspace) -> list[BranchDraft]:
    """Return the branches that memkit wrote for a person to review."""
    with suppress(MemkitError):
        return list_drafts(workspace)[:MOST_WAITING]
    return []


def time(workspace: Workspace, visit: Visit, asked: Asked, name: str | None) -> Shown:
    """Return what was true on a day, and what was believed at a commit."""
    as_of, at = asked.get("as_of", "").strip(), asked.get("at", "").strip()
    day = _day(as_of)
    commits = commits_of(workspace, visit)
    present = workspace.clock().date().isoformat()
    shown: Shown = {
        "as_of": as_of,
        "at": at,
        "commits": commits,
        "today": present,
        "hits": None,
        "core": [],
        "count": 0,
    }
    oldest = commits[-1]["day"] if commits else present
    shown |= {"oldest": min(oldest, as_of or oldest)}
    if not as_of and not at:
        return shown
    with Workspace(workspace.root, clock=workspace.clock) as own:
        own.tells_damage = False
        archive = own.archive_at(at or None)
        found = [
            one for one in archive.records(user_id=visit.user, as_of=day) if day or not has_expired(one, own.clock())
        ]
        newest = sorted(found, key=lambda one: one.id, reverse=True)
        core = archive.core_sections(visit.user) if not as_of else {}
    return shown | {
        "hits": [brief(one) for one in newest[:SHOWN]], "count": len(found),
        "core": [(section, shortened(text)) for section, text in core.items() if text],
    }  # fmt: skip


def _day(said: str) -> str | None:
    if not said:
        return None
    try:
        parse_time(said)
    except InvalidRecord:
        raise UsageError(f"{said!r:.60} is not a day such as 2026-11-30.") from None
    return said


def people(workspace: Workspace, visit: Visit, asked: Asked, name: str | None) -> Shown:
    """Return what is held on the visitor's user, and their consent."""
    archive = workspace.archive
    return {
        "consent": archive.consent(visit.user),
        "mode": workspace.settings["privacy.consent"],
        "long_term": workspace.settings["privacy.long_term"],
        "sessions": len(workspace.session_book.of(visit.user)),
        "core": core_sections(workspace, visit.user),
        "certificate": None,
    }


def health(workspace: Workspace, visit: Visit, asked: Asked, name: str | None) -> Shown:
    """Return the problems of the visitor's user's memory; a large one is examined only on request."""
    with Workspace(workspace.root, clock=workspace.clock) as own:  # so that nobody else has to wait
        own.tells_damage = False
        is_large = not asked.get("all") and len(own.archive.browse(visit.user, limit=MOST_EXAMINED + 1)) > MOST_EXAMINED
        found = [] if is_large else examine_health(own, user=visit.user)
    course = health_course(workspace, visit.user, everybody=visit.is_operator)
    return {
        "is_large": is_large,
        "course": course,
        "kinds": [kind for kind in KINDS if any(kind in counts for _, counts in course)],
        "health": [
            {
                "kind": one.kind,
                "meaning": one.meaning,
                "command": one.command,
                "ids": one.ids[:20],
                "count": len(one.ids),
            }
            for one in found
        ],
    }


def relations(workspace: Workspace, visit: Visit, asked: Asked, name: str | None) -> Shown:
    """Return the relations: all of them, those around one entity, or the path between two."""
    from memkit.drawing.interface import draw
    from memkit.use_cases.relations import relation_drawing

    question, graph = _asked_relations(workspace, visit, asked)
    around, to = asked.get("around", "").strip(), asked.get("to", "").strip()
    names = {node.id: node.name for node in graph.nodes}
    ties, tied = graph.edges[:MOST_TIES], {end for tie in graph.edges for end in (tie.source, tie.target)}
    drawn = relation_drawing(graph, question.title) if 0 < len(graph.nodes) <= MOST_DRAWN else None
    return {
        "around": around, "to": to, "steps": question.steps, "as_of": question.as_of or "", "title": question.title,
        "svg": draw(drawn, "svg").text if drawn else "", "nodes": len(graph.nodes), "count": len(graph.edges),
        "ties": [
            {
                "from": names[tie.source], "to": names[tie.target], "relation": tie.relation, "ids": tie.record_ids[:5],
                "since": tie.valid_from or "", "until": tie.valid_until or "", "tainted": tie.tainted,
            }
            for tie in ties
        ],
        "alone": sorted({node.name for node in graph.nodes if node.id not in tied})[:MOST_TIES],
    }  # fmt: skip


def _asked_relations(workspace: Workspace, visit: Visit, asked: Asked) -> tuple[GraphQuestion, RelationGraph]:
    from memkit.use_cases.relations import GraphQuestion, walk_relations

    around, to = asked.get("around", "").strip(), asked.get("to", "").strip()
    steps, as_of = 2 if asked.get("steps") == "2" else 1, _day(asked.get("as_of", "").strip())
    between = (around, to) if around and to else None
    question = GraphQuestion(None if between else around or None, steps, between, as_of)
    return question, walk_relations(workspace, visit.user, question)


def picture(workspace: Workspace, visit: Visit, asked: Asked) -> Shown:
    """Return the most connected things, and their ties, for an animated picture."""
    _, graph = _asked_relations(workspace, visit, asked)
    tied = Counter(end for tie in graph.edges for end in (tie.source, tie.target))
    kept = sorted(graph.nodes, key=lambda node: -tied[node.id])[:MOST_MOVING]
    place = {node.id: number for number, node in enumerate(kept)}
    ties = [one for one in graph.edges if one.source in place and one.target in place]
    return {
        "nodes": [[shortened(node.name, 60), node.kind] for node in kept],
        "ties": [[place[one.source], place[one.target], one.relation[:40]] for one in ties[: 3 * MOST_MOVING]],
        "left": len(graph.nodes) - len(kept),
    }  # fmt: skip


def talks(workspace: Workspace, visit: Visit, asked: Asked, name: str | None) -> Shown:
    """Return the conversations on this machine, or one of them with what was recalled and kept beside each turn."""
    from memkit.use_cases.accounts import turn_events
    from memkit.use_cases.sessions import show_session

    shown: Shown = {"talks": [], "card": None, "turns": [], "answers": workspace.settings["provider"]}
    if name is None:
        return shown | {"talks": workspace.session_book.of(visit.user)[:SHOWN]}
    account = show_session(workspace, name, user=visit.user)
    session = account.card.session
    turns: dict[int | None, Shown] = {}
    for said in account.turns[-MOST_SAID:]:
        turn = turns.setdefault(said.turn_id, {"id": said.turn_id, "said": [], "beside": []})
        turn["said"].append({"role": said.role, "text": shortened(said.text, 4000), "taint": said.taint})
    for event in turn_events(workspace, user=visit.user, session=session):
        if event["turn_id"] in turns and event["event"] in BESIDE:
            ids = [id for id in event.get("ids") or () if isinstance(id, str)]
            told = {"what": BESIDE[event["event"]], "ids": ids[:8], "more": max(0, len(ids) - 8), "why": ""}
            if event["event"] in ("policy", "recall_skipped", "refusal"):
                told["why"] = one_line(str(event.get("decision") or event.get("reason") or ""), 120)
            turns[event["turn_id"]]["beside"] += [told] if ids or told["why"] else []
    return shown | {"card": account.card, "turns": list(turns.values()), "left": len(account.turns) > MOST_SAID}
