"""Serve what the Model Context Protocol's conformance suite expects, on memkit's own server class.

The suite calls tools, resources and prompts with fixed names. They are added here to memkit's own, on a new store
in a temporary folder: ``python -m memkit.testing.conformance --http 127.0.0.1:0``. Some of them ask a client to sample
or to list its roots, which memkit itself never does.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import click
import mcp_types as types
from mcp.shared.exceptions import MCPError

from memkit.serving.http import Listening, run_http
from memkit.serving.interface import Serving
from memkit.serving.server import Context, MemoryServer
from memkit.use_cases.store import make_store
from memkit.workspace import Workspace, open_workspace

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
PAUSE = 0.05
"""Seconds between two notifications of one call."""
NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}}
SCHEMAS: Mapping[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
"""What a tool takes that is described by all that JSON Schema has, and the properties of two forms."""
Ran = types.CallToolResult | types.InputRequiredResult
Fixture = Callable[[Context, types.CallToolRequestParams], Awaitable[Ran]]


def _text(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)])


def _resource(uri: str, mime: str, text: str) -> types.EmbeddedResource:
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, mime_type=mime, text=text))


def _image() -> types.ImageContent:
    return types.ImageContent(data=PIXEL, mime_type="image/png")


def _form(message: str, **properties: Mapping[str, Any]) -> types.ElicitRequest:
    schema = {"type": "object", "properties": dict(properties), "required": list(properties)}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def _sample(text: str, tokens: int) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=text))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=tokens))


def _shows(*content: types.ContentBlock) -> Fixture:
    async def show(context: Context, params: types.CallToolRequestParams) -> Ran:
        return types.CallToolResult(content=list(content))

    return show


def _needed(requests: types.InputRequests, state: str | None = None) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=requests, request_state=state)


def _given(params: types.CallToolRequestParams | types.GetPromptRequestParams, key: str) -> str | None:
    """Return the client's one answer to the question ``key``; None if it gave no valid one."""
    answer = (params.input_responses or {}).get(key)
    if isinstance(answer, types.ElicitResult):
        return next(map(str, (answer.content or {}).values()), None) if answer.action == "accept" else None
    if isinstance(answer, types.CreateMessageResult):
        return str(getattr(answer.content, "text", ""))
    if isinstance(answer, types.ListRootsResult):
        return ", ".join(str(root.uri) for root in answer.roots)
    return None


def _asks(answer: str, state: str | None = None, **requests: types.InputRequest) -> Fixture:
    """Return a fixture that answers ``answer`` once all ``requests`` were met, and asks for them until then."""

    async def ask(context: Context, params: types.CallToolRequestParams) -> Ran:
        given = {key: _given(params, key) for key in requests}
        if None in given.values() or (state is not None and params.request_state != state):
            return _needed(dict(requests), state)
        return _text(answer.format(*given.values()))

    return ask


async def _steps(context: Context, params: types.CallToolRequestParams) -> Ran:
    name = _form("Step 1: What is your name?", name={"type": "string"})
    color = _form("Step 2: What is your favorite color?", color={"type": "string"})
    state = json.loads(params.request_state) if params.request_state else {}
    named, colored = state.get("name") or _given(params, "step1"), _given(params, "step2")
    if named is None:
        return _needed({"step1": name}, "{}")
    if colored is None:
        return _needed({"step2": color}, json.dumps({"name": named}))
    return _text(f"{named} likes {colored}.")


async def _within_capabilities(context: Context, params: types.CallToolRequestParams) -> Ran:
    able = context.session.client_capabilities
    requests: dict[str, types.InputRequest] = {}
    if able and able.sampling is not None:
        requests["sample"] = _sample("Say something.", 50)
    if able and able.elicitation is not None:
        requests["form"] = _form("What is your name?", name={"type": "string"})
    if any(_given(params, key) for key in requests) or not requests:
        return _text("Nothing is left to ask.")
    return _needed(requests)


async def _fails(context: Context, params: types.CallToolRequestParams) -> Ran:
    message = types.TextContent(text="This tool intentionally returns an error for testing")
    return types.CallToolResult(content=[message], is_error=True)


async def _logs(context: Context, params: types.CallToolRequestParams) -> Ran:
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message(level="info", data=line, related_request_id=context.request_id)
        await anyio.sleep(PAUSE)
    return _text("Logged three lines.")


async def _progresses(context: Context, params: types.CallToolRequestParams) -> Ran:
    for progress in (0, 50, 100):
        await context.session.report_progress(progress, 100)
        await anyio.sleep(PAUSE)
    return _text("Reported progress three times.")


async def _streams(context: Context, params: types.CallToolRequestParams) -> Ran:
    return _needed({"name": _form("What is your name?", **NAME)})


