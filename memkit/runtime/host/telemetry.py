"""Spans and metrics of an agent, through the OpenTelemetry API, derived from the events of its account.

It is imported when rooms are put together in a program that uses OpenTelemetry, so that the API is present by then.
Names follow the GenAI conventions. No text is exported unless the environment allows it, and then it is masked.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

from ..loop.reply import Event, Host, Listener
from ..memory.gate.secrets import mask

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
OPERATIONS: Mapping[str, str] = {
    "retrieved": "search_memory", "looked back": "search_memory",
    "write": "create_memory", "quarantine": "create_memory", "refusal": "create_memory",
    "merge": "update_memory", "supersede": "update_memory", "core": "update_memory", "update": "update_memory",
    "confirm": "update_memory", "contradict": "update_memory", "approve": "update_memory",
    "restore": "update_memory", "allow": "update_memory",
    "forget": "delete_memory", "reject": "delete_memory", "retire": "delete_memory", "revoke": "delete_memory",
    "erasure": "delete_memory",
    "plan": "plan",
}  # fmt: skip
"""Event of the account → operation of the conventions."""
GATE: Mapping[str, str] = {
    "write": "admitted", "supersede": "admitted", "core": "admitted", "merge": "merged", "quarantine": "quarantined",
    "refusal": "refused",
}  # fmt: skip
"""Event → decision of the write gate."""
OWN_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
"""An id made by memkit; one brought by an import may be anyone's name."""
TOOL = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
MODEL = re.compile(r"[A-Za-z0-9_.:/@+-]{1,128}")
VERDICTS = frozenset({"deny", "ask", "warn", "allow"})
PROVIDER, REQUESTED = "gen_ai.provider.name", "gen_ai.request.model"
Served = Callable[[], Mapping[str, str]]
"""Return the provider and the model that answer now, under these two names."""
Offers = Callable[[str], bool]
"""Return whether the agent has a tool of that name."""
TOKENS = ("input", "output")
SECONDS_AT = tuple(0.01 * 2**power for power in range(14))
TOKENS_AT = tuple(4**power for power in range(14))
"""The bucket boundaries of the conventions; with the SDK's defaults most values fall into the first bucket."""


@cache
def telemetry() -> Telemetry | None:
    """Return the exporter to OpenTelemetry, one for the whole program; None if its API cannot be used."""
    try:
        return Telemetry()
    except Exception:  # noqa: BLE001 - the API raises various errors for invalid variables
        return None


def accounted(host: Host) -> Host:
    """Return ``host`` with the account of what happens also reported to OpenTelemetry."""
    told = telemetry()
    if told is None:
        return host
    keeps = host.observe

    def observe(event: dict[str, Any]) -> None:
        told.account(event)
        if keeps is not None:
            keeps(event)

    return replace(host, observe=observe)


def traced(host: Host, provider: str, model: str) -> Host:
    """Return ``host`` with its turns also reported to OpenTelemetry, as turns with ``model`` of ``provider``."""
    told = telemetry()
    return host if told is None else replace(host, watch=told.watcher(lambda: {PROVIDER: provider, REQUESTED: model}))


class Telemetry:
    """Turns events into spans and metrics; errors here never reach the agent."""

    def __init__(self) -> None:
        """Load the API; raise ``ImportError`` if it is missing."""
        from opentelemetry import context, metrics, trace

        self._trace, self._context = trace, context
        self._tracer = trace.get_tracer("memkit")
        meter = metrics.get_meter("memkit")
        self._seconds = meter.create_histogram(
            "gen_ai.client.operation.duration", "s", explicit_bucket_boundaries_advisory=SECONDS_AT
        )
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage", "{token}", explicit_bucket_boundaries_advisory=TOKENS_AT
        )
        self._gate = meter.create_counter("memkit.gate.decisions")
        self._verdicts = meter.create_counter("memkit.policy.verdicts")
        self._recalled = meter.create_counter("memkit.recall.records")

    def account(self, event: Mapping[str, Any]) -> None:
        """Export one event of the account, in the form of the audit log."""
        with suppress(Exception):
            self._account(event)

    def watcher(self, served: Served = dict, offers: Offers = lambda name: True) -> Listener:
        """Return a listener for the turns of one agent; ``served`` says which model answers them.

        The name of a tool that the agent does not offer is a model's or a user's words, and stays here.
        """
        watching = _Turns(self, served, offers)

        def watch(event: Event) -> None:
            with suppress(Exception):
                watching.told(event)

        return watch

    def _account(self, event: Mapping[str, Any]) -> None:
        kind = str(event.get("event"))
        ids = [id for id in event.get("ids") or () if isinstance(id, str)]
        if kind in GATE:
            self._gate.add(1, {"decision": GATE[kind]})
        if kind in ("retrieved", "injected", "cited"):
            self._recalled.add(len(ids), {"stage": kind})
        if kind == "policy" and event.get("decision") in VERDICTS:
            self._verdicts.add(1, {"decision": event["decision"]})
            self._trace.get_current_span().add_event("memkit.policy", {"memkit.decision": event["decision"]})
        operation = OPERATIONS.get(kind)
        if operation is None:
            return
        told: dict[str, Any] = named(operation)
        if operation == "search_memory":
            told["gen_ai.memory.record.count"] = len(ids)
            if captures() and event.get("query"):
                told["gen_ai.memory.query.text"] = mask(str(event["query"]))
        elif operation.endswith("_memory") and ids and OWN_ID.fullmatch(ids[0]):
            told["gen_ai.memory.record.id"] = ids[0]
        if kind in GATE:
            told["memkit.decision"] = GATE[kind]
        self.begin(operation, told).end()

    # ------------------------------------------------------------------ building blocks for turns

    def begin(self, name: str, told: Mapping[str, Any], under: Any = None, *, is_remote: bool = False) -> Any:
        """Start and return a span below ``under`` or the host's current one, of what this process does or a server."""
        parent = None if under is None else self._trace.set_span_in_context(under)
        kind = self._trace.SpanKind.CLIENT if is_remote else self._trace.SpanKind.INTERNAL
        return self._tracer.start_span(name, context=parent, kind=kind, attributes=told)

    def enter(self, span: Any) -> Any:
        """Make a span current in this thread; return the token for ``leave``."""
        return self._context.attach(self._trace.set_span_in_context(span))

    def leave(self, token: Any) -> None:
        """Undo ``enter``."""
        self._context.detach(token)

    def end(self, span: Any, told: Mapping[str, str], began: float, error: str = "") -> None:
        """End a span with its kind of error, if any, and record its duration with the attributes ``told``."""
        if error:
            told = {**told, "error.type": error}
            span.set_attribute("error.type", error)
            span.set_status(self._trace.StatusCode.ERROR)
        span.end()
        self._seconds.record(time.perf_counter() - began, told)

    def spend(self, usage: Mapping[str, Any], told: Mapping[str, str]) -> None:
        """Count the tokens of one answer."""
        for kind in TOKENS:
            if isinstance(count := usage.get(kind), int):
                self._tokens.record(count, {**told, "gen_ai.token.type": kind})


