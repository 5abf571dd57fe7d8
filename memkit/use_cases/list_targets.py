"""Tell which kinds of projects can be rendered here, and which plug-ins cannot be used."""

from __future__ import annotations

from dataclasses import dataclass

from memkit.generate.plugins import PluginProblem, load_plugins
from memkit.generate.targets import Target, load_targets


@dataclass(frozen=True)
class Targets:
    """What can be rendered on this machine."""

    targets: tuple[Target, ...]
    problems: tuple[PluginProblem, ...]


def list_targets() -> Targets:
    """Return memkit's own targets and those of installed plug-ins, each in alphabetical order."""
    own = load_targets()
    plugins = load_plugins(own)
    return Targets((*own.values(), *plugins.targets.values()), plugins.problems)
