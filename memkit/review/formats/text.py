"""A difference for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memkit.review.interface import Change, Difference, End, Subject
from memkit.review.quoting import count
from memkit.terminal import one_line

NOUNS = {
    "settings": "settings", "policy": "policy", "skill": "skill", "domain": "domain", "memory": "memory of",
    "file": "file",
}  # fmt: skip


def difference_lines(found: Difference, limit: int) -> Iterator[str]:
    """Yield one line for each change below its subject, at most ``limit`` of a subject; ! marks what needs a look."""
    yield f"From {end_name(found.before)} to {end_name(found.after)}: {summary(found)}"
    for subject in found.subjects:
        yield ""
        yield subject_title(subject)
        shown, left = bounded(subject.changes, limit)
        yield from (f" {'!' if change.attention else ' '} {one_line(change.message)}" for change in shown)
        if left:
            yield f"   … {left}"


def end_name(end: End) -> str:
    """Return what a side is called, with its commit where the name does not say it."""
    name = one_line(end.name, 80)
    return name if end.commit is None or end.commit.startswith(end.name) else f"{name} ({end.commit[:10]})"


def summary(found: Difference) -> str:
    """Return how much changed, in a few words."""
    if not found.subjects:
        return "no change"
    look = f", {found.attention:,} to look at twice" if found.attention else ""
    return f"{count(found.changes, 'change')} in {count(len(found.subjects), 'place')}{look}"


def subject_title(subject: Subject) -> str:
    """Return what a subject is called, with what became of it."""
    name = one_line(subject.name, 80)
    if subject.area == "memory":
        if subject.name in ("archive", "shared"):
            return "shards of the archive" if subject.name == "archive" else "shared memory"
        return f"memory of {name}"
    title = name if subject.area == "settings" else f"{NOUNS[subject.area]} {name}"
    return f"{title}, {subject.status}" if subject.status != "changed" else title


def bounded(changes: Sequence[Change], limit: int) -> tuple[list[Change], str]:
    """Return the changes to show, what needs a look first where not all are, and how many of which kind are left."""
    if len(changes) <= limit:
        return list(changes), ""
    ranked = sorted(range(len(changes)), key=lambda place: (not changes[place].attention, place))
    kept = set(ranked[:limit])
    kinds: dict[str, int] = {}
    for place, change in enumerate(changes):
        if place not in kept:
            kinds[change.kind] = kinds.get(change.kind, 0) + 1
    named = ", ".join(f"{number:,} {one_line(kind, 20)}" for kind, number in sorted(kinds.items()))
    return [changes[place] for place in sorted(kept)], f"and {len(changes) - limit:,} more: {named}"
