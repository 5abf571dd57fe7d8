"""Agent memory you can review: skills, policies and long-term memory as plain text in git.

>>> from memkit import Refused, StoreNotFound, open_store
"""

__version__ = "0.1.0"

TYPE_CHECKING = False  # ``typing`` costs forty times what the rest of this file does
if TYPE_CHECKING:
    from memkit.errors import MemkitError as MemkitError
    from memkit.errors import NotFound as NotFound
    from memkit.errors import StoreNotFound as StoreNotFound
    from memkit.library import AsyncStore as AsyncStore
    from memkit.library import Store as Store
    from memkit.library import StoreAgent as StoreAgent
    from memkit.library import aopen_store as aopen_store
    from memkit.library import open_store as open_store
    from memkit.runtime.memory.interface import Decision as Decision
    from memkit.runtime.memory.interface import Hit as Hit
    from memkit.runtime.memory.interface import StoredRecord as StoredRecord
    from memkit.runtime.memory.record.errors import Refused as Refused

_HOMES = {
    "MemkitError": "memkit.errors",
    "NotFound": "memkit.errors",
    "StoreNotFound": "memkit.errors",
    "Refused": "memkit.runtime.memory.record.errors",
    "Decision": "memkit.runtime.memory.interface",
    "Hit": "memkit.runtime.memory.interface",
    "StoredRecord": "memkit.runtime.memory.interface",
    "StoreAgent": "memkit.library",
    "AsyncStore": "memkit.library",
    "Store": "memkit.library",
    "aopen_store": "memkit.library",
    "open_store": "memkit.library",
}
__all__ = [
    "AsyncStore", "Decision", "Hit", "MemkitError", "NotFound", "Refused", "Store", "StoreAgent", "StoreNotFound",
    "StoredRecord", "aopen_store", "open_store",
]  # fmt: skip


if not TYPE_CHECKING:  # a checker that saw it would take any misspelt name

    def __getattr__(name: str) -> object:
        """Return a public name, imported when it is asked for: ``import memkit`` costs no more than an empty module."""
        if name not in _HOMES:
            raise AttributeError(f"module 'memkit' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
