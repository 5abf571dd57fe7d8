"""Targets that other distributions add through the entry point group ``memkit.targets``.

An entry point's name is the target's, its value the package that holds ``target.yaml`` and ``project/``::

    [project.entry-points."memkit.targets"]
    plain-http = "memkit_target_plain_http"

Nothing of a plug-in is imported: the package is located and its files are read. A faulty plug-in is reported as a
``PluginProblem`` that names it, and the others work.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memkit.errors import EnvironmentFault, MemkitError, UsageError
from memkit.generate.targets import (
    QUESTIONS,
    RECORD,
    Source,
    Target,
    TargetOrigin,
    installed_source,
    load_target,
    load_targets,
    near_word,
    questions_of,
)

if TYPE_CHECKING:
    from importlib.metadata import Distribution

GROUP = "memkit.targets"
INTERFACE = 2
"""Version of a target's foundations: the templates' variables, the layers, and what ``_shared`` expects."""
PROJECT = "project"
UNNAMED = "an installed distribution without a name"
_UNREADABLE = (OSError, TypeError, ValueError)
"""Exceptions from damaged metadata of installed packages: not UTF-8, a line of entry points without ``=``."""
_NAME = r"[a-z0-9][a-z0-9_-]{0,63}"
_PACKAGE = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*"


class Offer(NamedTuple):
    """The content of one entry point: this package holds a target of that name."""

    target: str
    package: str
    origin: TargetOrigin


class PluginProblem(NamedTuple):
    """Why a plug-in's target cannot be used."""

    target: str
    """The name under which it was offered, empty if even that cannot be read."""
    message: str


def find_target(name: str, source: Source | None = None) -> Target:
    """Return the target ``name``, memkit's own (installed, or from ``source``) or a plug-in's.

    Raises:
        UsageError: There is none; the message has the nearest name.
        EnvironmentFault: A plug-in offers it and cannot be used.
    """
    targets = load_targets(source)
    if name in targets:
        return targets[name]
    # Listing what is installed takes longer than everything else here, so it is done only for an unknown name.
    more, problems = load_plugins(targets, source)
    if name in more:
        return more[name]
    if broken := [problem.message for problem in problems if problem.target == name]:
        raise EnvironmentFault(" ".join(broken))
    known = [*targets, *more]
    raise UsageError(f"There is no target {name!r}.{near_word(name, known)} Targets: {', '.join(known)}.")


def load_plugins(own: Collection[str], source: Source | None = None) -> tuple[dict[str, Target], list[PluginProblem]]:
    """Return the targets of every installed plug-in in alphabetical order, and the problems of the others.

    Args:
        own: Names of memkit's own targets, which no plug-in may take.
        source: The folder of memkit's own layers and the rooms; the installed one by default.
    """
    offers, problems = _offers()
    taken = Counter(offer.target for offer in offers)
    targets: dict[str, Target] = {}
    for offer in sorted(offers, key=lambda offer: offer.target):
        try:
            _refuse_a_name_that_is_taken(offer, own, taken[offer.target])
            targets[offer.target] = _load(offer, source or installed_source())
        except (MemkitError, OSError) as error:
            problems.append(PluginProblem(offer.target, f"{_called(offer)} cannot be used: {error}"))
    return targets, problems


def _offers() -> tuple[list[Offer], list[PluginProblem]]:
    """Return what every installed distribution offers; if one is on the path twice, the first counts."""
    offers: list[Offer] = []
    problems: list[PluginProblem] = []
    seen: set[str] = set()
    if not any(map(_may_offer, sys.path)):
        return offers, problems
    from importlib.metadata import distributions

    for distribution in distributions():
        try:
            if GROUP not in (distribution.read_text("entry_points.txt") or ""):
                continue
            origin = _origin(distribution)
            found = distribution.entry_points.select(group=GROUP)
        except _UNREADABLE as error:
            called = _named(_origin(distribution))
            problems.append(PluginProblem("", f"The entry points of {called} cannot be read: {error}"))
            continue
        if origin.distribution not in seen - {UNNAMED}:
            seen.add(origin.distribution)
            offers += [Offer(entry.name, entry.value.strip(), origin) for entry in found]
    return offers, problems


