"""The loop room's public names."""

from .agent import MemGPTAgent
from .agent_loop import AgentLoop
from .consent import RecordedConsent
from .interface import Completion, DeclaredTool, ToolCall, ToolSpec
from .planner import HybridPlanner, Proposals
from .prompt import Persona
from .toolbox import Toolbox
from .turn import AgentResponse
from .virtual_context import VirtualContextMemory
from .working import WorkingMemory

__all__ = [
    "AgentLoop",
    "AgentResponse",
    "Completion",
    "DeclaredTool",
    "HybridPlanner",
    "MemGPTAgent",
    "Persona",
    "Proposals",
    "RecordedConsent",
    "ToolCall",
    "ToolSpec",
    "Toolbox",
    "VirtualContextMemory",
    "WorkingMemory",
]
