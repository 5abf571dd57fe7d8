"""The toolbox as tools of an MCP server that runs in this process."""

from __future__ import annotations

import asyncio
from typing import Any

from claude_agent_sdk import McpSdkServerConfig, SdkMcpTool, ToolAnnotations, create_sdk_mcp_server, tool
from memkit_runtime.loop.core import Tools
from memkit_runtime.loop.interface import ToolSpec

SERVER = "memory"
PREFIX = f"mcp__{SERVER}__"
"""The prefix of their names as seen by the model."""
READING = frozenset({"archival_memory_search", "conversation_search"})
"""Tools that change nothing, so that the command line runs several of their calls at a time."""
INLINE = 500_000
"""The most characters of a result that stay in the conversation; the command line puts longer ones into a file."""


def server_of(toolbox: Tools) -> McpSdkServerConfig:
    """Return the server with every tool that a model may call."""
    return create_sdk_mcp_server(SERVER, tools=tools_of(toolbox))


def tools_of(toolbox: Tools) -> list[SdkMcpTool[Any]]:
    """Return every tool that a model may call."""
    return [_tool(toolbox, spec) for spec in toolbox.specs()]


def own_name(name: str) -> str:
    """Return the name of a tool as the rooms know it.

    >>> own_name("mcp__memory__conversation_search"), own_name("shell")
    ('conversation_search', 'shell')
    """
    return name.removeprefix(PREFIX)


def _tool(toolbox: Tools, spec: ToolSpec) -> SdkMcpTool[Any]:
    hints = ToolAnnotations(readOnlyHint=spec.name in READING, maxResultSizeChars=INLINE)
    # Without properties the SDK would read the schema as a list of names and types. Arguments outside of the schema
    # reach the toolbox, which decides what to do with them.
    schema = {"properties": {}, **spec.parameters, "type": "object", "additionalProperties": True}

    @tool(spec.name, spec.description, schema, annotations=hints)
    async def run(args: dict[str, Any]) -> dict[str, Any]:
        """Run a call that the hook allowed; one that bypassed the hook is judged here."""
        outcome = await asyncio.to_thread(toolbox.execute, spec.name, args)
        return {"content": [{"type": "text", "text": outcome.text}]}

    return run
