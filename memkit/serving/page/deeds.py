"""The actions on the page: each deed calls the use case of the command of its name, and reports the result."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from memkit.errors import NegativeAnswer, UsageError
from memkit.runtime.host.terminal import one_line
from memkit.runtime.loop.reply import Event
from memkit.runtime.memory.interface import Decision, StoredRecord
from memkit.runtime.memory.record.record import Draft
from memkit.serving.page.visits import Visit
from memkit.use_cases.memory import (
    decision_lines,
    mark_entry,
    remember,
    resolve_question,
    restore_record,
    supersede_record,
    update_record,
)
from memkit.use_cases.recall import own_record
from memkit.use_cases.review import drop_draft, merge_draft
from memkit.workspace import Workspace

Given = Mapping[str, str]
"""The fields of a form."""
LONGEST_REASON = 2000
Told = Mapping[str, Any]
Hear = Callable[[Told], None]


@dataclass(frozen=True)
class Done:
    """The result of a deed, for a person, and the next page."""

    text: str
    room: str = ""
    """The room to go to; empty for the room of the form."""
    id: str | None = None
    asked: Mapping[str, str] = field(default_factory=dict)
    """The query for that room."""
    shown: Mapping[str, Any] | None = None
    """What is shown at once instead of going on, such as a certificate."""


@dataclass(frozen=True)
class Deed:
    """One action."""

    work: Callable[[Workspace, Visit, Given], Done]
    scope: str = "write"
    operators: bool = False
    at_desk: bool = True


def seat_of(workspace: Workspace, visit: Visit) -> Workspace:
    """Return the store as open for the visitor: a person who is vouched for, or a client."""
    return workspace if visit.caller is None else workspace.opened_for(visit.caller.origin)


def _reason(given: Given) -> str:
    return given.get("reason", "").strip()[:LONGEST_REASON]


def _text(given: Given) -> str:
    text = given.get("text", "").strip()
    if not text:
        raise UsageError("An empty fact cannot be recalled. Give it some text.")
    return text


def _told(decision: Decision, room: str = "memory") -> Done:
    return Done(" ".join(line.strip() for line in decision_lines(decision)), room, decision.id)


def _own(workspace: Workspace, visit: Visit, given: Given) -> StoredRecord:
    """Return a record that the visitor may change, as they saw it."""
    stored = own_record(workspace.archive, given.get("id", ""), visit.user)
    seen = given.get("seen", "")
    if seen and seen != mark_of(stored):
        raise NegativeAnswer("It changed since this page was shown. Look at it again; nothing was done.")
    return stored


def digest_of(status: str, text: str) -> str:
    """Return a digest of what a form's reader saw, so that a stale page decides about nothing new."""
    from hashlib import blake2b

    return blake2b(f"{status}\0{text}".encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def mark_of(stored: StoredRecord) -> str:
    """Return the digest of what the forms of a record change: its state, its text and its tags."""
    return digest_of(stored.status, "\0".join([stored.record.text, *stored.record.tags]))


def _add(workspace: Workspace, visit: Visit, given: Given) -> Done:
    seat = seat_of(workspace, visit)
    consented = visit.caller is None or workspace.archive.consent(visit.user) is True
    return _told(remember(seat, Draft(_text(given)), user=visit.user, consented=consented))


def _correct(workspace: Workspace, visit: Visit, given: Given) -> Done:
    stored = _own(workspace, visit, given)
    consented = visit.caller is None or workspace.archive.consent(visit.user) is True
    done = supersede_record(
        seat_of(workspace, visit), stored, _text(given), reason=_reason(given), consented=consented
    )  # fmt: skip
    return _told(done)


def _marked(op: str) -> Callable[[Workspace, Visit, Given], Done]:
    def mark(workspace: Workspace, visit: Visit, given: Given) -> Done:
        stored = _own(workspace, visit, given)
        id = stored.record.id
        now = mark_entry(seat_of(workspace, visit), op, id, user=visit.user, reason=_reason(given))
        if now.proposal:
            return Done(f"{op}: this waits for a person who may approve it.", "memory", id)
        back = f" Live again: {', '.join(now.revived)}." if now.revived else ""
        return Done(f"{op}: it is {now.status}{' already' if now.already else ''}.{back}", "memory", id)

    return mark


def _restore(workspace: Workspace, visit: Visit, given: Given) -> Done:
    stored = _own(workspace, visit, given)
    now = restore_record(seat_of(workspace, visit), stored, reason=_reason(given))
    return Done(f"restore: it is {now.status}.", "memory", stored.record.id)


def _tag(workspace: Workspace, visit: Visit, given: Given) -> Done:
    stored = _own(workspace, visit, given)
    tags = [tag for tag in (part.strip() for part in given.get("tags", "").split(",")) if tag]
    waits = update_record(seat_of(workspace, visit), stored, {"tags": tags}, reason=_reason(given))
    told = "The new tags wait for a person." if waits else "The tags are changed."
    return Done(told, "memory", stored.record.id)


def _decide(op: str) -> Callable[[Workspace, Visit, Given], Done]:
    def decide(workspace: Workspace, visit: Visit, given: Given) -> Done:
        id = given.get("id", "")
        waits = {one.id: one for one in workspace.archive.waiting(user_id=visit.user)}
        if id not in waits:
            raise NegativeAnswer("This is no longer pending: somebody has decided about it. Nothing was done.")
        if given.get("seen", "") != digest_of(waits[id].kind, waits[id].text):
            raise NegativeAnswer("It changed since this page was shown. Look at it again; nothing was done.")
        now = mark_entry(workspace, op, id, user=visit.user, reason=_reason(given))
        return Done(f"{op}: it is {now.status}.", "waiting")

    return decide


def _resolve(workspace: Workspace, visit: Visit, given: Given) -> Done:
    since = given.get("since", "").strip() or None
    done = resolve_question(workspace, given.get("id", ""), user=visit.user, since=since, reason=_reason(given))
    ended = f"; {len(done.ended)} became history" if done.ended else ""
    return Done(f"It holds since {done.since[:10]}{ended}.", "waiting")


def _consent(granted: bool) -> Callable[[Workspace, Visit, Given], Done]:
    def agree(workspace: Workspace, visit: Visit, given: Given) -> Done:
        workspace.archive.set_consent(visit.user, granted, workspace.person(visit.user))
        workspace.commit_memory()
        return Done(f"Consent of {visit.user}: {'granted' if granted else 'withdrawn'}.", "people")

    return agree


def _lesson(workspace: Workspace, visit: Visit, given: Given) -> Done:
    from memkit.use_cases.lessons import promote_lesson

    domain, _, name = given.get("id", "").partition("/")
    done = promote_lesson(workspace.root, domain, name)
    return Done(f"{done.name} is now a method of {domain}.", "waiting")


def _no_lesson(workspace: Workspace, visit: Visit, given: Given) -> Done:
    from memkit.use_cases.lessons import reject_lesson

    domain, _, name = given.get("id", "").partition("/")
    reject_lesson(workspace.root, domain, name, _reason(given), clock=workspace.clock)
    return Done(f"{name} is rejected and will not be proposed again.", "waiting")


def _take(workspace: Workspace, visit: Visit, given: Given) -> Done:
    made = merge_draft(workspace, given.get("id", ""), given.get("seen", ""), reason=_reason(given))
    return Done(f"Taken over as {made[:10]}.", "changes", asked={"from": f"{made}^", "to": made})


def _drop(workspace: Workspace, visit: Visit, given: Given) -> Done:
    drop_draft(workspace, given.get("id", ""), given.get("seen", ""))
    return Done(f"{given.get('id', '')} is deleted.", "waiting")


def _commit(workspace: Workspace, visit: Visit, given: Given) -> Done:
    """Commit memory, so that there is a permanent link to it."""
    made = workspace.commit_memory(force=True, added=0, subject=one_line(_reason(given), 200))
    if made is None:
        return Done("Everything is committed.", "changes")
    return Done(f"Committed {made[:10]}.", "changes", asked={"from": f"{made}^", "to": made})


def _erase(workspace: Workspace, visit: Visit, given: Given) -> Done:
    from memkit.use_cases.erase_user import erase_user

    if given.get("name", "") != visit.user:
        raise UsageError("To erase everything, type the user's name exactly as shown. Nothing was changed.")
    done = erase_user(workspace, visit.user, confirm=lambda plan: None)
    certificate = done.certificate.read_text("utf-8") if done.certificate else "{}"
    shown = {
        "certificate": json.dumps(json.loads(certificate), indent=1, ensure_ascii=False),
        "proven": done.proven, "removed": {kind: count for kind, count in done.removed.items() if count},
        "traces": [(place.place, where) for place in done.scanned for where in place.where],
    }  # fmt: skip
    left = "; what still quotes it is named below" if done.found else ""
    return Done(f"Everything that memory held about {visit.user} is erased{left}.", "people", shown=shown)


def say(workspace: Workspace, visit: Visit, given: Given, hear: Hear = lambda told: None) -> Done:
    """Send a message to the store's agent, in a workspace of its own as another program would open it.

    ``hear`` meanwhile receives ``{text}`` as an answer arrives, ``{answer}`` with its form then, and ``{beside, ids}``.
    """
    from memkit.agent import Setting
    from memkit.use_cases.open_chat import open_chat
    from memkit.workspace import open_workspace

    def listen(event: Event) -> None:
        for told in _heard(event):
            hear(told)

    with open_workspace(workspace.root, clock=workspace.clock) as own:
        agent = open_chat(own, Setting(user=visit.user, session=given.get("id", "")))
        with agent.heard_by(listen):
            agent.step(_text(given))
        session = agent.setting.session
        own.end_batch()
    return Done("", "talks", session)


def _heard(event: Event) -> Iterator[Told]:
    """Yield what a visitor is shown about an event during a turn."""
    if event.kind == "text":
        yield {"text": event.data["delta"]}
    elif event.kind == "model_answered" and event.data["text"]:
        yield {"answer": event.data["text"]}
    elif event.kind == "recalled":
        for block in event.data["blocks"]:
            yield {"beside": f"from {block['tier']}", "ids": block["ids"][:8]}
    elif event.kind == "call_started":
        yield {"beside": f"calls {event.data['name']}", "ids": []}


DEEDS: Mapping[str, Deed] = {
    "add": Deed(_add),
    "correct": Deed(_correct),
    "confirm": Deed(_marked("confirm")),
    "forget": Deed(_marked("forget")),
    "reject": Deed(_marked("reject")),
    "restore": Deed(_restore, "review"),
    "tag": Deed(_tag),
    "release": Deed(_marked("approve"), "review"),
    "approve": Deed(_decide("approve"), "review"),
    "turn-down": Deed(_decide("reject"), "review"),
    "resolve": Deed(_resolve, "review"),
    "grant": Deed(_consent(granted=True), "review"),
    "withdraw": Deed(_consent(granted=False), "review"),
    "say": Deed(say, "review", at_desk=False),
    "take": Deed(_take, "review", operators=True),
    "drop": Deed(_drop, "review", operators=True),
    "promote": Deed(_lesson, "review", operators=True),
    "dismiss": Deed(_no_lesson, "review", operators=True),
    "commit": Deed(_commit, "review", operators=True),
    "erase": Deed(_erase, "review", operators=True),
}
"""By the name that a form posts to."""
