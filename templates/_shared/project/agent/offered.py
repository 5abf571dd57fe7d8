"""The memory tools that this project offers to its model."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from memory.tiers.tools import MemoryTools


class OfferedTools(MemoryTools):
    """Memory tools of which a model sees, and can call, only those that the project's skills chose."""

    def __init__(self, *parts: Any, names: Collection[str], **more: Any) -> None:
        super().__init__(*parts, **more)
        self.names = frozenset(names)

    def specs(self) -> list[dict[str, Any]]:
        """Return the tools that are offered; the toolbox runs no others."""
        return [spec for spec in super().specs() if spec["name"] in self.names]
