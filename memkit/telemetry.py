"""Telemetry of commands: OpenTelemetry's SDK and exporter, loaded only if an endpoint is set.

Libraries and generated projects use the API alone, and their program decides. A collector that does not answer costs
a command a moment at its end and nothing else.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable

from memkit import __version__

TRACES, METRICS = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
ALL = "OTEL_EXPORTER_OTLP_ENDPOINT"
MOST_MILLISECONDS = 2000
"""The longest that a command waits at its end to deliver what remains."""


def start() -> Callable[[], None]:
    """Start exporting to the collector that the environment names; return the function that ends it.

    Without the extra nothing is exported. A program that set a provider of its own keeps it.
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
    if (os.environ.get(ALL) or os.environ.get(TRACES)) and not isinstance(trace.get_tracer_provider(), TracerProvider):
        spans = BatchSpanProcessor(OTLPSpanExporter(timeout=seconds))
        tracing = TracerProvider(resource=resource, shutdown_on_exit=False)
        tracing.add_span_processor(spans)
        trace.set_tracer_provider(tracing)
        ends.append(lambda: spans.force_flush(MOST_MILLISECONDS))
    measures = os.environ.get(ALL) or os.environ.get(METRICS)
    if measures and not isinstance(metrics.get_meter_provider(), MeterProvider):
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


def _nothing() -> None:
    """Do nothing."""
