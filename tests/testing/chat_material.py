"""A tool, a call of it and what came of it, in the form of Chat Completions."""

from __future__ import annotations

TOOL = {
    "type": "function",
    "function": {
        "name": "archival_memory_search",
        "description": "Search what was stored.",
        "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    },
}
CALL = {"id": "c1", "type": "function", "function": {"name": "archival_memory_search", "arguments": "{}"}}
USER = {"role": "user", "content": "What do I drink?"}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "id=01ABC text=espresso"}
