"""Tell git how to merge shards and how to show them, or take that back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from memkit.errors import EnvironmentFault
from memkit.store.files import write_whole
from memkit.store.git import Git
from memkit.store.git_programs import ATTRIBUTES, own_programs

_TITLE = "# memkit git setup: how this clone merges and shows shards"


@dataclass(frozen=True)
class GitChange:
    """One thing that is written, or would be."""

    file: str
    action: str
    """set | unset | add | remove"""
    entry: str


def set_up_git(root: Path, *, remove: bool = False, dry_run: bool = False) -> list[GitChange]:
    """Write the merge and text drivers of this clone, or with ``remove`` take them back; return what was changed.

    Everything lies in the repository's own ``.git``: ``config`` names the programs, and ``info/attributes`` gives them
    the shards. Nothing that is committed changes, and clones without the drivers merge by the line.

    Raises:
        EnvironmentFault: The store lies in no repository, or its ``.git`` cannot be written.
    """
    git = Git(root)
    if not git.is_repository():
        raise EnvironmentFault(f"{root} lies in no git repository. Run 'git init' there first.")
    prefix = git.run("rev-parse", "--show-prefix").removesuffix("\n")
    config = _config(git, prefix, remove=remove, dry_run=dry_run)
    return config + _attributes(git, prefix, remove=remove, dry_run=dry_run)


def _config(git: Git, prefix: str, *, remove: bool, dry_run: bool) -> list[GitChange]:
    changes = []
    for key, value in own_programs(prefix or ".").items():
        present = git.run("config", "--local", "--get-all", key, check=False).splitlines()
        if remove and present:
            changes.append(GitChange(".git/config", "unset", key))
        elif not remove and present != [value]:
            changes.append(GitChange(".git/config", "set", f"{key} = {value}"))
        else:
            continue
        if not dry_run:
            git.run("config", "--local", *(["--unset-all", key] if remove else ["--replace-all", key, value]))
    return changes


def _attributes(git: Git, prefix: str, *, remove: bool, dry_run: bool) -> list[GitChange]:
    path = git.root / git.run("rev-parse", "--git-path", "info/attributes").removesuffix("\n")
    rule = f"{_pattern(prefix)} {ATTRIBUTES}"
    before = path.read_bytes() if path.is_file() else b""
    ours = f"{_TITLE}\n{rule}\n".encode()
    if remove == (ours not in before):
        return []
    if not dry_run:
        gap = b"\n" if before and not before.endswith(b"\n") else b""
        after = before.replace(ours, b"") if remove else before + gap + ours
        if after:
            write_whole(path, after)
        else:
            path.unlink()
    return [GitChange(".git/info/attributes", "remove" if remove else "add", rule)]


def _pattern(prefix: str) -> str:
    """Return the pattern of the shards of a store that lies at ``prefix`` in its repository, as git reads it."""
    pattern = re.sub(r"([\\*?\[\]])", r"\\\1", prefix) + "archive/**/*.jsonl"
    if not re.search(r'[\s"\\]', pattern) and pattern[0] not in "#!":
        return pattern
    quoted = pattern.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("\n", "\\n")
    return f'"{quoted}"'
