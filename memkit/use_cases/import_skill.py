"""Import a ``SKILL.md`` as a skill of the store, or merge a newer one into a skill imported before."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from memkit.errors import NegativeAnswer, UsageError
from memkit.generate.targets import sheet_targets
from memkit.lint.families.hostile import Danger, skill_dangers
from memkit.lint.package_scan import comment_tells, scan_package
from memkit.review.skill_changes import skill_changes
from memkit.runtime.host.terminal import one_line
from memkit.skills.package import (
    MOST_KEPT,
    MOST_KEPT_BYTES,
    Package,
    files_beside,
    files_to_keep,
    open_package,
    read_keys,
    why_not_signed,
)
from memkit.skills.sheet_import import Reading, SheetFile, is_same, open_sheet, read_sheet, sheet_name, skill_of
from memkit.skills.skill import SKILL, read_skill, skill_findings
from memkit.skills.takeover import FieldConflict, skill_text, take_over
from memkit.store.change import change_files
from memkit.store.config import load_settings
from memkit.store.file_history import FileHistory
from memkit.store.git import Git
from memkit.store.git_objects import GitObjects
from memkit.store.layout import NAME, require_inside
from memkit.store.yaml import Document, YamlError, load_yaml
from memkit.store.yaml_edit import bumped, edited, next_version, version_key
from memkit.use_cases.skills import accept_skill

FROM, AS = "Imported-From: ", "Imported-As: "
"""Lines of a commit message: the skill's origin, and its original text if the file holds more than that."""

Action = Literal["added", "updated", "unchanged", "refused", "conflict"]


@dataclass(frozen=True)
class HostilePlace:
    """A place in the ``SKILL.md`` that a person must review."""

    code: str
    """A rule of ``memkit lint``."""
    message: str
    line: int | None
    """Line in the ``SKILL.md``, if it can be located."""


@dataclass(frozen=True)
class ImportedSkill:
    """The result of an import."""

    name: str
    path: str
    action: Action
    version: str | None
    commit: str | None
    text: str
    """The skill's file, as it is or would be."""
    complete: bool
    """Whether exporting the skill reproduces the ``SKILL.md``."""
    losses: tuple[str, ...]
    files: tuple[str, ...] = ()
    """The files written beside the skill's file: those of its package, and its ``SKILL.md`` if that says more."""
    findings: tuple[HostilePlace, ...] = ()
    conflicts: tuple[FieldConflict, ...] = ()


