"""Say by meaning what changed in ``memkit.yaml``: settings, and the tools that the agent has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memkit.review.interface import SubjectChange
from memkit.review.wording import quoted, reworded, value
from memkit.store.config import DEFAULTS, flat

Data = Mapping[str, Any]

_STRICTER: Mapping[str, Sequence[Any]] = {
    "write.secrets": ("mask", "refuse"),
    "write.personal": ("allow", "mask", "refuse"),
    "write.contacts": ("allow", "mask", "refuse"),
    "write.transient": ("allow", "quarantine", "refuse"),
    "write.hostile": ("quarantine", "refuse"),
    "write.require_verification": (False, True),
    "privacy.consent": ("agent", "always"),
    "privacy.seal": ("off", "user"),
    "privacy.long_term": ("on", "off"),
}
"""Settings that guard something, with their values from the loosest to the strictest."""
_HIGHER_IS_STRICTER = ("write.min_confidence", "retrieval.min_confidence", "retrieval.floor")
_LOWER_IS_STRICTER = ("write.max_per_session",)
_TELLING = ("persona", "provider", "model", "user", "format", "privacy.key_id", "write.contradictions")
"""Settings without a looser side that change what the agent is, or whose it is."""


def setting_changes(before: Data | None, after: Data | None) -> list[SubjectChange]:
    """Return what changed; a setting that is not written counts as its built-in value. None is a missing file."""
    if before is None or after is None:
        kind = "added" if before is None else "removed"
        there = before or after
        return [SubjectChange("memkit.yaml", kind, f"memkit.yaml {kind}", attention=kind == "removed")] if there else []
    return [*_tools(before.get("tools", ()), after.get("tools", ())), *_settings(before, after)]


def _settings(before: Data, after: Data) -> Iterator[SubjectChange]:
    known = flat(DEFAULTS)
    one, other = (flat({key: part for key, part in side.items() if key != "tools"}) for side in (before, after))
    for key in dict.fromkeys([*known, *one, *other]):
        old, new = one.get(key, known.get(key)), other.get(key, known.get(key))
        if old == new:
            continue
        looser = _is_looser(key, old, new)
        kind = "changed" if looser is None else "loosened" if looser else "tightened"
        said = f"{key} {_shown(key, old, one)} → {_shown(key, new, other)}"
        said = f"{kind}: {said}" if looser is not None else said
        yield SubjectChange(key, kind, said, old, new, attention=looser is True or key in _TELLING)


def _is_looser(key: str, old: Any, new: Any) -> bool | None:
    """Return whether a setting guards less than before; None where it has no looser side."""
    if key in _STRICTER and old in _STRICTER[key] and new in _STRICTER[key]:
        return _STRICTER[key].index(new) < _STRICTER[key].index(old)
    if key in _HIGHER_IS_STRICTER:
        return bool(new < old)
    return bool(new > old) if key in _LOWER_IS_STRICTER else None


def _shown(key: str, setting: Any, written: Data) -> str:
    return value(setting, 60) if key in written else f"{value(setting, 60)} (the default)"


def _tools(before: Sequence[Data], after: Sequence[Data]) -> Iterator[SubjectChange]:
    one, other = ({tool["name"]: tool for tool in side} for side in (before, after))
    for name, tool in other.items():
        if name in one:
            yield from _tool(f"tool {quoted(name)}", one[name], tool)
        else:
            danger = "dangerous " if tool.get("dangerous") else ""
            said = f"{danger}tool added: {quoted(name)} runs {_command(tool)}"
            yield SubjectChange("tools", "added", said, None, tool, attention=True)
    for name, tool in one.items():
        if name not in other:
            yield SubjectChange("tools", "removed", f"tool removed: {quoted(name)}", tool, None)


def _tool(owner: str, before: Data, after: Data) -> Iterator[SubjectChange]:
    one, other = bool(before.get("dangerous")), bool(after.get("dangerous"))
    if one != other:
        said = f"{owner} is dangerous" if other else f"{owner} is no longer marked as dangerous"
        yield SubjectChange("tools", "changed", said, one, other, attention=not other)
    one, other = bool(before.get("open_world", True)), bool(after.get("open_world", True))
    if one != other:
        trusted = "may hold text of strangers" if other else "count as free of text of strangers"
        yield SubjectChange("tools", "changed", f"results of {owner} {trusted}", one, other, attention=not other)
    if before.get("run") != after.get("run"):
        said = f"{owner} runs {_command(after)}, before {_command(before)}"
        yield SubjectChange("tools", "changed", said, before.get("run"), after.get("run"), attention=True)
    if before.get("parameters") != after.get("parameters"):
        said = f"{owner} takes other arguments"
        yield SubjectChange("tools", "changed", said, before.get("parameters"), after.get("parameters"))
    for change in reworded("description", before.get("description"), after.get("description")):
        yield SubjectChange("tools", change.kind, f"{owner}: {change.message}", change.before, change.after)


def _command(tool: Data) -> str:
    run = tool["run"]
    return quoted(run if isinstance(run, str) else " ".join(run))
