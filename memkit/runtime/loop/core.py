"""The loop room's public names."""

from .agent import MemGPTAgent
from .agent_loop import AgentLoop
from .asynchronous import AsyncAgent
from .chores import Chores, Outcome
from .consent import RecordedConsent
from .events import Event
from .interface import Completion, DeclaredTool, ToolCall, ToolSpec
from .planner import HybridPlanner, Proposals
from .prompt import Persona, system_prompt
from .reply import AgentResponse
from .tasks import TaskMemory
from .tiers import ConversationMemory, SemanticMemory, WorkingMemory
from .tools import Toolbox
from .virtual_context import VirtualContextMemory

__all__ = [
    "AgentLoop",
    "AgentResponse",
    "AsyncAgent",
    "Chores",
    "Completion",
    "ConversationMemory",
    "DeclaredTool",
    "Event",
    "HybridPlanner",
    "MemGPTAgent",
    "Outcome",
    "Persona",
    "Proposals",
    "RecordedConsent",
    "SemanticMemory",
    "TaskMemory",
    "ToolCall",
    "ToolSpec",
    "Toolbox",
    "VirtualContextMemory",
    "WorkingMemory",
    "system_prompt",
]
