"""The loop room's public names."""

from .agent import MemGPTAgent
from .agent_loop import AgentLoop
from .planner import HybridPlanner
from .prompt import Persona
from .toolbox import Toolbox
from .turn import AgentResponse
from .virtual_context import VirtualContextMemory
from .working import WorkingMemory

__all__ = [
    "AgentLoop",
    "AgentResponse",
    "HybridPlanner",
    "MemGPTAgent",
    "Persona",
    "Toolbox",
    "VirtualContextMemory",
    "WorkingMemory",
]
