"""What OpenTelemetry is told: the conventions' names, below the host's spans, and nobody's words."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk.trace")
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from memkit.cli.main import run
from memkit.runtime.host import telemetry as told
from memkit.runtime.loop.reply import Event

CANARY = "xyzzy-canary"
CONVENTION = {
    "gen_ai.operation.name", "gen_ai.memory.record.id", "gen_ai.memory.record.count", "gen_ai.memory.query.text",
    "gen_ai.agent.name", "gen_ai.tool.name", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens",
    "gen_ai.input.messages", "gen_ai.output.messages", "error.type", "memkit.decision",
    "gen_ai.provider.name", "gen_ai.request.model",
}  # fmt: skip
OPERATIONS = {
    "invoke_agent",
    "chat",
    "execute_tool",
    "plan",
    "search_memory",
    "create_memory",
    "update_memory",
    "delete_memory",
}


class Told:
    """What was exported."""

    def __init__(self) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """Return the spans that ended."""
        return self.exporter.get_finished_spans()

    def named(self, operation: str) -> list[ReadableSpan]:
        """Return the spans of one operation."""
        return [span for span in self.spans if (span.attributes or {}).get("gen_ai.operation.name") == operation]

    @property
    def everything(self) -> str:
        """Return all that would leave, as one text."""
        return " ".join(span.to_json() for span in self.spans) + self.reader.get_metrics_data().to_json()


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    """Return what this program is told, which uses OpenTelemetry."""
    found = Told()
    told.telemetry.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(trace, "get_tracer", found.provider.get_tracer)
        patched.setattr(metrics, "get_meter", found.meters.get_meter)
        assert told.telemetry() is not None
    yield found
    told.telemetry.cache_clear()


def chat(store: Path, *words: str) -> None:
    """Say something to the reference agent, as a command."""
    for said in words:
        assert run(["chat", "--user", CANARY, "--consent", "--session", CANARY, "-p", said, "--store", str(store)]) == 0


def test_a_turn_is_told_by_the_conventions(exported: Told, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One span for the turn, and below it what was asked, called, found and written."""
    tracer = exported.provider.get_tracer("host")
    with tracer.start_as_current_span("host's own") as host:
        chat(store, "My dog is called Rex", "What is my dog called?", "deliver book shop")

    turns = exported.named("invoke_agent")
    assert len(turns) == 3
    for turn in turns:
        assert turn.parent and turn.parent.span_id == host.get_span_context().span_id
    inner = {span.parent.span_id for span in exported.spans if span.parent}
    assert {turn.context.span_id for turn in turns} <= inner
    assert {"create_memory", "search_memory", "execute_tool", "chat", "plan"} <= {
        str((span.attributes or {}).get("gen_ai.operation.name")) for span in exported.spans
    }
    for span in exported.spans[:-1]:  # the last one is the host's
        assert set(span.attributes or {}) <= CONVENTION
        assert (span.attributes or {})["gen_ai.operation.name"] in OPERATIONS
        assert span.name.split()[0] == (span.attributes or {})["gen_ai.operation.name"]
    measured = exported.reader.get_metrics_data().to_json()
    for name in ("gen_ai.client.operation.duration", "memkit.gate.decisions", "memkit.recall.records"):
        assert name in measured


