"""The loop room's public names."""

from .agent import AsyncAgent, MemGPTAgent
from .agent_loop import AgentLoop
from .chores import Chores, Outcome
from .consent import RecordedConsent
from .interface import Completion, DeclaredTool, ToolCall, ToolSpec
from .planner import HybridPlanner, Proposals
from .prompt import Persona, system_prompt
from .reply import AgentConfig, AgentResponse, Event, Host, Intent, Reply
from .task_run import TaskRun, TaskStep
from .tasks import TaskMemory
from .tiers import ConversationMemory, SemanticMemory, WorkingMemory
from .tools import Tools, working_memory_tool
from .turn import Acts, Turn
from .virtual_context import VirtualContextMemory

__all__ = [
    "Acts", "AgentConfig", "AgentLoop", "AgentResponse", "AsyncAgent", "Chores", "Completion", "ConversationMemory",
    "DeclaredTool", "Event", "Host", "HybridPlanner", "Intent", "MemGPTAgent", "Outcome", "Persona", "Proposals",
    "RecordedConsent", "Reply", "SemanticMemory", "TaskMemory", "TaskRun", "TaskStep", "ToolCall", "ToolSpec",
    "Tools", "Turn", "VirtualContextMemory", "WorkingMemory", "system_prompt", "working_memory_tool",
]  # fmt: skip
