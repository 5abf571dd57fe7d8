"""Versions and successors of skills and policies: changes are recorded, and successors are named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from memkit.lint.families.policies import POLICY, POLICY_PLACE
from memkit.lint.families.skills import OTHER, PLACE, SKILL
from memkit.lint.interface import Checked, Collection, Finding, Rule
from memkit.store.yaml import YamlError, load_yaml

_VERSIONED_SKILL = (
    SKILL
    + """\
version: "1.1.0"
changelog:
  - {version: "1.1.0", changes: Walks round the block.}
"""
)
_VERSIONED_POLICY = POLICY + 'version: "1.1.0"\nchangelog: [{version: "1.1.0", changes: Asks.}]\n'
_NEXT = {"policies/no_losses.yaml": POLICY.replace("no_deletes", "no_losses")}


_ABOUT_ITSELF = frozenset({"version", "changelog", "tests"})
"""Keys that may change without a new version: they do not affect how the skill or policy works."""

_FAMILIES = {"skill": "MKS", "policy": "MKP"}


def in_file(file: Checked) -> Iterator[Finding]:
    """Yield a version without an entry in the change log, and a file that is deprecated without a successor."""
    data, family = file.document.data, _FAMILIES[file.source.kind]
    if not isinstance(data, dict):
        return
    version, entries = data.get("version"), data.get("changelog")
    if isinstance(version, str) and not _is_told(version, entries):
        message = f"The change log has no entry for version {version}. Say what it changed."
        yield file.found(family + "403", message, ("version",))
    if data.get("deprecated") and not data.get("superseded_by"):
        message = "This is deprecated, but nothing says what to use instead. Name it in superseded_by."
        yield file.found(family + "404", message, ("deprecated",), at_key=True)


def _is_told(version: str, entries: Any) -> bool:
    """Return whether the change log has an entry for a version; a first version without a log needs none."""
    if not isinstance(entries, list) or not entries:
        return version in ("0.0.1", "0.1.0", "1.0.0")
    return any(isinstance(entry, Mapping) and entry.get("version") == version for entry in entries)


def beside_others(files: Collection) -> Iterator[Finding]:
    """Yield what only the whole store and its last commit show."""
    for file, before in files.changed():
        if file.source.kind in _FAMILIES:
            yield from _since(file, before, _FAMILIES[file.source.kind], files)
    for kind, family in _FAMILIES.items():
        known = files.skills if kind == "skill" else files.policies
        yield from _successors(known, files.names(kind), kind, family)


def _since(file: Checked, before: Mapping[str, Any], family: str, files: Collection) -> Iterator[Finding]:
    now = file.data
    old, new = before.get("version"), now.get("version")
    if not isinstance(old, str) or new is None:  # the version follows from git then
        return
    if _number(new) < _number(old):
        if files.is_rolled_back(file):
            return
        message = f"The version was {old} in {files.since} and is now {new}. Versions only increase."
        yield file.found(family + "402", message, ("version",))
    elif new == old and _content(before) != _content(now):
        message = (
            f"The content changed since {files.since}, but the version is still {old}. Raise it, and say what changed."
        )
        yield file.found(family + "401", message, ("version",))


def _content(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in _ABOUT_ITSELF}


def _number(version: Any) -> tuple[int, ...]:
    parts = str(version).split(".")
    return tuple(int(part) for part in parts) if all(part.isdecimal() for part in parts) else ()


def _successors(known: Mapping[str, Checked], names: set[str], kind: str, family: str) -> Iterator[Finding]:
    for name, file in known.items():
        successor = file.data.get("superseded_by")
        if not isinstance(successor, str):
            continue
        if successor not in names:
            message = f"There is no {kind} {successor!r} in this store."
            yield file.found(family + "405", message, ("superseded_by",))
            continue
        circle = _circle(name, known)
        if circle:
            message = f"This is a cycle: {' → '.join(circle)}. It never says which one to use."
            yield file.found(family + "406", message, ("superseded_by",))


def _circle(start: str, known: Mapping[str, Checked]) -> list[str]:
    """Return the names from ``start`` back to it, or nothing if the chain of successors ends."""
    path = [start]
    while path[-1] in known:
        following = known[path[-1]].data.get("superseded_by")
        if following == start:
            return [*path, start]
        if not isinstance(following, str) or following in path:
            return []
        path.append(following)
    return []


_FOLDERS = ("skills", "policies")
"""The folders of files with versions."""


def committed_data(root: Path, contents: Mapping[str, bytes], commit: str) -> dict[str, Any]:
    """Return the data of each file in ``contents`` that differs in ``commit``; files that failed to load are omitted.

    Raises:
        EnvironmentFault: The store is not in a repository, or git fails.
        UsageError: There is no such commit.
    """
    from memkit.store.git import Git
    from memkit.store.git_objects import GitObjects, blob_id

    objects = GitObjects(Git(root))
    id = objects.commit_id(commit)
    entries = [entry for folder in _FOLDERS for entry in objects.tree(id, folder) if entry.path in contents]
    changed = {entry.path: entry.id for entry in entries if blob_id(contents[entry.path], len(entry.id)) != entry.id}
    before = objects.read_many(changed.values()) if changed else {}
    return earlier_data({path: before[blob] for path, blob in changed.items() if blob in before}, contents)


def stood_before(root: Path, commit: str, path: str, content: bytes) -> bool:
    """Return whether ``commit``, or one before it, gave the file at ``path`` exactly this content or replaced it."""
    from memkit.store.git import Git
    from memkit.store.git_objects import GitObjects, blob_id

    git = Git(root)
    id = GitObjects(git).commit_id(commit)
    blob = blob_id(content, len(id))
    return bool(git.run("log", "-1", "--format=%H", f"--find-object={blob}", id, "--", path, check=False).strip())


def earlier_data(before: Mapping[str, bytes], contents: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the data of each file in ``contents`` that differed ``before``; files that did not load are omitted."""
    found: dict[str, Any] = {}
    for path, content in before.items():
        if path in contents and content != contents[path]:
            try:
                found[path] = load_yaml(content).data
            except YamlError:  # a link, or a version that was never valid
                continue
    return found