def import_skill(
    root: Path, place: Path, *, name: str | None = None, accept_findings: bool = False, dry_run: bool = False
) -> ImportedSkill:
    """Write ``skills/<name>.yaml`` from the ``SKILL.md`` at ``place`` as one commit.

    A skill imported before takes over what changed in the ``SKILL.md`` since; its owner's changes stay,
    and if both changed the same part the result is a conflict and nothing is written. Nothing in the file is run.

    Args:
        root: The store.
        place: A ``SKILL.md`` or its folder.
        name: The skill's name; by default the name that it states.
        accept_findings: Whether a person has reviewed what looks hostile in it.
        dry_run: Whether only to return what would be written.

    Raises:
        UsageError: It cannot be read, is not a skill, or there is another skill of that name.
        NegativeAnswer: The skill's file has uncommitted changes, or the new text fails the skill's checks.
        EnvironmentFault: Git cannot commit now.
    """
    package = open_package(place) if place.is_dir() or place.is_file() else None
    if package:
        _require_signature(root, package, place)
    file = open_sheet(place)
    shown = file.path.as_posix()
    sheet = read_sheet(file.text, shown)
    description = sheet.fields.get("description")
    if not isinstance(description, str) or not description.strip():
        what = (
            "has no description, which agents choose by"
            if description in (None, "")
            else "must have a text as description"
        )
        raise UsageError(f"{shown}: The front matter {what}.", path=shown)
    name = name or _own_name(file, sheet.fields)
    reading = skill_of(sheet, _checked(name))
    text = skill_text(reading.data)
    _valid(text, name, shown)
    same = is_same(file.text.replace("\r\n", "\n"), reading.skill, sheet_targets(reading.skill))
    whole = package if file.path != place else None
    kept = _to_keep(root, name, file, whole, same)
    losses = (*reading.losses, *_elsewhere(file, sheet.fields), *_beside(file, name, kept), *_granted(reading))
    plan, beside = _planned(root, name, reading, text, kept)
    done = replace(plan, complete=same, losses=losses, files=tuple(sorted(beside)))
    if done.action in ("conflict", "unchanged"):
        return done
    document = _valid(done.text, name, SKILL.path(name))
    dangers = [
        danger
        for danger in skill_dangers(document)
        if danger.code != "MKS103" or comment_tells(document.text[danger.start : danger.end])
    ]
    places = [_place(danger, document, file.text) for danger in dangers]
    done = replace(done, findings=(*places, *_scanned(package, file, places)))
    if done.findings and not accept_findings:
        return replace(done, action="refused")
    if dry_run:
        return done
    # The checks belong to the owner: the existing skill's are kept, and a new skill has none.
    message, skill = _message(done, file, reading), read_skill(document.data)
    files: dict[str, str | bytes | None] = {done.path: done.text, **beside}
    whole_package = files_to_keep(package) if package else {}
    programs = [f"{SKILL.folder}/{name}/{path}" for path, one in whole_package.items() if one.executable]
    commit = change_files(root, files, message, accept=lambda: accept_skill(root, skill), executable=programs)
    return replace(done, commit=commit)


def _scanned(package: Package | None, file: SheetFile, known: Sequence[HostilePlace]) -> Iterator[HostilePlace]:
    """Yield the package's findings, without those already known of its ``SKILL.md``."""
    seen = {(place.code, place.line) for place in known}
    for found in scan_package(package) if package else ():
        if found.severity != "error":
            continue
        if found.path != file.inside:
            yield HostilePlace(found.code, f"{found.path}:{found.line}: {found.message}", None)
        elif (found.code, found.line) not in seen:
            yield HostilePlace(found.code, found.message, found.line)


def _to_keep(root: Path, name: str, file: SheetFile, package: Package | None, same: bool) -> dict[str, bytes]:
    """Return the files beside the skill's file after the import, by path in the store: its whole package.

    The ``SKILL.md`` is included if the skill's file does not say everything in it.
    """
    files = files_to_keep(package) if package else {}
    kept = {path: one.content for path, one in files.items() if f"{path}" not in ("SKILL.md", "skill.md")}
    if kept or not same:
        kept["SKILL.md"] = file.text.encode("utf-8")
    placed = {f"{SKILL.folder}/{name}/{path}": content for path, content in kept.items()}
    git = Git(root)
    ignored = git.run("check-ignore", "--", *placed, check=False).splitlines() if placed and git.is_repository() else ()
    return {path: content for path, content in placed.items() if path not in ignored}


def _require_signature(root: Path, package: Package, place: Path) -> None:
    """Return if the store requires no signature, or the package has one by a key of the store's."""
    settings = load_settings(root)
    if settings["skills.signatures"] != "required":
        return
    if not settings["skills.keys"]:
        raise UsageError("skills.signatures is required, but skills.keys names no file with the keys.")
    keys = root / settings["skills.keys"]
    require_inside(root, keys, "skills.keys")
    why = why_not_signed(package, read_keys(keys))
    if why:
        raise NegativeAnswer(f"{place} was not imported: {why} This store requires a signature (skills.signatures).")


def _own_name(file: SheetFile, fields: Mapping[str, Any]) -> str:
    name, folder = sheet_name(fields), file.folder
    if name is None and folder is None:
        raise UsageError(f"{file.path} does not name the skill. Name it with --as NAME.")
    return name if name is not None else str(folder)


