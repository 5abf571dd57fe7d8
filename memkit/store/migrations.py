"""Bring a store's files from an older format to the one that this version writes, a format at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from memkit.errors import MemkitError
from memkit.runtime.guard.core import FORMER_TRUST, names_former_trust
from memkit.store.change import change_file, change_files
from memkit.store.config import FORMAT
from memkit.store.file_history import ABOUT_VERSIONS
from memkit.store.linking import link_shards, unlinked_shards
from memkit.store.manifest import change_manifest
from memkit.store.yaml import load_yaml
from memkit.store.yaml_edit import edited, without_entries
from memkit.terminal import counted

UNSTATED = 0
"""The format of a store whose ``memkit.yaml`` states none, as one written by hand may; it is read as format 1."""


@dataclass(frozen=True)
class MigrationStep:
    """What turns a store of one format into one of the next."""

    words: str
    apply: Callable[[Path], str | None]
    """Does it to the store at a path in one commit, and returns the commit's id; None where there is no repository."""


LINKED = 2
"""From this format on every line has a link."""


def _state_the_format(root: Path, number: int) -> str | None:
    return change_manifest(root, {"format": number}, f"State that the store has format {number}")


STEPS: Mapping[int, MigrationStep] = {
    UNSTATED: MigrationStep("state the format in memkit.yaml", partial(_state_the_format, number=1)),
    LINKED - 1: MigrationStep("state format 2, whose lines have links", partial(_state_the_format, number=LINKED)),
}
"""By the format that each begins from; together they lead to ``FORMAT``."""


def steps_from(stated: int) -> list[MigrationStep]:
    """Return what leads from a format to the one that this version writes, in order; nothing from that one itself."""
    return [STEPS[number] for number in range(stated, FORMAT)]


def steps_beside(root: Path) -> list[MigrationStep]:
    """Return what the files of a store need in any format.

    Links, policies that wait for a former ``context.trust``, and files that state a version, over which two branches
    would always be in conflict.
    """
    unlinked = unlinked_shards(root)
    linking = MigrationStep(f"link the lines of {counted(len(unlinked), 'shard')}", link_shards)
    return [
        *([linking] if unlinked else []),
        *(
            MigrationStep(f"rewrite context.trust in {name}", partial(_rewrite_trust, name=name))
            for name in _files(root, "policies")
            if any(map(names_former_trust, _trust_conditions(_data(root / name))))
        ),
        *_steps_about_versions(root),
    ]


def _steps_about_versions(root: Path) -> Iterator[MigrationStep]:
    stating = [
        name
        for folder in ("skills", "policies", "domains")
        for name in _files(root, folder)
        if isinstance(data := _data(root / name), Mapping) and not data.keys().isdisjoint(ABOUT_VERSIONS)
    ]
    if stating:
        words = f"let the versions of {', '.join(stating)} follow from their commits"
        yield MigrationStep(words, partial(_drop_versions, names=stating))


def _drop_versions(root: Path, names: Sequence[str]) -> str | None:
    files = {name: without_entries((root / name).read_bytes().decode(), ABOUT_VERSIONS) for name in names}
    return change_files(root, files, "Let versions follow from the commits", hooks=False)


def _files(root: Path, folder: str) -> list[str]:
    return sorted(f"{folder}/{path.name}" for path in (root / folder).glob("*.yaml"))


def _data(path: Path) -> Any:
    try:
        return load_yaml(path.read_text(encoding="utf-8")).data
    except (MemkitError, OSError, ValueError):
        return None  # lint says what is wrong with it


def _trust_conditions(policy: Any) -> Iterator[Any]:
    """Yield every condition on ``context.trust``, and every such context of a test."""
    if isinstance(policy, Mapping):
        for key, value in policy.items():
            if key == "context.trust":
                yield value
            elif key == "context" and isinstance(value, Mapping) and "trust" in value:
                yield value["trust"]
            else:
                yield from _trust_conditions(value)
    elif isinstance(policy, list):
        for one in policy:
            yield from _trust_conditions(one)


def _rewrite_trust(root: Path, name: str) -> str | None:
    content = edited((root / name).read_text(encoding="utf-8"), _with_present_trust)
    return change_file(root, name, content, f"Ask {name} of trusted and untrusted turns", hooks=False)


def _with_present_trust(policy: Any) -> None:
    if isinstance(policy, MutableMapping):
        for key, value in policy.items():
            if key == "context.trust":
                policy[key] = _present(value)
            elif key == "context" and isinstance(value, MutableMapping) and "trust" in value:
                value["trust"] = _present(value["trust"])
            else:
                _with_present_trust(value)
    elif isinstance(policy, MutableSequence):
        for one in policy:
            _with_present_trust(one)


def _present(condition: Any) -> Any:
    """Return a condition on former values as one on present ones; what is below verified is untrusted."""
    if isinstance(condition, MutableMapping):
        told = {key: _present(value) for key, value in condition.items()}
        return told["in"] if set(told) == {"in"} and isinstance(told["in"], str) else told
    if isinstance(condition, MutableSequence):
        told_all = list(dict.fromkeys(_present(one) for one in condition))
        return told_all[0] if len(told_all) == 1 else told_all
    return {"verified": "trusted"}.get(condition, "untrusted") if condition in FORMER_TRUST else condition
