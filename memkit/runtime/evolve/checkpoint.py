"""Saved runs: plain JSON data with a format number, read with care."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from .interface import JSON, BadCheckpoint, Score, Species
from .judge import Member, ProgramJudge

FORMAT = 1
_PARTS: Mapping[str, type | tuple[type, ...]] = {
    "settings": dict,
    "random": list,
    "programs": dict,
    "judge": dict,
    "islands": list,
    "proposers": dict,
    "history": list,
    "tidied": (str, type(None)),
    "scored_at": int,
    "stopped": (str, type(None)),
}


def checked(data: Any, settings: Mapping[str, JSON]) -> Mapping[str, Any]:
    """Return ``data``, or what its JSON text says, if a run with ``settings`` can go on from it.

    Raises:
        BadCheckpoint: It is of a newer version, of a run with other settings, damaged or cut short.
    """
    if isinstance(data, str):
        try:
            data = json.loads(data)
        except (ValueError, RecursionError) as problem:
            raise BadCheckpoint(f"The checkpoint is damaged or cut short: {problem}.") from problem
    if not isinstance(data, Mapping) or not isinstance(data.get("format"), int):
        raise BadCheckpoint("This is no checkpoint of a search, or it is cut short.")
    if data["format"] > FORMAT:
        raise BadCheckpoint(f"The checkpoint has format {data['format']}; this version reads {FORMAT}. Update it.")
    for part, kind in _PARTS.items():
        if part not in data or not isinstance(data[part], kind):
            raise BadCheckpoint(f"The checkpoint is damaged or cut short: {part!r} is missing or wrong.")
    for label, value in settings.items():
        saved = data["settings"].get(label)
        if saved != value:
            raise BadCheckpoint(f"The checkpoint is of another run: its {label} is {saved!r:.60}, not {value!r:.60}.")
    return data


def chance(random: Random) -> JSON:
    """Return the state of a source of chance, as plain data."""
    version, numbers, spare = random.getstate()
    return [version, list(numbers), spare]


def set_chance(random: Random, data: Any) -> None:
    """Take on what ``chance`` returned."""
    version, numbers, spare = data
    random.setstate((version, tuple(numbers), spare))


def written(members: Iterable[Member], species: Species) -> dict[str, JSON]:
    """Return programs with their scores, by id."""
    return {
        member.id: {
            "genome": species.encoded(member.genome),
            "value": member.score.value,
            "reason": member.score.reason,
            "metrics": dict(member.score.metrics),
            "artifacts": dict(member.score.artifacts),
        }
        for member in members
    }


def read(programs: Mapping[str, Any], species: Species, judge: ProgramJudge) -> dict[str, Member]:
    """Return what ``written`` wrote; a program that is not the one its id says is an error."""
    members = {}
    for key, item in programs.items():
        genome = species.decoded(item["genome"])
        if judge.id_of(genome) != key:
            raise ValueError(f"program {key} is not what its id says")
        score = Score(item["value"], item["reason"], item["metrics"], item["artifacts"])
        members[key] = judge.member(key, genome, score)
    return members


def plain(data: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return ``data`` as JSON would give it back, so that nothing in it is shared with the run."""
    copied: dict[str, JSON] = json.loads(json.dumps(data, allow_nan=False))
    return copied
