"""The memory room's public entry point: everything that a program needs to give an agent memory.

>>> main = MainContext(max_tokens=2000)
>>> tools = MemoryTools(main, ArchivalStore())
>>> record_id = tools.archival_memory_insert("Alice prefers espresso over latte", tags=["prefs"])
>>> tools.archival_memory_search("Alice coffee espresso", top_k=5)[0].id == record_id
True
"""

from .archive.archive import ArchivalStore
from .gate.gate import WriteGate
from .gate.secrets import mask
from .index.graph import MemoryGraph, RelationGraph
from .interface import Decision, Hit, MemorySettings, SearchReport, StoredRecord
from .record.lines import ArchiveError, Reason, Refused
from .record.record import Draft, Origin, Record
from .tiers.budget import TokenCounter, counter
from .tiers.context import MainContext, PagedOut
from .tiers.fence import fence, fence_turns
from .tiers.recall import RecallMemory
from .tiers.sessions import SessionTurn
from .tiers.specs import ToolInputError
from .tiers.tools import MemoryTools

__all__ = [
    "ArchivalStore", "ArchiveError", "Decision", "Draft", "Hit", "MainContext", "MemoryGraph", "MemorySettings",
    "MemoryTools", "Origin", "PagedOut", "Reason", "RecallMemory", "Record", "Refused", "RelationGraph",
    "SearchReport", "SessionTurn", "StoredRecord", "TokenCounter", "ToolInputError", "WriteGate", "counter", "fence",
    "fence_turns", "mask",
]  # fmt: skip
