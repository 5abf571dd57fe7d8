"""Agent memory you can review: skills, policies and long-term memory as plain text in git.

>>> from memkit import Refused, StoreNotFound, open_store
"""

__version__ = "0.1.0"

TYPE_CHECKING = False  # importing ``typing`` costs forty times as much as the rest of this file
if TYPE_CHECKING:
    from memkit.errors import MemkitError, NotFound, StoreNotFound
    from memkit.library import AsyncStore, Store, StoreAgent, aopen_store, open_store
    from memkit.runtime.memory.interface import Decision, Hit, StoredRecord
    from memkit.runtime.memory.record.lines import Refused

_HOMES = {
    "MemkitError": "errors", "NotFound": "errors", "StoreNotFound": "errors",
    "AsyncStore": "library", "Store": "library", "StoreAgent": "library",
    "aopen_store": "library", "open_store": "library",
    "Decision": "runtime.memory.interface", "Hit": "runtime.memory.interface",
    "StoredRecord": "runtime.memory.interface",
    "Refused": "runtime.memory.record.lines",
}  # fmt: skip
__all__ = [
    "AsyncStore", "Decision", "Hit", "MemkitError", "NotFound", "Refused", "Store", "StoreAgent", "StoreNotFound",
    "StoredRecord", "aopen_store", "open_store",
]  # fmt: skip

if not TYPE_CHECKING:  # a type checker that saw it would accept any misspelt name

    def __getattr__(name: str) -> object:
        """Import a public name on first access, so that ``import memkit`` costs no more than an empty module."""
        if name not in _HOMES:
            raise AttributeError(f"module 'memkit' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"memkit.{_HOMES[name]}"), name)
