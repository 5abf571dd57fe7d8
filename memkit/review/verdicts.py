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
    try:
        new = _policies(after, known)
    except UsageError as error:
        return Verdicts(fault=str(error), fault_is_new=True)
    try:
        old = _policies(before, known)
    except UsageError as error:
        return Verdicts(fault=str(error))
    found = compare_verdicts(PolicySet(before.end.name, old), PolicySet(after.end.name, new))
    return Verdicts(found.changes, found.unknown)


def _policies(side: Side, known: dict[tuple[str, FileState], Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the policies of a side; one that is ``known``, by its path and content, is not read again."""
    paths = sorted(path for path in side.files if _FILE.fullmatch(path))
    keys = [(path, side.files[path]) for path in paths]
    contents = side.read(path for path, file in keys if (path, file) not in known)
    for path, file in keys:
        if (path, file) in known:
            continue
        if path not in contents:
            raise UsageError(f"{path} in {side.end.name} is a link, too large or cannot be opened.")
        known[path, file] = read_policy(contents[path], name=f"{path} in {side.end.name}", path=path).data
    return [known[key] for key in keys]
