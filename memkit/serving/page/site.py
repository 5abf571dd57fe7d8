"""The page as a web application: admitted visitors view rooms, and act by forms that only they can send."""

from __future__ import annotations

import hmac
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from memkit.errors import NegativeAnswer, NotFound
from memkit.runtime.host.terminal import one_line
from memkit.runtime.memory.archive.reader import NOBODY
from memkit.runtime.memory.gate.secrets import mask
from memkit.runtime.memory.record.lines import ArchiveError, InvalidRecord
from memkit.serving.interface import check_store
from memkit.serving.page.deeds import DEEDS, Done, say
from memkit.serving.page.memory_rooms import picture
from memkit.serving.page.room import Room
from memkit.serving.page.rooms import ROOMS
from memkit.serving.page.templates import ASSETS, asset, render, served_link
from memkit.serving.page.visits import IDLE, Visit, Visits
from memkit.use_cases.carry import ImportAccount, export_memory
from memkit.workspace import Workspace

MOST_FORM = 512 * 1024
MOST_FIELDS = 100
LINES = "application/x-ndjson"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # under no-referrer a browser sends forms with the origin null
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
KEPT = {"Cache-Control": "private, max-age=31536000, immutable"}
NOT_OF_THIS_VISIT = "This form belongs to another visit. Go back, reload the page and send it again; nothing was done."
ENDED = "This visit is over. Enter again with a new key or a token."
STATUS = {1: 409, 2: 400, 3: 503}
"""The status of an answer by the exit code of the reported error."""


