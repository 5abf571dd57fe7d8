"""Stores with two sides: what to write, commit and ask."""

from __future__ import annotations

import subprocess
from pathlib import Path

from memkit.review.interface import Change, Subject
from memkit.use_cases.review import compare_commits

POLICY = """\
name: stop
description: Stops what destroys.
rule: Ask before something is destroyed.
enforcement: hard
rationale: Nothing comes back.
effect: deny
match:
  tool: [bash, sh]
  args.command: {shell: {program: [rm, shred]}}
exceptions:
  - text: in tests
    match: {context.env: {in: [test]}}
tests:
  - {name: stops rm, call: {tool: bash, args: {command: rm x}}, expect: deny}
  - {name: lets ls pass, call: {tool: bash, args: {command: ls}}, expect: allow}
"""
SKILL = 'name: tea\ndescription: Makes tea for guests.\nsteps: [Boil water, Pour it]\nversion: "1.0.0"\n'


def git(root: Path, *arguments: str) -> str:
    """Run git in the store."""
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def put(root: Path, path: str, content: str | bytes) -> None:
    """Write a file of the store."""
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content if isinstance(content, bytes) else content.encode())


def commit(root: Path) -> str:
    """Commit everything and return the commit's id."""
    git(root, "add", "-A")
    git(root, "commit", "-qm", "change")
    return git(root, "rev-parse", "HEAD").strip()


def subject(root: Path, name: str, span: str | None = None) -> Subject:
    """Return what changed of one file or user."""
    return next(each for each in compare_commits(root, span).subjects if each.name == name)


def told(root: Path, name: str, span: str | None = None) -> list[str]:
    """Return what is said of one file or user, with ! before what needs a second look."""
    return [line(change) for change in subject(root, name, span).changes]


def line(change: Change) -> str:
    """Return a change as a terminal shows it."""
    return f"{'! ' if change.attention else ''}{change.message}"
