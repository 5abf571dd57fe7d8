"""The systems of ``systems.yaml``: what they are, where they come from, and why some are not asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

NOTHING, EVERYTHING = "control-remembers-nothing", "control-forgets-nothing"


@dataclass(frozen=True)
class System:
    """One column of the report."""

    name: str
    adapter: str
    """``module:Class``; ``systems.yaml`` names them below ``closure.adapters``."""
    about: str
    """How it is set up."""
    packages: tuple[str, ...] = ()
    """Requirements with their versions; none for what runs in memkit's own environment."""
    python: str = ""
    """The least version that it needs, if memkit's own is too old."""
    model: tuple[str, ...] = ()
    """Packages whose files are put together as a folder of an embedding model; none of their code runs."""
    suites: tuple[str, ...] = ()
    """The suites in which it differs from a system beside it; empty for all."""
    server: str = ""
    """What has to run beside it: ``postgres``."""
    asks_model: bool = False
    """Whether it calls a model for every text: it is tried once, and its reply without one is why it is not asked."""
    part: float = 1.0
    """The share of the counts that are done for memkit; memkit owes more proof than others."""

    @property
    def is_ours(self) -> bool:
        """Return whether it is a column of memkit."""
        return self.name.startswith("memkit")

    @property
    def is_control(self) -> bool:
        """Return whether it is deliberately wrong."""
        return self.name.startswith("control-")


def load_systems() -> dict[str, System]:
    """Return the systems by name, in the order of the report."""
    text = Path(__file__).with_name("systems.yaml").read_text(encoding="utf-8")
    described: dict[str, dict[str, Any]] = yaml.safe_load(text)
    return {
        name: System(
            name=name,
            **{
                **fields,
                "adapter": f"closure.adapters.{fields['adapter']}",
                **{many: tuple(fields.get(many, ())) for many in ("packages", "model", "suites")},
            },
        )
        for name, fields in described.items()
    }