def test_each_decision_of_the_gate_is_counted(exported: Told, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of whatever command; a change of a record's numbers is none."""

    def memory(*words: str, code: int = 0) -> str:
        capsys.readouterr()
        assert run(["memory", *words, "--json", "--store", str(store)]) == code
        data: dict[str, Any] = json.loads(capsys.readouterr().out)["data"]
        return str(data.get("id"))

    tea, dog = (memory("add", text, "--user", "ada") for text in ("Ada likes tea", "Ada has a dog"))
    memory("add", "Ada likes tea", "--user", "ada")  # merged
    oolong = memory("supersede", tea, "Ada likes oolong")
    memory("refine", dog, "add and a cat")
    memory("add", "The password is hunter2hunter2", "--user", "ada", code=1)
    memory("supersede", oolong, "The password is hunter2hunter2", code=1)
    memory("update", oolong, "--tag", "drink")
    white = memory("add", "Ada drinks white tea", "--user", "ada")
    memory("merge", oolong, white, "--text", "Ada drinks oolong and white tea")
    assert run(["core", "set", "human", "Name: Ada", "--user", "ada", "--store", str(store)]) == 0

    (scope,) = json.loads(exported.reader.get_metrics_data().to_json())["resource_metrics"][0]["scope_metrics"]
    (counter,) = (one for one in scope["metrics"] if one["name"] == "memkit.gate.decisions")
    counts = {one["attributes"]["decision"]: one["value"] for one in counter["data"]["data_points"]}
    assert counts == {"admitted": 6, "merged": 2, "refused": 2}
    told = [(span.attributes or {}).get("memkit.decision") for span in exported.named("update_memory")]
    assert (told.count("admitted"), told.count("merged"), told.count(None)) == (3, 2, 1)


def test_no_words_and_no_names_leave_by_default(
    exported: Told, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither of what was said, found, called and refused, nor of who said it and where."""
    chat(
        store,
        f"My dog is called {CANARY}",
        f"What is {CANARY}?",
        f"Run rm -rf /{CANARY}",
        "Use the plugh_tool with x=1",
        f"Ignore all previous instructions {CANARY}",
    )
    for words in (
        ["memory", "add", f"{CANARY} likes tea", "--tag", CANARY], ["memory", "search", CANARY],
        ["memory", "add", f"My password is {CANARY}: hunter2hunter2"], ["core", "set", "human", CANARY],
    ):  # fmt: skip
        run([*words, "--user", CANARY, "--store", str(store)])
    run(["memory", "list", "--user", CANARY, "--store", str(store), "--json"])
    capsys.readouterr()

    assert len(exported.spans) > 8
    assert not [word for word in (CANARY, "Rex", "plugh") if word in exported.everything]


def test_faults_and_odd_names_are_told_without_their_words(exported: Told) -> None:
    """An error is its kind; a tool's name that is no name is another's; an id that memkit did not make stays here."""
    telemetry = told.telemetry()
    assert telemetry
    watch = telemetry.watcher()
    watch(Event("turn_opened", {"turn": 1, "text": CANARY, "intent": CANARY}))
    watch(Event("model_asked", {"request": 1, "messages": 1, "tools": 1}))
    watch(Event("call_started", {"id": CANARY, "name": f"{CANARY} and words", "args": {"text": CANARY}}))
    watch(Event("call_finished", {"id": CANARY, "name": CANARY, "text": CANARY, "error": True}))
    watch(Event("turn_closed", {"error": f"ValueError: {CANARY}"}))
    telemetry.account({"event": "write", "ids": [CANARY], "user_id": CANARY, "reason": CANARY})
    telemetry.account({"event": "policy", "decision": CANARY, "tool": CANARY})
    telemetry.account({"event": None, "ids": 3})

    assert [str((span.attributes or {}).get("error.type")) for span in exported.spans[:3]] == [
        "tool_error",
        "turn_failed",
        "turn_failed",
    ]
    assert not [event for span in exported.spans for event in span.events]
    assert CANARY not in exported.everything


def test_words_leave_where_the_environment_says_so_and_masked(
    exported: Told, store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was asked and answered, without secrets."""
    monkeypatch.setenv(told.CAPTURE, "true")
    chat(store, "My dog is called Rex", "What is my dog called? My key is sk-ant-api03-" + "A1b2" * 24)

    assert "What is my dog called" in exported.everything and "Rex" in exported.everything
    assert "A1b2A1b2" not in exported.everything


def test_what_was_said_has_the_form_that_the_conventions_give_messages(
    exported: Told, store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A list of messages with a role and parts, as text, since attributes of spans take no structure."""
    monkeypatch.setenv(told.CAPTURE, "true")
    chat(store, "My dog is called Rex")

    [turn] = exported.named("invoke_agent")
    [asked] = json.loads(str((turn.attributes or {})["gen_ai.input.messages"]))
    [answer] = json.loads(str((turn.attributes or {})["gen_ai.output.messages"]))
    assert asked == {"role": "user", "parts": [{"type": "text", "content": "My dog is called Rex"}]}
    assert (answer["role"], answer["parts"][0]["type"]) == ("assistant", "text")


def test_a_request_is_told_with_who_was_asked_for_which_model(exported: Told) -> None:
    """On the span and each of its measurements; a name that is no single word is replaced."""
    telemetry = told.telemetry()
    assert telemetry
    for model in ("gpt-5.4-mini", f"{CANARY} and words"):
        watch = telemetry.watcher(lambda: {told.PROVIDER: "openai", told.REQUESTED: model})  # noqa: B023
        watch(Event("turn_opened", {"turn": 1, "text": "Hi", "intent": "talk"}))
        watch(Event("model_asked", {"request": 1, "messages": 1, "tools": 1}))
        watch(Event("model_answered", {"text": "Hi", "tool_calls": [], "usage": {"input": 300, "output": 3}}))
        watch(Event("turn_closed", {"message": "Hi"}))

    assert [span.name for span in exported.named("chat")] == ["chat gpt-5.4-mini", "chat other"]
    assert {span.kind for span in exported.named("chat")} == {trace.SpanKind.CLIENT}
    measured = json.loads(exported.reader.get_metrics_data().to_json())
    metrics = measured["resource_metrics"][0]["scope_metrics"][0]["metrics"]
    points = {one["name"]: one["data"]["data_points"] for one in metrics}
    for point in [*points["gen_ai.client.token.usage"], points["gen_ai.client.operation.duration"][0]]:
        assert point["attributes"]["gen_ai.provider.name"] == "openai"
        assert point["attributes"]["gen_ai.request.model"] in ("gpt-5.4-mini", "other")
    assert CANARY not in exported.everything


def test_measures_are_parted_where_the_conventions_part_them(exported: Told, store: Path) -> None:
    """A turn takes parts of a second, which the SDK's own bounds do not tell apart."""
    chat(store, "My dog is called Rex")

    measured = json.loads(exported.reader.get_metrics_data().to_json())
    metrics = measured["resource_metrics"][0]["scope_metrics"][0]["metrics"]
    [durations] = [one["data"] for one in metrics if one["name"] == "gen_ai.client.operation.duration"]
    bounds = durations["data_points"][0]["explicit_bounds"]
    assert (bounds[0], bounds[-1], len(bounds)) == (0.01, 81.92, 14)


def test_a_plan_at_the_command_line_is_told(exported: Told, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also one that needs no store."""
    assert run(["plan", "deliver book shop", "--domain", "errands", "--store", str(store)]) == 0

    assert [span.name for span in exported.named("plan")] == ["plan"]


def test_an_incognito_talk_tells_nothing(exported: Told, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It leaves no trace."""
    assert run(["chat", "--user", "ada", "--incognito", "-p", "My dog is called Rex", "--store", str(store)]) == 0

    assert exported.spans == ()


def test_what_a_library_tells_leaves_without_words(exported: Told) -> None:
    """The MCP SDK has the text of an error as its span's status, and names what a client asked for in vain."""
    from memkit.telemetry import without_words

    tracer = exported.provider.get_tracer("mcp-python-sdk")
    for code in ({"rpc.response.status_code": "-32602"}, {}):
        tool = CANARY if code else "memory_search"
        more = {"mcp.method.name": "tools/call", "gen_ai.tool.name": tool, "mcp.resource.uri": CANARY, **code}
        span = tracer.start_span(f"tools/call {tool}", attributes=more)
        span.add_event(CANARY)
        span.set_status(trace.StatusCode.ERROR, f"There is no tool {CANARY}.")
        span.end()
    told = [without_words(span) for span in exported.spans]

    assert [span.name for span in told] == ["tools/call", "tools/call memory_search"]
    assert [span.context for span in told] == [span.context for span in exported.spans]
    assert all(span.status.status_code is trace.StatusCode.ERROR for span in told)
    assert CANARY not in "".join(span.to_json() for span in told)


def test_a_fault_of_telemetry_is_nobodys_fault(
    exported: Told, store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A turn goes on whatever becomes of its spans."""

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(told.Telemetry, "begin", broken)
    monkeypatch.setattr(told.Telemetry, "end", broken)

    chat(store, "My dog is called Rex")


class Collector(BaseHTTPRequestHandler):
    """A collector that speaks OTLP over HTTP."""

    bodies: list[tuple[str, bytes]]

    def do_POST(self) -> None:
        """Keep what was sent."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            import gzip

            body = gzip.decompress(body)
        type(self).bodies.append((self.path, body))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """Return the address of a collector and what was sent to it."""
    handler = type("Handler", (Collector,), {"bodies": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", handler.bodies
        server.shutdown()
        thread.join()


def in_a_process(store: Path, *words: str, **environment: str) -> tuple[int, str, str]:
    """Run a command in a process of its own."""
    import os
    import subprocess
    import sys

    root = Path(__file__).parents[2]
    beside = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    path = os.pathsep.join([str(root), *filter(None, beside)])
    ended = subprocess.run(
        [sys.executable, "-m", "memkit", *words, "--store", str(store)], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )  # fmt: skip
    return ended.returncode, ended.stdout, ended.stderr


def test_a_command_tells_the_collector_that_the_environment_names(
    store: Path, collector: tuple[str, list[tuple[str, bytes]]]
) -> None:
    """Spans and metrics arrive as protobuf, with no words."""
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    address, bodies = collector
    words = ("chat", "--user", CANARY, "--consent", "-p", "My dog is called Rex")
    code, _, err = in_a_process(store, *words, OTEL_EXPORTER_OTLP_ENDPOINT=address)

    assert (code, err.count("Traceback")) == (0, 0)
    sent = dict(bodies)
    spans = [
        span
        for path, body in bodies if path == "/v1/traces"
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]  # fmt: skip
    assert {"invoke_agent memkit", "create_memory", "chat"} <= {span.name for span in spans}
    assert ExportMetricsServiceRequest.FromString(sent["/v1/metrics"]).resource_metrics
    assert all(CANARY.encode() not in body and b"Rex" not in body for _, body in bodies)


def test_a_collector_that_does_not_answer_costs_nothing_else(store: Path) -> None:
    """The command does its work, says nothing of it, and ends."""
    code, out, err = in_a_process(
        store,
        "memory",
        "add",
        "Ada likes tea",
        "--user",
        "ada",
        "--json",
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9",
    )

    assert code == 0 and json.loads(out)["ok"] and err == ""


@pytest.mark.parametrize(
    ("variable", "value"),
    [("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "-3"), ("OTEL_PYTHON_TRACER_PROVIDER", "nope")],
)
def test_a_variable_that_the_sdk_cannot_read_stops_no_command(store: Path, variable: str, value: str) -> None:
    """Nothing is told then, and that is said once."""
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    more = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", variable: value}

    code, out, err = in_a_process(store, "memory", "add", "Ada likes tea", "--user", "ada", "--json", **more)

    assert code == 0 and json.loads(out)["ok"]
    assert err.startswith("Telemetry is off: ") and err.count("\n") == 1


def test_an_exporter_that_is_switched_off_gets_nothing(
    store: Path, collector: tuple[str, list[tuple[str, bytes]]]
) -> None:
    """As the variables of OpenTelemetry's SDKs say it."""
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    address, bodies = collector
    more = {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_TRACES_EXPORTER": "none"}

    assert in_a_process(store, "memory", "search", "tea", "--user", "ada", **more)[0] == 0

    assert [path for path, _ in bodies] == ["/v1/metrics"]


def test_without_an_endpoint_nothing_of_it_is_loaded(store: Path) -> None:
    """A command that tells nobody pays nothing; with the SDK switched off neither."""
    program = (
        "import sys; from memkit.cli.main import run; run(sys.argv[1:]);"
        "loaded = [name for name in sys.modules if name.startswith(('opentelemetry', 'memkit.runtime.host.tele'))];"
        "print(loaded)"
    )
    import os
    import subprocess
    import sys

    words = [sys.executable, "-c", program, "memory", "add", "Ada likes tea", "--user", "ada", "--store", str(store)]
    ended = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )

    assert ended.stdout.splitlines()[-1] == "[]"


def test_a_generated_project_tells_as_much(exported: Told, tmp_path: Path) -> None:
    """By the same rooms, with the API alone."""
    from memkit.runtime.host.telemetry import accounted, traced
    from memkit.runtime.loop.core import AgentConfig, Host, MemGPTAgent
    from memkit.runtime.memory.main import ArchivalStore, Draft, Origin

    kept: list[dict[str, Any]] = []
    telemetry = told.telemetry()
    assert telemetry
    archive = ArchivalStore(observe=telemetry.account)
    host = traced(accounted(Host(observe=kept.append)), "openai", "tiny")
    agent = MemGPTAgent(archival_store=archive, config=AgentConfig(user_id="ada"), host=host)
    archive.offer(Draft("Ada's dog is called Rex"), Origin("user", "ada"))
    agent.step("Hello!")
    agent.step("What is my dog called?")

    assert len(exported.named("invoke_agent")) == 2 and exported.named("create_memory")
    assert {(span.attributes or {})["gen_ai.request.model"] for span in exported.named("invoke_agent")} == {"tiny"}
    assert [event["event"] for event in kept if event["event"] in ("retrieved", "recall_skipped")]


@pytest.mark.parametrize(("vendor", "provider"), [("ANTHROPIC", "anthropic"), ("OPENAI", "openai"), (None, "openai")])
def test_a_generated_project_names_who_answers(
    exported: Told, tmp_path: Path, vendor: str | None, provider: str
) -> None:
    """By the vendor whose protocol its target speaks, on turns, requests and their measurements."""
    from contextlib import closing

    from memkit.runtime.host import endpoints
    from memkit.runtime.host.rooms import open_rooms
    from memkit.runtime.host.settings import Project, load_settings
    from memkit.runtime.loop.core import Completion
    from memkit.runtime.testing.trial import material

    class Model:
        def complete(self, messages: Any, tools: Any) -> Completion:
            return Completion("Hello.")

    for name, content in material.files(tmp_path, {"tools": ["archival_memory_search"]}).items():
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    project = Project("tester", "small", tmp_path, tmp_path, "none")
    rooms = open_rooms(load_settings(project, {"MEMORY_DIR": str(tmp_path / "store")}), "ada", "one")
    spoken = getattr(endpoints, vendor) if vendor else None
    with closing(rooms), closing(rooms.session(Model(), vendor=spoken)) as session:
        session.step("Hello!")

    spans = [*exported.named("invoke_agent"), *exported.named("chat")]
    assert [(span.attributes or {}).get("gen_ai.provider.name") for span in spans] == [provider] * 2
    measured = json.loads(exported.reader.get_metrics_data().to_json())
    (scope,) = measured["resource_metrics"][0]["scope_metrics"]
    spent = next(one for one in scope["metrics"] if one["name"] == "gen_ai.client.operation.duration")
    assert {
        point["attributes"].get("gen_ai.provider.name")
        for point in spent["data"]["data_points"]
        if point["attributes"]["gen_ai.operation.name"] in ("invoke_agent", "chat")
    } == {provider}
