"""The memory room's front door: everything that a program needs to give an agent memory.

>>> main = MainContext(max_tokens=2000)
>>> tools = MemoryTools(main, ArchivalStore())
>>> record_id = tools.archival_memory_insert("Alice prefers espresso over latte", tags=["prefs"])
>>> tools.archival_memory_search("Alice coffee espresso", top_k=5)[0].id == record_id
True
"""

from .archive import ArchivalStore
from .context import MainContext, PagedOut
from .errors import ArchiveError, Refused
from .fence import fence, fence_turns
from .gate import WriteGate
from .interface import Decision, Hit, Reason, SearchReport, StoredRecord
from .recall import RecallMemory, Turn
from .record import Draft, Origin, Record
from .secrets import mask
from .settings import MemorySettings
from .tokens import TokenCounter, counter
from .tool_specs import ToolInputError
from .tools import MemoryTools

__all__ = [
    "ArchivalStore",
    "ArchiveError",
    "Decision",
    "Draft",
    "Hit",
    "MainContext",
    "MemorySettings",
    "MemoryTools",
    "Origin",
    "PagedOut",
    "Reason",
    "RecallMemory",
    "Record",
    "Refused",
    "SearchReport",
    "StoredRecord",
    "TokenCounter",
    "ToolInputError",
    "Turn",
    "WriteGate",
    "counter",
    "fence",
    "fence_turns",
    "mask",
]
