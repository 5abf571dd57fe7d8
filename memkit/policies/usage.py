"""How often the policies of a store decided something on this machine, by the verdicts in its audit log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Usage:
    """What one policy said about calls that it matched."""

    name: str
    decisions: Counter[str] = field(default_factory=Counter)
    """How often it said deny, ask, warn or allow."""
    last_used: str | None = None

    @property
    def matched(self) -> int:
        """Return how many calls it matched."""
        return self.decisions.total()


def usages(names: Iterable[str], events: Iterable[Mapping[str, Any]]) -> list[Usage]:
    """Return the usage of the policies ``names``, and of others that ``events`` of kind ``policy`` name, by name."""
    found = {name: Usage(name) for name in names}
    for event in events:
        for said in event.get("policies") or ():
            usage = found.setdefault(said["name"], Usage(said["name"]))
            usage.decisions[said["decision"]] += 1
            usage.last_used = max(usage.last_used or "", event["at"])
    return [found[name] for name in sorted(found)]
