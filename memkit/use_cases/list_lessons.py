"""List the learned methods of a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memkit.domains.files import domain_file, find_domain
from memkit.domains.gaps import entries
from memkit.domains.learned import FOLDER, LearnedMethods
from memkit.errors import MemkitError


@dataclass(frozen=True)
class Listed:
    """The learned methods of one domain."""

    domain: str
    path: str
    methods: tuple[Mapping[str, Any], ...]
    """As they stand in the file."""
    left_out: tuple[str, ...]
    """Why some of them are not used."""
    rejected: tuple[Mapping[str, Any], ...]
    refused: Mapping[str, int]
    """How many proposals were refused on this machine, by task."""


def list_lessons(root: Path, domain: str | None = None) -> list[Listed]:
    """Return what was learned for one domain, or for every one that has something.

    Raises:
        NotFound: There is neither such a domain, nor anything that was learned for one of that name.
        UsageError: A file of learned methods is wrong.
    """
    if domain and not LearnedMethods.of_store(root, domain).path.exists():
        domain_file(domain, root)
    names = [domain] if domain else sorted(path.stem for path in (root / FOLDER).glob("*.yaml"))
    return [_listed(root, name) for name in names]


def _listed(root: Path, name: str) -> Listed:
    shelf = LearnedMethods.of_store(root, name)
    left_out: list[str] = []
    try:
        shelf.methods(find_domain(name, root), left_out.append)
    except MemkitError as error:
        left_out.append(str(error))
    refused = Counter(entry["task"] for entry in entries(shelf.gaps))
    return Listed(name, shelf.shown, tuple(shelf.entries()), tuple(left_out), tuple(shelf.rejected()), dict(refused))
