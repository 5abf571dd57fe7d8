"""Compare what the policies of two sides decide."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from memkit.errors import UsageError
from memkit.policies.files import FOLDER, read_policy
from memkit.policies.policy_set import PolicySet
from memkit.policies.verdict_diff import compare_verdicts
from memkit.review.review import Verdicts
from memkit.review.sides import FileState, Side

_FILE = re.compile(rf"{FOLDER}/[^./][^/]*\.yaml")


def changed_verdicts(before: Side, after: Side, changed: Iterable[str]) -> Verdicts:
    """Return which calls come out otherwise; a set that does not load denies every call, and is named."""
    if not any(_FILE.fullmatch(path) for path in changed):
        return Verdicts()
    known: dict[tuple[str, FileState], Mapping[str, Any]] = {}
    old, new = _policies(before, known), _policies(after, known)
    if isinstance(new, str):
        return Verdicts(fault=new, faulty="both" if isinstance(old, str) else "after")
    if isinstance(old, str):
        return Verdicts(fault=old, faulty="before")
    found = compare_verdicts(PolicySet(before.end.name, old), PolicySet(after.end.name, new))
    return Verdicts(found.changes, found.unknown)


def _policies(side: Side, known: dict[tuple[str, FileState], Mapping[str, Any]]) -> list[Mapping[str, Any]] | str:
    """Return the policies of a side, or why they do not load; one that is ``known`` is not read again."""
    paths = sorted(path for path in side.files if _FILE.fullmatch(path))
    keys = [(path, side.files[path]) for path in paths]
    contents = side.read(path for path, file in keys if (path, file) not in known)
    for path, file in keys:
        if (path, file) in known:
            continue
        if path not in contents:
            return f"{path} in {side.end.name} is a link, too large or cannot be opened."
        try:
            known[path, file] = read_policy(contents[path], name=f"{path} in {side.end.name}", path=path).data
        except UsageError as error:
            return str(error)
    return [known[key] for key in keys]
