"""Plug-ins made for the tests: distributions that are installed into a folder, as an installer writes them."""

from __future__ import annotations

from pathlib import Path

RECORD = """\
interface: 2
title: Mine
description: A target of somebody else's.
requires: ["openai>=2.20,<4"]
environment:
  - {name: OPENAI_API_KEY, about: "A key."}
wires: [chat-completions]
protocols: [chat]
skills: [virtual-memory, hybrid-planner]
"""


def install(site: Path, distribution: str, entry_points: str, version: str = "1.0") -> None:
    """Write what an installer writes about ``distribution``; ``entry_points`` are the lines of the group."""
    folder = site / f"{distribution.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    (folder / "entry_points.txt").write_text(f"[memkit.targets]\n{entry_points}\n")


def write_target(folder: Path, record: str = RECORD, **files: str) -> Path:
    """Write a target into the package ``folder``, whose code must not run; ``files`` lie in its project."""
    (folder / "project").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise SystemExit('a plug-in was imported')\n")
    (folder / "target.yaml").write_text(record)
    for name, text in files.items():
        (folder / "project" / name).write_text(text)
    return folder


def plug_in(site: Path, target: str = "mine", record: str = RECORD, **files: str) -> Path:
    """Install a distribution with one target and return the folder of its package."""
    package = f"memkit_{target.replace('-', '_')}"
    install(site, f"memkit-{target}", f"{target} = {package}")
    return write_target(site / package, record, **files)
