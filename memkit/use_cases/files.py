"""Files that people write: begin one, commit it, and return its history."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memkit.domains.files import DOMAIN
from memkit.errors import NegativeAnswer, NotFound, UsageError
from memkit.policies.files import POLICY
from memkit.resources import resource
from memkit.review.difference import KINDS
from memkit.review.interface import SubjectChange
from memkit.skills.skill import SKILL
from memkit.store.change import change_file, write_new
from memkit.store.file_history import ABOUT_VERSIONS, BUMP, FileHistory, Revision, present_version
from memkit.store.git import Git
from memkit.store.layout import Kind, require_inside, schema_comment
from memkit.store.schema import suggestion
from memkit.store.yaml import Document, YamlError, load_yaml
from memkit.store.yaml_edit import Part, bumped, next_version, version_key

WRITTEN: Mapping[str, Kind] = {kind.noun: kind for kind in (SKILL, POLICY, DOMAIN)}
"""The kinds of files that people write, by noun."""

# Begin a skill, a policy or a domain.

NAME = "NAME"
"""The placeholder of the name in a draft."""


def draft_text(what: str, name: str) -> str:
    """Return the draft of a ``skill``, a ``policy``, a ``domain`` or a ``problem`` of one, called ``name``."""
    return (resource("drafts") / f"{what}.yaml").read_text(encoding="utf-8").replace(NAME, name)


def draft_file(root: Path, kind: Kind, name: str, beside: Mapping[str, str] | None = None) -> Path:
    """Write the file of ``name`` with an example to edit, and return its path; never overwrites, commits nothing.

    Args:
        root: The store.
        kind: The kind of file.
        name: Its name.
        beside: Other new files that come with it, by path.

    Raises:
        UsageError: The name is invalid, or one of the files exists.
    """
    path = kind.path(name)
    write_new(root, {path: schema_comment(root, kind.noun) + draft_text(kind.noun, name), **(beside or {})})
    return root / path


# Commit a skill, a policy or a domain that a person changed, as one meaningful commit.

Data = Mapping[str, Any]

SUBJECT = 72
"""The most characters in a commit's first line."""


@dataclass(frozen=True)
class Committed:
    """What was committed of a file."""

    name: str
    version: str | None
    commit: str | None
    """None when nothing had changed."""
    changes: list[SubjectChange]


def commit_file(
    root: Path,
    kind: Kind,
    name: str,
    *,
    bump: Part | None = None,
    note: str | None = None,
    beside: Sequence[str] = (),
    accept: Callable[[Document], None] | None = None,
) -> Committed:
    """Commit the changes to the file of ``name``, with a message that describes them by meaning.

    A file that states no version gets one by being committed (``store.file_history``).

    Args:
        root: The store.
        kind: The kind of file.
        name: Its name.
        bump: The part of the version to increment; a change log in the file gets an entry for it.
        note: The text of the message and that entry; by default the changes by meaning.
        beside: Files that belong to it and are committed with it as they are.
        accept: Called with the text in place before it is committed; raises to have it undone.

    Raises:
        NotFound: There is no such file.
        UsageError: The file is not valid, or its version was incremented already.
        NegativeAnswer: Its meaning changed but not the version that it states, the version was lowered, or
            ``accept`` raised it.
        StoreFault: The store is not in a git repository.
        EnvironmentFault: Git cannot commit now.
    """
    document = _document(root, kind, name)
    history = FileHistory(Git(root), kind.path(name))
    text = (root / history.path).read_bytes().decode("utf-8")
    before, describe = _last(history, kind, name), KINDS[kind.folder].describe
    if bump is not None and "version" in document.data:
        text = _counted_up(text, kind, before, document.data, describe, bump, note)
        document = load_yaml(text, name=history.path)
    elif not history.is_changed(*beside):
        return Committed(name, present_version(root, kind, name), None, [])
    changes = describe(before, document.data)
    _require_next_version(kind, before, document.data, _meaning(changes))
    accepted = None if accept is None else lambda: accept(document)
    message = _message(kind, before, document.data, _meaning(changes), note)
    if bump is not None and "version" not in document.data:
        message += f"\n{BUMP}{bump}\n"
    commit = change_file(root, history.path, text, message, beside=beside, accept=accepted)
    return Committed(name, present_version(root, kind, name) or document.data.get("version"), commit, changes)