def _may_offer(place: str) -> bool:
    """Return whether a quick look shows that a distribution in a folder of the path may offer something, as few do."""
    try:
        folders = [entry.path for entry in os.scandir(place or ".") if entry.name.endswith(("-info", ".egg"))]
    except NotADirectoryError:
        return True  # an archive
    except OSError:
        return False
    for folder in folders:
        try:
            with open(f"{folder}/entry_points.txt", "rb") as file:  # noqa: PTH123 - of hundreds, which takes a while
                entries = file.read().decode()
        except (FileNotFoundError, NotADirectoryError):
            if not folder.endswith(".egg"):
                continue
            return True
        except _UNREADABLE:
            return True
        if GROUP in entries:
            return True
    return False


def _origin(distribution: Distribution) -> TargetOrigin:
    try:
        metadata = distribution.metadata
        return TargetOrigin(str(metadata["Name"] or UNNAMED), str(metadata["Version"] or ""))
    except _UNREADABLE:
        return TargetOrigin(UNNAMED, "")


def _refuse_a_name_that_is_taken(offer: Offer, own: Collection[str], times: int) -> None:
    if not re.fullmatch(_NAME, offer.target):
        raise UsageError(f"a target name may have a-z, 0-9, - and _ only, not {offer.target[:80]!r}.")
    if offer.target in own:
        raise UsageError("memkit has a target of that name. Rename the plug-in's target.")
    if times > 1:
        raise UsageError("another plug-in has the same name. Uninstall one of them.")


def _load(offer: Offer, source: Source) -> Target:
    folder = _folder_of(offer.package)
    if problem := next(_problems_of(folder), None):
        raise UsageError(problem)
    return load_target(folder, source, name=offer.target, origin=offer.origin)


def _folder_of(package: str) -> Path:
    """Return the folder of ``package``, which is located and not run."""
    if not re.fullmatch(_PACKAGE, package):
        raise UsageError(f"its entry point must name a package, not {package[:80]!r}.")
    top, *inner = package.split(".")
    try:
        # For a dotted name this would import the parents; for the first part it imports nothing.
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError) as error:
        raise UsageError(f"the package {top} cannot be found: {error}.") from error
    places = [Path(place, *inner) for place in (spec.submodule_search_locations if spec else None) or ()]
    folder = next((place for place in places if (place / RECORD).is_file()), None)
    if folder is None:
        raise UsageError(f"there is no folder of the package {package} with a {RECORD}. Is it part of the wheel?")
    return folder


def _problems_of(folder: Path) -> Iterator[str]:
    """Yield what keeps the files in ``folder`` from being a target; later checks rely on earlier ones."""
    from memkit.store.schema import check, load_schema
    from memkit.store.yaml import load_yaml

    document = load_yaml(folder / RECORD)
    for finding in check(document.data, load_schema("target")):
        line, column = finding.position(document)
        yield f"{document.path}:{line}:{column}: {finding.message}"
    interface = document.data.get("interface")
    if interface is None:
        made_for = "for which interface of memkit's templates it was made"
        yield f"{document.path} does not say {made_for}: add interface: {INTERFACE}."
    if interface != INTERFACE:
        yield (
            f"it was made for interface {interface} of memkit's templates, but this memkit has {INTERFACE}. "
            + ("Upgrade memkit-agent." if interface > INTERFACE else "Look for a newer version of the plug-in.")
        )
    if not (folder / PROJECT).is_dir():
        yield f"{folder} has no folder {PROJECT}. Is it part of the wheel?"
    for key, question in questions_of(folder).items():
        if key.startswith("_"):
            yield f"{folder / QUESTIONS} may only ask questions, but {key!r} configures copier."
        if not isinstance(question, dict):
            yield f"{folder / QUESTIONS}: the question {key!r} must be a map with type, help and default."


def _called(offer: Offer) -> str:
    return f"The target {offer.target[:80]!r} of {_named(offer.origin)}"


def _named(origin: TargetOrigin) -> str:
    return f"{origin.distribution} {origin.version}".rstrip()