@dataclass
class Numbers:
    """A server's counts of its requests, for ``/metrics``."""

    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    """By room and status."""
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    deeds: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By deed, and whether it was ``done`` or ``refused``."""

    def text(self) -> str:
        """Return the numbers in Prometheus format; they contain no user name and no text."""
        lines = ["# TYPE memkit_requests_total counter"]
        lines += [
            f'memkit_requests_total{{room="{room}",status="{code}"}} {n}'
            for (room, code), n in sorted(self.requests.items())
        ]
        lines += ["# TYPE memkit_request_seconds_total counter"]
        lines += [f'memkit_request_seconds_total{{room="{room}"}} {n:.6f}' for room, n in sorted(self.seconds.items())]
        lines += ["# TYPE memkit_deeds_total counter"]
        lines += [
            f'memkit_deeds_total{{deed="{deed}",outcome="{how}"}} {n}' for (deed, how), n in sorted(self.deeds.items())
        ]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Site:
    """The page of one open store."""

    workspace: Workspace
    visits: Visits
    desk: anyio.CapacityLimiter
    """Requests that read or write memory wait here, one at a time, together with clients' calls."""
    tell: Callable[[str], None]
    log: Callable[[Mapping[str, Any]], None]
    """Receives each answered request."""
    metrics: bool = False
    """Whether metrics may be read at ``/metrics``, by anybody who reaches this server."""
    numbers: Numbers = field(default_factory=Numbers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        began = time.perf_counter()
        request = Request(scope, receive)
        room = (request.url.path.strip("/").split("/") or [""])[0] or "today"
        try:
            response = await self._answer(request, room)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong is one line for the visitor, and no trace
            response = self._failed(error, self._visit(request))
        took = time.perf_counter() - began
        known = room if room in ROOMS or room in ("do", "static", "enter", "leave", "export") else "other"
        self.numbers.requests[known, response.status_code] += 1
        self.numbers.seconds[known] += took
        self.log({"room": known, "method": request.method, "status": response.status_code, "seconds": round(took, 6)})
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        await response(scope, receive, send)

    async def _answer(self, request: Request, room: str) -> Response:
        words = [word for word in request.scope["path"].strip("/").split("/") if word]
        if request.method not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("Only GET and POST.\n", 405, headers={"Allow": "GET, HEAD, POST"})
        if request.method == "POST":
            return await self._posted(request, words)
        if room == "static" and len(words) == 2 and words[1] in ASSETS:
            return Response(asset(words[1]), media_type=ASSETS[words[1]], headers=KEPT)
        if room == "healthz":
            return PlainTextResponse("ok\n")
        if room == "readyz":
            check_store(self.workspace)
            await self._at_desk(lambda: self.workspace.archive.refresh(NOBODY))  # a probe asks about no user
            return PlainTextResponse("ready\n")
        if room == "metrics" and self.metrics:
            return PlainTextResponse(self.numbers.text(), media_type="text/plain; version=0.0.4")
        visit = self._visit(request)
        if visit is None:
            return self._sign_in(request, ENDED if self._cookie(request) in request.cookies else "")
        check_store(self.workspace)
        if room not in ROOMS or len(words) > 2:
            raise NotFound("There is no such page.")
        asked = {key: value for key, value in request.query_params.items() if len(value) <= 4000}
        if room == "relations" and words[1:] == ["picture"]:
            return JSONResponse(await self._at_desk(partial(picture, self.workspace, visit, asked)))
        return await self._shown(ROOMS[room], visit, asked, words[1] if len(words) == 2 else None)

    # ------------------------------------------------------------------ viewing

    async def _shown(
        self, room: Room, visit: Visit, asked: Mapping[str, str], name: str | None, *, message: str = "",
        more: Mapping[str, Any] | None = None,
    ) -> Response:  # fmt: skip
        if room.operators and not visit.is_operator:
            raise NegativeAnswer("This concerns every user, so it is only for whoever started the server.")

        visit.message, said = "", message or visit.message

        def look() -> str:
            shown = room.look(self.workspace, visit, asked, name)
            template = "record" if room.name == "memory" and name is not None else room.name
            return render(template, visit, {**shown, **(more or {})}, room=room, message=said)

        try:
            page = await (self._at_desk(look) if room.at_desk else anyio.to_thread.run_sync(look))
        except InvalidRecord as error:  # read while another process rewrites its shard: no fault of the visitor
            raise ArchiveError(f"{error} If it persists, run 'memkit fsck'.") from error
        return _html(page)

    def _failed(self, error: Exception, visit: Visit | None) -> Response:
        status, text = self._fault(error)
        return _html(render("fault", visit, {"text": text, "status": status}), status)

    def _fault(self, error: Exception) -> tuple[int, str]:
        """Return the status and the message of an error."""
        code = getattr(error, "exit_code", None)
        if isinstance(error, NotFound):
            status, text = 404, str(error)
        elif isinstance(code, int):
            status, text = STATUS.get(code, 500), str(error)
        elif isinstance(error, OSError):
            status, text = 503, f"{error.strerror or error}. Nothing that was acknowledged is lost."
        else:
            self.tell(mask(f"a bug in memkit: {type(error).__name__}: {error}"))
            status, text = 500, f"A bug in memkit ({type(error).__name__}); the server's log says more."
        return status, mask(one_line(text, 600))

    # ------------------------------------------------------------------ entering and leaving

    def _cookie(self, request: Request) -> str:
        """Return the name of the cookie: browsers share the cookies of all ports of a host."""
        return f"memkit-{(request.scope.get('server') or ('', 0))[1]}"

    def _visit(self, request: Request) -> Visit | None:
        name = request.cookies.get(self._cookie(request))
        return self.visits.of(name) if name else self.visits.once(request.headers.get("authorization", ""))

    def _sign_in(self, request: Request, message: str) -> Response:
        path, query = request.scope["path"], request.url.query
        back = (f"{path}?{query}" if query else path) if path.strip("/").split("/")[0] in ROOMS else "/"
        page = _html(render("enter", None, {"back": back}, message=message), 401)
        page.headers["WWW-Authenticate"] = "Bearer"
        return page

    async def _enter(self, request: Request, given: Mapping[str, str]) -> Response:
        name = await anyio.to_thread.run_sync(self.visits.enter, given.get("key", ""))
        had = request.cookies.get(self._cookie(request), "")
        if name is None and self.visits.of(had) is not None:
            name = had  # the link was followed again by an admitted visitor
        if name is None:
            return self._sign_in(
                request, "That key is wrong or already used. A key works once; a token works each time."
            )
        back = given.get("back", "/")
        path = back.partition("?")[0]
        safe = back if path.strip("/").split("/")[0] in ROOMS and path.startswith("/") and "//" not in path else "/"
        response = RedirectResponse(safe, 303)
        response.set_cookie(self._cookie(request), name, max_age=int(IDLE), httponly=True, samesite="strict")
        return response

    # ------------------------------------------------------------------ acting

    async def _posted(self, request: Request, words: list[str]) -> Response:
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return PlainTextResponse("No page of another origin may send this.\n", 403)
        given = await _form(request)
        if words == ["enter"]:
            return await self._enter(request, given)
        visit = self._visit(request)
        if visit is None:
            return self._sign_in(request, ENDED)
        if not hmac.compare_digest(given.get("form_key", "").encode(), visit.form_key.encode()):
            return _html(render("fault", visit, {"status": 403, "text": NOT_OF_THIS_VISIT}), 403)
        if words == ["leave"]:
            self.visits.leave(request.cookies[self._cookie(request)])
            return RedirectResponse("/", 303)
        check_store(self.workspace)
        if words == ["export"]:
            return await self._exported(visit)
        if words == ["policies"]:
            return await self._shown(ROOMS["policies"], visit, given, None)
        if len(words) != 2 or words[0] != "do" or words[1] not in DEEDS:
            raise NotFound("There is no such action.")
        if words[1] == "say" and request.headers.get("accept") == LINES:
            return StreamingResponse(self._said(visit, given), media_type=LINES)
        deed = DEEDS[words[1]]
        work = partial(self._done, words[1], visit, given, deed.work)
        outcome = await (self._at_desk(work) if deed.at_desk else anyio.to_thread.run_sync(work))
        room = ROOMS[outcome.room if outcome.room in ROOMS else "today"]
        if outcome.shown is not None:
            return await self._shown(room, visit, {}, None, message=outcome.text, more=outcome.shown)
        id = outcome.id if outcome.room in ("memory", "talks") else None
        return self._went_on(room, visit, id, outcome)

    def _done(self, name: str, visit: Visit, given: Mapping[str, str], work: Callable[..., Done]) -> Done:
        deed = DEEDS[name]
        try:
            if not visit.may(deed.scope):
                raise NegativeAnswer(
                    f"This needs a token of scope {deed.scope}: 'memkit token new --scope {deed.scope}'."
                )
            if deed.operators and not visit.is_operator:
                raise NegativeAnswer("This is only for whoever started the server.")
            outcome = work(self.workspace, visit, given)
        except Exception as error:
            self._note(name, visit, given.get("id"), "failed", mask(one_line(str(error), 300)))
            raise
        self._note(name, visit, outcome.id or given.get("id"), "done")
        return outcome

    def _said(self, visit: Visit, given: Mapping[str, str]) -> Iterator[str]:
        """Yield lines of JSON while the agent answers; the turn goes on even if the visitor leaves."""
        told: SimpleQueue[Mapping[str, Any] | None] = SimpleQueue()

        def answer() -> None:
            try:
                outcome = self._done("say", visit, given, partial(say, hear=told.put))
                told.put({"go": served_link("talks", outcome.id)})
            except Exception as error:  # noqa: BLE001 - as for any request, it is one line for the visitor
                told.put({"fault": self._fault(error)[1]})
            finally:
                told.put(None)

        Thread(target=answer, daemon=True).start()
        while (one := told.get()) is not None:
            yield json.dumps(one) + "\n"

    def _went_on(self, room: Room, visit: Visit, id: str | None, outcome: Done) -> Response:
        """Redirect the browser, so that reloading the page repeats nothing; the message waits for the next page."""
        visit.message = outcome.text
        return RedirectResponse(served_link(room.name, id, **outcome.asked), 303)

    async def _exported(self, visit: Visit) -> Response:
        if not visit.may("review"):
            raise NegativeAnswer("An export needs a token of scope review: 'memkit token new --scope review'.")
        text = await self._at_desk(
            lambda: "".join(f"{line}\n" for line in export_memory(self.workspace, visit.user, ImportAccount()))
        )
        headers = {"Content-Disposition": 'attachment; filename="memory.jsonl"'}
        return Response(text, media_type="application/x-ndjson", headers=headers)

    def _note(self, deed: str, visit: Visit, id: str | None, decision: str, why: str = "") -> None:
        self.numbers.deeds[deed, "done" if decision == "done" else "refused"] += 1
        actor = visit.caller.origin.actor if visit.caller else "person"
        who = {"actor": actor, "user_id": visit.user, "token": visit.token}
        event = {"event": "call", "tool": f"page {deed}", "decision": decision, "ids": [id] if id else None}
        self.workspace.audit.append({**who, **event, "reason": why or None})

    async def _at_desk(self, work: Callable[[], Any]) -> Any:
        return await anyio.to_thread.run_sync(work, limiter=self.desk)


async def _form(request: Request) -> dict[str, str]:
    """Return the fields of a form; raise ``NegativeAnswer`` if it is not one, or too long."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_FORM:
            raise NegativeAnswer(f"A form may have at most {MOST_FORM:,} bytes. Nothing was done.")
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        raise NegativeAnswer("Only forms of this page are accepted. Nothing was done.")
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError:
        raise NegativeAnswer("The form cannot be read. Nothing was done.") from None
    return {name: value.replace("\r\n", "\n") for name, value in pairs}


def _html(page: str, status: int = 200) -> Response:
    return Response(page.encode("utf-8", "backslashreplace"), status, media_type="text/html")
