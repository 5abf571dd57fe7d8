"""Every project that memkit can render: target × wire × skills, as the targets' own files say."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memkit.generate.composition import Order
from memkit.generate.content import WIRED, content_of
from memkit.generate.manifest import Runtime
from memkit.generate.rendering import render
from memkit.generate.runtime_wheel import installed_runtime
from memkit.generate.targets import load_targets
from memkit.use_cases.store import starter_files

BOTH = "both"
_SHELL = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Case:
    """One kind of project."""

    target: str
    answers: tuple[tuple[str, str], ...] = ()
    """What ``--data`` says: the wire, where a target has several."""
    skills: str = BOTH

    def __str__(self) -> str:
        return "-".join([self.target, *(value for _, value in self.answers), self.skills])

    def render(self, place: Path) -> Path:
        """Render the starters' project into ``place`` and return where."""
        store = place.with_name(f"{place.name}-store") / "demo"
        for path, content in starter_files("demo").items():
            (store / path).parent.mkdir(parents=True, exist_ok=True)
            (store / path).write_bytes(content)
        wired = WIRED if self.skills == BOTH else (self.skills,)
        wheel, target = installed_runtime(), load_targets()[self.target]
        render(Order(target, content_of(store, wired), dict(self.answers), Runtime.of(wheel), wheel), place)
        return place


def cases(*skills: str) -> list[Case]:
    """Return a case for every target, with ``skills`` one after the other; in the scheduled run for each of its wires.

    `make test` runs what a project tests about each wire; an environment of its own is a matter of the target.
    """
    kinds = list(_kinds())
    if not os.environ.get("MEMKIT_PROVE"):
        kinds = [kind for at, kind in enumerate(kinds) if kind[0] not in {target for target, _ in kinds[:at]}]
    return [Case(target, answers, chosen) for target, answers in kinds for chosen in skills]


def _kinds() -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    for name, target in load_targets().items():
        wires = target.questions.get("wire", {}).get("choices", ())
        yield from ((name, (("wire", wire),)) for wire in wires)
        if not wires:
            yield name, ()


def commands_of(project: Path) -> list[str]:
    """Return the lines of the first shell example of a project's README, without their comments."""
    found = _SHELL.search((project / "README.md").read_text(encoding="utf-8"))
    assert found, "The README shows no commands."
    return [line.partition("  #")[0].strip() for line in found[1].splitlines()]
