"""Let Letta's own classes write an agent file."""

import sys
from pathlib import Path

from letta.schemas.agent import AgentType
from letta.schemas.agent_file import AgentFileSchema, AgentSchema, BlockSchema

human = BlockSchema(id="block-0", label="human", value="Is called Ada.\n- Prefers espresso", limit=2000)
persona = BlockSchema(id="block-1", label="persona", value="I am kind.", limit=2000)
agent = AgentSchema(
    id="agent-0", name="waiter", agent_type=AgentType.letta_v1_agent, block_ids=["block-0", "block-1"], tool_ids=[],
    memory_blocks=[], tools=[], tags=[], source_ids=[], in_context_message_ids=[], messages=[], files_agents=[],
    group_ids=[],
)  # fmt: skip
nothing = {key: [] for key in ("groups", "files", "sources", "tools", "mcp_servers")}
whole = AgentFileSchema(agents=[agent], blocks=[human, persona], **nothing)
Path(sys.argv[1], "waiter.af").write_text(whole.model_dump_json(indent=2), encoding="utf-8")