_of_policies = partial(Rule, example=POLICY_PLACE, together=beside_others)
_in_policy = partial(Rule, example=POLICY_PLACE, severity="warning", check=in_file)
_of_skills = partial(Rule, example=PLACE, together=beside_others)
_in_skill = partial(Rule, example=PLACE, severity="warning", check=in_file)
RULES = (
    _of_policies(
        "MKP401",
        "unchanged-policy-version",
        "A policy's content changed since the last commit, but the version that it states did not.",
        "A version is taken to identify the policy's text. Changes to tests, version and change log do not count. "
        "`memkit lint --since COMMIT` compares with another commit. A policy that states no version has the one that "
        "follows from its commits; `memkit migrate` removes stated ones.",
        "A new exception under the version that is committed already.",
        _VERSIONED_POLICY,
    ),
    _of_policies(
        "MKP402",
        "lowered-policy-version",
        "The version that a policy states is lower than in the last commit.",
        "Versions only increase, so that the higher one is the newer one. To go back, use `memkit policy rollback`: "
        "a file exactly as in an earlier commit, including its version, is not a finding.",
        "Version 1.0.0 where 1.1.0 is committed already.",
        _VERSIONED_POLICY,
    ),
    _in_policy(
        "MKP403",
        "no-policy-changelog-entry",
        "A policy's change log has no entry for its version.",
        "A reviewer looks there for what was tightened and what was loosened.",
        _VERSIONED_POLICY.replace('version: "1.1.0"\n', 'version: "1.2.0"\n', 1),
        _VERSIONED_POLICY,
    ),
    _in_policy(
        "MKP404",
        "no-policy-successor",
        "A policy is deprecated, but nothing says what replaces it.",
        "A deprecated policy binds until it is removed or switched off. Without a successor nobody dares to remove it.",
        POLICY + "deprecated: true\n",
        POLICY + "deprecated: true\nsuperseded_by: no_losses\n",
        extra=_NEXT,
    ),
    _of_policies(
        "MKP405",
        "dangling-policy-successor",
        "superseded_by names a policy that does not exist.",
        "The rule that was to take over does not exist, or its name is misspelt.",
        POLICY + "deprecated: true\nsuperseded_by: no_loses\n",
        POLICY + "deprecated: true\nsuperseded_by: no_losses\n",
        extra=_NEXT,
    ),
    _of_policies(
        "MKP406",
        "cyclic-policy-successor",
        "Policies supersede each other in a circle.",
        "It is unclear which one to keep.",
        POLICY + "deprecated: true\nsuperseded_by: no_deletes\n",
        POLICY + "deprecated: true\nsuperseded_by: no_losses\n",
        extra=_NEXT,
    ),
    _of_skills(
        "MKS401",
        "unchanged-version",
        "A skill's content changed since the last commit, but the version that it states did not.",
        "Users of version 1.1.0 rely on its content. `memkit lint --since COMMIT` compares with another commit, such "
        "as the one that a pull request starts from. Changes to version and change log themselves do not count. A "
        "skill that states no version has the one that follows from its commits; `memkit migrate` removes stated "
        "ones.",
        "A new step under the version that is committed already.",
        _VERSIONED_SKILL,
    ),
    _of_skills(
        "MKS402",
        "lowered-version",
        "The version that a skill states is lower than in the last commit.",
        "Versions only increase, so that the higher one is the newer one. To go back, use `memkit skill rollback`: a "
        "file exactly as in an earlier commit, including its version, is not a finding.",
        "Version 1.0.0 where 1.1.0 is committed already.",
        _VERSIONED_SKILL,
    ),
    _in_skill(
        "MKS403",
        "no-changelog-entry",
        "A skill's change log has no entry for its version.",
        "Reviewers and everybody who updates look there for what changed.",
        _VERSIONED_SKILL.replace('version: "1.1.0"\n', 'version: "1.2.0"\n', 1),
        _VERSIONED_SKILL,
    ),
    _in_skill(
        "MKS404",
        "no-successor",
        "A skill is deprecated, but nothing says what to use instead.",
        "An agent that finds it has no alternative. If nothing replaces it, delete it: git keeps it.",
        SKILL + "deprecated: The dog is old.\n",
        SKILL + "deprecated: The dog is old.\nsuperseded_by: swim\n",
        extra={"skills/swim.yaml": OTHER},
    ),
    _of_skills(
        "MKS405",
        "dangling-successor",
        "superseded_by names a skill that does not exist.",
        "The reference leads nowhere. The skill was renamed, or the name is misspelt.",
        SKILL + "deprecated: The dog is old.\nsuperseded_by: swimm\n",
        SKILL + "deprecated: The dog is old.\nsuperseded_by: swim\n",
        extra={"skills/swim.yaml": OTHER},
    ),
    _of_skills(
        "MKS406",
        "cyclic-successor",
        "Skills supersede each other in a circle.",
        "It is unclear which one to use.",
        SKILL + "deprecated: The dog is old.\nsuperseded_by: walk\n",
        SKILL + "deprecated: The dog is old.\nsuperseded_by: swim\n",
        extra={"skills/swim.yaml": OTHER},
    ),
)