async def _samples(context: Context, params: types.CallToolRequestParams) -> Ran:
    message = types.SamplingMessage(
        role="user", content=types.TextContent(text=str((params.arguments or {})["prompt"]))
    )
    answer = await context.session.create_message(
        [message], max_tokens=100, related_request_id=context.request_id
    )  # fmt: skip
    return _text(f"LLM response: {getattr(answer.content, 'text', '')}")


async def _needs_sampling(context: Context, params: types.CallToolRequestParams) -> Ran:
    able = context.session.client_capabilities
    if able is None or able.sampling is None:
        data: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "This needs a client that can sample.", data=data)
    return _text("The client can sample.")


def _elicits(answer: str, properties: Mapping[str, Any]) -> Fixture:
    """Return a fixture of the previous revision: the server asks back while the call waits."""

    async def ask(context: Context, params: types.CallToolRequestParams) -> Ran:
        message = str((params.arguments or {}).get("message", "Please fill this in."))
        schema = {"type": "object", "properties": dict(properties), "required": []}
        got = await context.session.elicit_form(message, schema, related_request_id=context.request_id)
        return _text(answer.format(action=got.action, content=json.dumps(got.content)))

    return ask


WHO = {"username": {"type": "string", "description": "User's response"}, "email": {"type": "string"}}
NAME, CONFIRMED = {"name": {"type": "string"}}, {"ok": {"type": "boolean"}}
ROOTS = types.ListRootsRequest()
MIXED = '{"test":"data","value":123}'
FILLED = "Elicitation completed: action={action}, content={content}"
ONCE = "test_input_required_result"
TOOLS: Mapping[str, tuple[Fixture, Mapping[str, Any]]] = {
    "json_schema_2020_12_tool": (_shows(types.TextContent(text="Done.")), SCHEMAS["json_schema_2020_12"]),
    "test_custom_header": (
        _shows(types.TextContent(text="Done.")),
        {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}},
    ),
    "test_audio_content": (_shows(types.AudioContent(data=SILENCE, mime_type="audio/wav")), NO_ARGUMENTS),
    "test_elicitation": (
        _elicits("User response: action={action}, content={content}", WHO),
        {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
    ),
    "test_elicitation_sep1034_defaults": (_elicits(FILLED, SCHEMAS["defaults"]), NO_ARGUMENTS),
    "test_elicitation_sep1330_enums": (_elicits(FILLED, SCHEMAS["enums"]), NO_ARGUMENTS),
    "test_embedded_resource": (
        _shows(_resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
        NO_ARGUMENTS,
    ),
    "test_error_handling": (_fails, NO_ARGUMENTS),
    "test_image_content": (_shows(_image()), NO_ARGUMENTS),
    f"{ONCE}_capabilities": (_within_capabilities, NO_ARGUMENTS),
    f"{ONCE}_elicitation": (_asks("Hello, {0}!", user_name=_form("What is your name?", **NAME)), NO_ARGUMENTS),
    f"{ONCE}_list_roots": (_asks("Roots: {0}", client_roots=ROOTS), NO_ARGUMENTS),
    f"{ONCE}_multi_round": (_steps, NO_ARGUMENTS),
    f"{ONCE}_multiple_inputs": (
        _asks(
            "{0}: {1} ({2})",
            "several",
            user_name=_form("What is your name?", **NAME),
            greeting=_sample("Generate a greeting", 50),
            client_roots=ROOTS,
        ),
        NO_ARGUMENTS,
    ),
    f"{ONCE}_request_state": (_asks("state-ok", "asked", confirm=_form("Please confirm", **CONFIRMED)), NO_ARGUMENTS),
    f"{ONCE}_sampling": (
        _asks("{0}", capital_question=_sample("What is the capital of France?", 100)),
        NO_ARGUMENTS,
    ),
    f"{ONCE}_tampered_state": (_asks("state-ok", "sealed", confirm=_form("Please confirm", **CONFIRMED)), NO_ARGUMENTS),
    "test_logging_tool": (_logs, NO_ARGUMENTS),
    "test_missing_capability": (_needs_sampling, NO_ARGUMENTS),
    "test_multiple_content_types": (
        _shows(
            types.TextContent(text="Multiple content types test:"),
            _image(),
            _resource("test://mixed-content-resource", "application/json", MIXED),
        ),
        NO_ARGUMENTS,
    ),
    "test_sampling": (
        _samples,
        {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
    ),
    "test_simple_text": (
        _shows(types.TextContent(text="This is a simple text response for testing.")),
        NO_ARGUMENTS,
    ),
    "test_streaming_elicitation": (_streams, NO_ARGUMENTS),
    "test_tool_with_logging": (_logs, NO_ARGUMENTS),
    "test_tool_with_progress": (_progresses, NO_ARGUMENTS),
}
PROMPTS = {
    "test_input_required_result_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_simple_prompt": (),
}
STATIC = {
    "test://static-text": "text/plain",
    "test://static-binary": "image/png",
    "test://watched-resource": "text/plain",
}
NUMBERED = re.compile(r"test://template/([^/]+)/data")


class ConformanceServer(MemoryServer):
    """Memkit's server with the suite's fixtures in addition to its own."""

    def __init__(self, workspace: Workspace, serving: Serving, tell: Callable[[str], None]) -> None:
        """Add what the previous revision has and memkit lacks: subscriptions, completion and a logging level."""
        super().__init__(workspace, serving, tell)
        self.mcp.add_request_handler("completion/complete", types.CompleteRequestParams, self._complete)
        for method, params in (
            ("resources/subscribe", types.SubscribeRequestParams),
            ("resources/unsubscribe", types.UnsubscribeRequestParams),
            ("logging/setLevel", types.SetLevelRequestParams),
        ):
            self.mcp.add_request_handler(method, params, self._nothing)

    async def _complete(self, context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        return types.CompleteResult(completion=types.Completion(values=["paris", "park"], total=2, has_more=False))

    async def _nothing(self, context: Context, params: Any) -> types.EmptyResult:
        return types.EmptyResult()

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        return TOOLS[name][1] if name in TOOLS else super()._input_schema(name)

    async def _list_tools(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        own = await super()._list_tools(context, params)
        more = [
            types.Tool(name=name, description=f"Fixture {name}.", input_schema=dict(schema))
            for name, (_, schema) in TOOLS.items()
        ]
        return types.ListToolsResult(tools=[*own.tools, *more])

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> Ran:
        if params.name not in TOOLS:
            return await super()._call_tool(context, params)
        return await TOOLS[params.name][0](context, params)

    async def _list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        own = await super()._list_resources(context, params)
        more = [
            types.Resource(uri=uri, name=uri[7:], description=f"Fixture {uri[7:]}.", mime_type=mime)
            for uri, mime in STATIC.items()
        ]
        return types.ListResourcesResult(resources=[*own.resources, *more])

    async def _list_templates(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        own = await super()._list_templates(context, params)
        numbered = types.ResourceTemplate(
            uri_template="test://template/{id}/data", name="numbered", mime_type="application/json"
        )
        return types.ListResourceTemplatesResult(resource_templates=[*own.resource_templates, numbered])

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        content: types.TextResourceContents | types.BlobResourceContents
        if uri == "test://static-binary":
            content = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PIXEL)
        elif uri in STATIC:
            text = "This is the content of the static text resource."
            content = types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
        elif found := NUMBERED.fullmatch(uri):
            text = json.dumps({"id": found[1], "templateTest": True, "data": f"Data for ID: {found[1]}"})
            content = types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
        else:
            return await super()._read_resource(context, params)
        return types.ReadResourceResult(contents=[content])

    async def _list_prompts(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        own = await super()._list_prompts(context, params)
        more = [
            types.Prompt(
                name=name,
                description=f"Fixture {name}.",
                arguments=[types.PromptArgument(name=one, description=one, required=True) for one in arguments],
            )
            for name, arguments in PROMPTS.items()
        ]
        return types.ListPromptsResult(prompts=[*own.prompts, *more])

    async def _get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        if params.name not in PROMPTS:
            return await super()._get_prompt(context, params)
        given = params.arguments or {}
        said: list[types.ContentBlock] = [types.TextContent(text="This is a simple prompt for testing.")]
        if params.name == "test_prompt_with_arguments":
            told = ", ".join(f"{name}='{given.get(name, '')}'" for name in PROMPTS[params.name])
            said = [types.TextContent(text=f"Prompt with arguments: {told}")]
        elif params.name == "test_prompt_with_image":
            said = [_image(), types.TextContent(text="Please analyze the image above.")]
        elif params.name == "test_prompt_with_embedded_resource":
            embedded = _resource(given["resourceUri"], "text/plain", "Embedded resource content for testing.")
            said = [embedded, types.TextContent(text="Please process the embedded resource above.")]
        elif params.name == "test_input_required_result_prompt":
            context_given = _given(params, "user_context")
            if context_given is None:
                form = _form("What context should the prompt use?", context={"type": "string"})
                return _needed({"user_context": form})
            said = [types.TextContent(text=f"In the context of {context_given}.")]
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=one) for one in said])


@click.command()
@click.option("--http", "address", metavar="HOST:PORT", default="127.0.0.1:0", show_default=True, help="Listen there.")
def main(address: str) -> None:
    """Serve the fixtures at HOST:PORT, at /mcp, until told to end; one line on standard error says where."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "store"
        make_store(root)
        workspace = open_workspace(root)
        server = ConformanceServer(workspace, Serving("ada"), _tell)
        with suppress(KeyboardInterrupt):
            run_http(server, workspace, Listening(address, "ada"), _tell)


def _tell(line: str) -> None:
    click.echo(line, err=True)


if __name__ == "__main__":
    main()
