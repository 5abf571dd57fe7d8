"""Everything that is found in a domain by looking at it as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memkit.runtime.htn.core import Domain
from memkit.runtime.htn.errors import Path

FREE_VARIABLE, UNKNOWN_TASK, UNREACHABLE_METHOD = "MKD008", "MKD009", "MKD010"
IMPOSSIBLE_OPERATOR, SHADOWED_METHOD, ENDLESS = "MKD011", "MKD012", "MKD013"
CONTRADICTORY_EFFECTS, UNUSED = "MKD014", "MKD015"


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong, with the path of the key that it stands under in the YAML form."""

    code: str
    message: str
    path: Path
    at_key: bool = False
    """Whether the key at the end of the path is meant, and not what stands behind it."""
    slip: tuple[str, str] | None = None
    """The name that is wrong, and the one that was probably meant."""


def domain_faults(domain: Domain) -> Iterator[Fault]:
    """Yield what is wrong in a domain that loads; nothing that depends on the problem."""
    from .calls import call_faults
    from .declarations import unused_declarations
    from .effects import effect_faults
    from .endings import ending_faults
    from .shadows import shadowed_methods

    yield from call_faults(domain)
    yield from ending_faults(domain)
    yield from shadowed_methods(domain)
    yield from effect_faults(domain)
    yield from unused_declarations(domain)