def _document(root: Path, kind: Kind, name: str) -> Document:
    path, shown = root / kind.path(name), kind.path(name)
    if not os.path.lexists(path):
        known = [other.stem for other in (root / kind.folder).glob("*.yaml")]
        raise NotFound(f"There is no {kind.noun} {name!r}.{suggestion(name, known)}")
    require_inside(root, path, shown)
    document = load_yaml(path, name=shown)
    for finding in kind.findings(document, name):
        line, column = finding.position(document)
        raise UsageError(f"{shown}:{line}:{column}: {finding.message}", path=shown, line=line)
    return document


def _last(history: FileHistory, kind: Kind, name: str) -> Data | None:
    """Return the content in the present commit, or None if that is not valid."""
    text = history.text_at(history.commit_id("HEAD")) if history.revisions() else None
    try:
        document = load_yaml(text, name=history.path) if text is not None else None
    except YamlError:
        return None
    return document.data if document and not kind.findings(document, name) else None


def _counted_up(
    text: str, kind: Kind, before: Data | None, after: Data, describe: Callable[[Any, Any], list[SubjectChange]],
    bump: Part, note: str | None,
) -> str:  # fmt: skip
    """Return the text with the next version stated in it; a new file keeps its first version."""
    if before is None:
        return text
    if after["version"] != before.get("version"):
        raise UsageError(
            f"The version of the {kind.noun} {after['name']} is already {after['version']}; it was "
            f"{before.get('version') or 'none'}. Leave out --bump, or restore the version."
        )
    said = [note] if note else _meaning(describe(before, after)) or ["No change of meaning."]
    return bumped(text, next_version(after["version"], bump), said)


def _meaning(changes: Sequence[SubjectChange]) -> list[str]:
    return [change.message for change in changes if change.field not in ABOUT_VERSIONS]


def _require_next_version(kind: Kind, before: Data | None, after: Data, meaning: Sequence[str]) -> None:
    was, now, name = (before or {}).get("version"), after.get("version"), after["name"]
    if was is None or now is None:
        return
    if version_key(now) < version_key(was):
        raise NegativeAnswer(
            f"The version of the {kind.noun} {name} went from {was} to {now}. Versions only go up; use 'memkit "
            f"{kind.noun} rollback {name} VERSION' to go back."
        )
    if meaning and now == was:
        raise NegativeAnswer(
            f"{name} changed ({meaning[0]}) but is still {now}. Give --bump major, minor or patch, or let the version "
            "follow from git: memkit migrate."
        )


def _message(kind: Kind, before: Data | None, after: Data, meaning: Sequence[str], note: str | None) -> str:
    name, version = after["name"], after.get("version")
    subject = f"Add the {kind.noun} {name}"
    if before is not None:
        to = f" to {version}" if version and version != before.get("version") else ""
        subject = f"Change the {kind.noun} {name}{to}: {note or ', '.join(meaning) or 'comments and order only'}"
    if len(subject) > SUBJECT:
        subject = subject[: SUBJECT - 1].rstrip(" ,") + "…"
    return "\n".join([subject, "", *meaning]).rstrip() + "\n"


# Return the history of a skill, a policy or a domain.


@dataclass(frozen=True)
class Trace:
    """The history of one file."""

    revisions: list[Revision]
    """Newest first."""
    is_shallow: bool
    """Whether this clone is shallow, so that the oldest commit here may not be the first."""


def trace_file(root: Path, kind: Kind, name: str) -> Trace:
    """Return the commits that touched the skill, policy or domain ``name``.

    Raises:
        NotFound: No commit contains it.
        StoreFault: The store is not in a git repository.
    """
    history = FileHistory(Git(root), kind.path(name))
    revisions, shallow = history.revisions(), history.is_shallow
    if not revisions:
        where = " in this shallow clone; 'git fetch --unshallow' gets the older ones" if shallow else ""
        raise NotFound(f"No commit has a {kind.noun} {name!r}{where}.")
    return Trace(revisions, shallow)
