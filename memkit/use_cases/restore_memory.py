"""Bring a user back from an export, exactly as they were."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from memkit.errors import NegativeAnswer
from memkit.interchange.containers import numbered_objects
from memkit.interchange.interface import ImportSource, Unfit
from memkit.interchange.memkit import KINDS, problem
from memkit.runtime.memory.interface import Reason
from memkit.runtime.memory.masking import masked
from memkit.runtime.memory.record import JSON
from memkit.runtime.memory.times import parse_time
from memkit.workspace import Workspace


@dataclass
class Restored:
    """What became of an export."""

    user_id: str
    counts: Counter[str] = field(default_factory=Counter)
    """Lines written, by kind: records, events …; none that was here already."""
    here: int = 0
    """Lines that the archive had already, from a restore that was interrupted."""
    refused: list[Unfit] = field(default_factory=list)


def restore_memory(workspace: Workspace, source: ImportSource, *, user: str | None, dry_run: bool = False) -> Restored:
    """Write every line of an export as it is, or nothing where one of them may not come.

    The export says what was judged already, so nothing is judged again; each line is checked against the format, and
    none may be about somebody else. A restore that was interrupted is completed by giving it again.

    Args:
        workspace: The store.
        source: The export.
        user: Whose export it is; by default the user that its first line names.
        dry_run: Check everything and write nothing.

    Raises:
        NegativeAnswer: The store holds something about this user that is not in the export, the file is empty, or the
            store asks for a consent that was never given.
        UsageError: The file cannot be read.
    """
    restored = Restored(user or _first_user(source))
    _check(workspace, source, restored)
    if restored.refused:
        return restored
    _require_absent(workspace, restored)
    if workspace.settings["privacy.consent"] == "always" and not _agreed(workspace, source, restored.user_id):
        raise NegativeAnswer(
            f"{restored.user_id!r:.60} has not agreed to long-term memory, here or in the file, and this store asks "
            "for that (privacy.consent: always). Nothing was restored."
        )
    if not dry_run:
        try:
            _write(workspace, source, restored)
        finally:
            workspace.end_batch(added=restored.counts.total())
    return restored


def _first_user(source: ImportSource) -> str:
    with source.opened() as file:
        for _, data in numbered_objects(file):
            if not isinstance(data, Reason) and isinstance(data.get("user_id"), str):
                return str(data["user_id"])
    raise NegativeAnswer(f"{source.name} holds no line of any user, so there is nothing to restore.")


def _check(workspace: Workspace, source: ImportSource, restored: Restored) -> None:
    numbers: deque[int] = deque()

    def archived() -> Iterator[Mapping[str, JSON]]:
        with source.opened() as file:
            for number, data in numbered_objects(file):
                if isinstance(data, Reason):
                    restored.refused.append(Unfit(number, (data,)))
                elif not _is_local(data):
                    numbers.append(number)
                    yield data
                elif reason := problem(restored.user_id, data):
                    restored.refused.append(Unfit(number, (reason,)))

    for answer in workspace.archive.restorable(restored.user_id, archived()):
        number = numbers.popleft()
        restored.here += answer.is_here
        if answer.reason:
            reason = Reason(answer.reason.code, masked(answer.reason.message))
            restored.refused.append(Unfit(number, (reason,)))


def _require_absent(workspace: Workspace, restored: Restored) -> None:
    held = sum(1 for _ in workspace.archive.export(restored.user_id))
    if held > restored.here:
        raise NegativeAnswer(
            f"This store holds {held - restored.here:,} lines about {restored.user_id!r:.60} that are not in the file. "
            "--restore brings a user back into a store without them; without it, the memories pass the write gate."
        )


def _agreed(workspace: Workspace, source: ImportSource, user: str) -> bool:
    """Return whether the user agreed here, or did by the last word that the export has on it."""
    said = [data for data in _lines(source, local=False) if data.get("op") == "consent"]
    last = max(said, key=lambda data: parse_time(str(data["at"])), default=None)
    fields = last.get("fields") if last else None
    return workspace.archive.consent(user) is True or (isinstance(fields, dict) and fields.get("granted") is True)


def _write(workspace: Workspace, source: ImportSource, restored: Restored) -> None:
    person = workspace.person(restored.user_id)
    for written in workspace.archive.restore(restored.user_id, _lines(source, local=False), person):
        restored.counts.update("events" if "op" in data else "records" for data in written)
    for op, count in workspace.machine.bring_back(restored.user_id, _lines(source, local=True)):
        restored.counts.update({KINDS[op]: count} if count else {})
    workspace.audit.append({"event": "restored", "actor": "person", "user_id": restored.user_id})


def _lines(source: ImportSource, *, local: bool) -> Iterator[Mapping[str, JSON]]:
    with source.opened() as file:
        for _, data in numbered_objects(file):
            if not isinstance(data, Reason) and _is_local(data) == local:
                yield data


def _is_local(data: Mapping[str, JSON]) -> bool:
    return data.get("op") in KINDS