def _elsewhere(file: SheetFile, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a note on a folder that is not named after its skill, as the public format requires."""
    given = fields.get("name")
    if given is None or file.folder is None or given == file.folder:
        return ()
    return (
        f"The skill is named {one_line(str(given), 80)!r} but its folder {one_line(file.folder, 80)!r}; the format "
        "requires one name for both.",
    )


def _checked(name: str) -> str:
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name!r:.80} cannot name a skill: use lower-case letters, digits, '-' and '_' (at most 64, no path). "
            "Give it another name with --as NAME."
        )
    return name


def _valid(text: str, name: str, shown: str) -> Document:
    """Return the document of a skill's text, or raise the first error in it."""
    try:
        document = load_yaml(text, name=shown)
    except YamlError as error:
        raise UsageError(f"{shown} cannot be a skill: {error.problem}", path=shown) from None
    for finding in skill_findings(document, name):
        raise UsageError(f"{shown} cannot be a skill: {finding.message}", path=shown)
    return document


def _planned(
    root: Path, name: str, reading: Reading, text: str, kept: Mapping[str, bytes]
) -> tuple[ImportedSkill, Mapping[str, bytes | None]]:
    """Return the contents of the files, before the search for hostile text."""
    path = SKILL.path(name)
    plan = ImportedSkill(name, path, "added", reading.data.get("version"), None, text, False, ())
    folder = f"{SKILL.folder}/{name}"
    if not (root / path).exists():
        if (root / folder).exists():
            raise UsageError(f"The folder {folder} already exists. Choose a name with --as NAME.")
        return plan, kept
    before = _imported_before(root, path, name)
    if before is None:
        raise UsageError(f"A skill {name!r} already exists and was not imported. Choose a name with --as NAME.")
    ours_text = (root / path).read_bytes().decode("utf-8", "surrogateescape")
    ours = _valid(ours_text, name, path).data
    found = take_over(before[0], ours, reading.data)
    beside, clashes = _beside_taken_over(root, folder, before[1], kept)
    plan = replace(plan, version=ours.get("version"), text=ours_text, conflicts=(*found.conflicts, *clashes))
    if plan.conflicts:
        return replace(plan, action="conflict"), {}
    if not found.changes and not beside:
        return replace(plan, action="unchanged"), {}
    if FileHistory(Git(root), path).is_changed(folder):
        raise NegativeAnswer(f"{path} has uncommitted changes. Commit them first: memkit skill commit {name}")
    merged = edited(ours_text, lambda document: _apply(document, found.changes)) if found.changes else ours_text
    version = _next(ours.get("version"), reading.data.get("version"))
    if version is not None:
        after = read_skill(load_yaml(merged).data)
        said = [change.message for change in skill_changes(read_skill(ours), after)]
        said += ["files beside it"] if beside and not said else []
        merged = bumped(merged, version, [f"Taken over from the import: {one}" for one in said])
    return replace(plan, action="updated", version=version, text=merged), beside


def _beside_taken_over(
    root: Path, folder: str, commit: str, theirs: Mapping[str, bytes]
) -> tuple[dict[str, bytes | None], list[FieldConflict]]:
    """Return the changes to the files beside a skill, file by file as for its fields, and the conflicts."""
    objects = GitObjects(Git(root))
    entries = {entry.path: entry.id for entry in objects.tree(commit, folder) if entry.path.startswith(f"{folder}/")}
    contents = objects.read_many(entries.values())
    base = {path: contents[id] for path, id in entries.items()}
    ours = {f"{folder}/{path}": file.content for path, file in files_beside(root, folder).items()}
    changes: dict[str, bytes | None] = {}
    clashes = []
    for path in sorted(base.keys() | ours.keys() | theirs.keys()):
        before, mine, new = base.get(path), ours.get(path), theirs.get(path)
        if new in (before, mine):
            continue
        if mine == before:
            changes[path] = new
        else:
            told = ["as it was imported", *("another text" if side is not None else None for side in (mine, new))]
            clashes.append(FieldConflict(path, *told))
    return changes, clashes


def _apply(document: Any, changes: Mapping[str, Any]) -> None:
    for key, value in changes.items():
        if value is None:
            del document[key]
        else:
            document[key] = _as_block(value)


def _as_block(value: Any) -> Any:
    """Return a value whose multi-line texts are written as blocks."""
    from ruamel.yaml.scalarstring import LiteralScalarString

    if isinstance(value, list):
        return [_as_block(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _as_block(item) for key, item in value.items()}
    is_block = isinstance(value, str) and "\n" in value and all(line == line.rstrip() for line in value.split("\n"))
    return LiteralScalarString(value) if is_block else value


def _next(ours: str | None, theirs: str | None) -> str | None:
    """Return the version after a takeover: theirs if that is higher, else the owner's incremented."""
    if ours is None or theirs is None or version_key(theirs) <= version_key(ours):
        return theirs if ours is None else next_version(ours, "patch")
    return theirs


def _imported_before(root: Path, path: str, name: str) -> tuple[Mapping[str, Any], str] | None:
    """Return the skill's content at its last import, and that commit; None if it was never imported."""
    git = Git(root)
    if not git.is_repository():
        return None
    printed = git.run("log", "--format=%x1e%H%x00%B", "HEAD", "--", path, check=False)
    for entry in printed.split("\x1e")[1:]:
        commit, _, message = entry.partition("\0")
        lines = message.splitlines()
        if not any(line.startswith(FROM) for line in lines):
            continue
        said = next((line.removeprefix(AS) for line in lines if line.startswith(AS)), None)
        try:
            text = FileHistory(git, path).text_at(commit) if said is None else skill_text(json.loads(said))
            data = _valid(text or "", name, path).data
        except (UsageError, ValueError):
            continue
        return data, commit
    return None


def _place(danger: Danger, document: Document, source: str) -> HostilePlace:
    """Return a finding with its line in the ``SKILL.md``."""
    value: Any = document.data
    for part in danger.path:
        value = value[part]
    written = document.text[danger.start : danger.end].strip()
    texts = [written, str(value)] if isinstance(value, str) else [written]
    firsts = (line.strip() for text in texts for line in text.splitlines()[:1])
    found = next((source.find(first) for first in firsts if first and first in source), -1)
    return HostilePlace(danger.code, danger.message, source[:found].count("\n") + 1 if found >= 0 else None)


def _beside(file: SheetFile, name: str, kept: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return a note on the files that came with the skill and are not kept beside it."""
    left = [path for path in file.others if f"{SKILL.folder}/{name}/{path}" not in kept]
    if not left:
        return ()
    some = ", ".join(left[:10]) + (", …" if len(left) > 10 else "")
    return (
        f"Not kept: {some}. A skill may have at most {MOST_KEPT:,} files of {MOST_KEPT_BYTES:,} bytes in all beside "
        "it, no links, and nothing that git ignores or that is special to git or memkit.",
    )


def _granted(reading: Reading) -> tuple[str, ...]:
    tools = reading.data.get("front_matter", {}).get("allowed-tools")
    if not tools:
        return ()
    said = one_line(str(tools), 80)
    return (f"allowed-tools ({said}) grants tools where SKILL.md is read; here policies decide, and it is only kept.",)


def _message(done: ImportedSkill, file: SheetFile, reading: Reading) -> str:
    subject = f"Import the skill {done.name}" if done.action == "added" else f"Update the skill {done.name}"
    subject += f" to {done.version}" if done.action == "updated" and done.version else ""
    accepted = [f"Accepted by hand: {finding.code} {finding.message}" for finding in done.findings]
    origin = [f"{FROM}{one_line(file.folder or file.path.name, 200)} sha256:{file.digest}"]
    if done.action == "updated":
        origin.append(AS + json.dumps(reading.data, ensure_ascii=True))
    notes = [*done.losses, *accepted]
    return "\n".join([subject, "", *notes, *([""] if notes else []), *origin, ""])
