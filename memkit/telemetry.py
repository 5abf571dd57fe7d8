"""Telemetry of commands: OpenTelemetry's SDK and exporter, loaded only if an endpoint is set.

Libraries and generated projects use the API alone, and their program decides. A collector that does not answer costs
a command a moment at its end and nothing else.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from memkit import __version__

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExportResult

MOST_MILLISECONDS = 2000
"""The longest that a command waits at its end to deliver what remains."""
OWN = "memkit"
"""The scope of memkit's own spans, which have allowed attributes only."""
TOLD = (
    "mcp.method.name", "mcp.protocol.version", "rpc.response.status_code", "error.type", "gen_ai.operation.name",
    "gen_ai.tool.name", "gen_ai.prompt.name",
)  # fmt: skip
"""The attributes kept on the spans of libraries, if they match ``WORD``; others may hold text of users."""
NAMES = ("gen_ai.tool.name", "gen_ai.prompt.name")
WORD = re.compile(r"[A-Za-z0-9_./:-]{1,64}")


def start() -> Callable[[], None]:
    """Start exporting to the collector that the environment names; return the function that ends it.

    Without the extra nothing is exported. A program that set a provider of its own keeps it. Raises the errors of the
    SDK for invalid variables.
    """
    if os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return _nothing
    try:
        from opentelemetry import metrics, trace
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import AlwaysOffExemplarFilter, MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        return _nothing
    for name in ("opentelemetry", "urllib3"):  # a collector that is down must not appear in a command's output
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).propagate = False
    resource = Resource.create({"service.name": "memkit", "service.version": __version__})
    seconds = MOST_MILLISECONDS // 1000
    ends: list[Callable[[], object]] = []
    if _wants("TRACES") and not isinstance(trace.get_tracer_provider(), TracerProvider):

        class Discreet(OTLPSpanExporter):
            def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
                return super().export([without_words(span) for span in spans])

        spans = BatchSpanProcessor(Discreet(timeout=seconds))
        tracing = TracerProvider(resource=resource, shutdown_on_exit=False)
        tracing.add_span_processor(spans)
        trace.set_tracer_provider(tracing)
        ends.append(lambda: spans.force_flush(MOST_MILLISECONDS))
    if _wants("METRICS") and not isinstance(metrics.get_meter_provider(), MeterProvider):
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(timeout=seconds))
        # An exemplar span with each number would take a seventh of the cost of telemetry, and nobody reads it.
        plain = AlwaysOffExemplarFilter()
        provider = MeterProvider([reader], resource=resource, exemplar_filter=plain, shutdown_on_exit=False)
        metrics.set_meter_provider(provider)
        ends.append(lambda: reader.force_flush(MOST_MILLISECONDS))

    def end() -> None:
        for one in ends:
            one()

    return end


def _wants(signal: str) -> bool:
    """Return whether the environment names a collector for ``TRACES`` or ``METRICS`` and does not turn them off."""
    named = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or os.environ.get(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
    return bool(named) and os.environ.get(f"OTEL_{signal}_EXPORTER", "").strip().lower() != "none"


def without_words(span: ReadableSpan) -> ReadableSpan:
    """Return a copy of a library's span without text of users, such as error messages in its status.

    The name of a tool or prompt that does not exist is text of the client as well.
    """
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Status

    scope, has = span.instrumentation_scope, span.attributes or {}
    if scope is not None and scope.name == OWN:
        return span
    told = {key: str(has[key]) for key in TOLD if WORD.fullmatch(str(has.get(key, "")))}
    if "rpc.response.status_code" in has:
        told = {key: value for key, value in told.items() if key not in NAMES}
    name = " ".join(told[key] for key in ("mcp.method.name", *NAMES) if key in told)
    return ReadableSpan(
        name or "other", span.context, span.parent, span.resource, told, kind=span.kind,
        status=Status(span.status.status_code), start_time=span.start_time, end_time=span.end_time,
        instrumentation_scope=scope,
    )  # fmt: skip


def _nothing() -> None:
    """Do nothing."""