class _Turns:
    """The spans of one agent: a turn, and below it the model requests and tool runs."""

    def __init__(self, telemetry: Telemetry, served: Served, offers: Offers) -> None:
        self._telemetry = telemetry
        self._served, self._offers = served, offers
        self._turn: tuple[Any, Any, float] | None = None
        self._asked: tuple[Any, Mapping[str, str], float] | None = None
        self._calls: dict[str, tuple[Any, float]] = {}
        self._guard = threading.Lock()

    def told(self, event: Event) -> None:
        """Begin or end a span for an event."""
        with self._guard:
            known = getattr(self, f"_{event.kind}", None)
            if known is not None:
                known(event.data)

    def _turn_opened(self, data: Mapping[str, Any]) -> None:
        self._end("abandoned")
        told = {"gen_ai.agent.name": "memkit", **self._by("invoke_agent")}
        if captures() and data.get("text"):
            told["gen_ai.input.messages"] = _message("user", data["text"])
        span = self._telemetry.begin("invoke_agent memkit", told)
        self._turn = (span, self._telemetry.enter(span), time.perf_counter())

    def _turn_closed(self, data: Mapping[str, Any]) -> None:
        if self._turn and captures() and data.get("message"):
            answer = _message("assistant", data["message"], finish_reason="stop")
            self._turn[0].set_attribute("gen_ai.output.messages", answer)
        self._end("turn_failed" if "error" in data else "")

    def _end(self, error: str) -> None:
        turn, self._turn = self._turn, None
        if turn is None:
            return
        if self._asked is not None:
            self._telemetry.end(*self._asked, error or "abandoned")
        for span, began in self._calls.values():
            self._telemetry.end(span, named("execute_tool"), began, error or "abandoned")
        self._asked, self._calls = None, {}
        self._telemetry.leave(turn[1])
        self._telemetry.end(turn[0], self._by("invoke_agent"), turn[2], error)

    def _by(self, operation: str) -> dict[str, str]:
        """Return the attributes of an operation: its name and, if known, the provider and model."""
        served = {name: one if MODEL.fullmatch(one) else "other" for name, one in self._served().items() if one}
        return {**named(operation), **served}

    def _model_asked(self, data: Mapping[str, Any]) -> None:
        if self._turn:
            told = self._by("chat")
            name = f"chat {told.get(REQUESTED, '')}".strip()
            span = self._telemetry.begin(name, told, self._turn[0], is_remote=REQUESTED in told)
            self._asked = (span, told, time.perf_counter())

    def _model_answered(self, data: Mapping[str, Any]) -> None:
        asked, self._asked = self._asked, None
        if asked is not None:
            usage = data.get("usage") or {}
            for kind in TOKENS:
                if isinstance(usage.get(kind), int):
                    asked[0].set_attribute(f"gen_ai.usage.{kind}_tokens", usage[kind])
            self._telemetry.spend(usage, asked[1])
            self._telemetry.end(*asked)

    def _call_started(self, data: Mapping[str, Any]) -> None:
        if self._turn:
            name = str(data["name"])
            shown = name if TOOL.fullmatch(name) and self._offers(name) else "other"
            told = {**named("execute_tool"), "gen_ai.tool.name": shown}
            span = self._telemetry.begin(f"execute_tool {shown}", told, self._turn[0])
            self._calls[str(data["id"])] = (span, time.perf_counter())

    def _call_finished(self, data: Mapping[str, Any]) -> None:
        call = self._calls.pop(str(data["id"]), None)
        if call is not None:
            self._telemetry.end(call[0], named("execute_tool"), call[1], "tool_error" if data.get("error") else "")


def named(operation: str) -> dict[str, str]:
    """Return the attribute that all spans and measurements have."""
    return {"gen_ai.operation.name": operation}


def _message(role: str, text: Any, **more: str) -> str:
    """Return a masked text as a list of one message, in the JSON form of the conventions."""
    message = {"role": role, "parts": [{"type": "text", "content": mask(str(text))}], **more}
    return json.dumps([message], ensure_ascii=False)


def captures() -> bool:
    """Return whether the environment allows text to be exported."""
    return os.environ.get(CAPTURE, "").strip().lower() in ("true", "1", "span_only", "span_and_event")
