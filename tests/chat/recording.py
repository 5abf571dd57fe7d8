"""The session that docs/chat.md shows, typed on a terminal and drawn from its screen; run it to write the page anew."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pseudo_terminal import DECIDED, PseudoTerminal

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "chat.md"
SCRIPT = Path(__file__).with_name("session.yaml")
PROGRAM = Path(__file__).with_name("counted_chat.py")
POLICY = """\
name: ask_before_sending
description: Ask before anything is sent.
rule: Ask before anything is sent.
enforcement: hard
rationale: A message cannot be taken back.
effect: ask
match: {tool: outbox}
"""
TOOL = """\
  - name: courier
    description: Have something brought to somebody, which takes its time.
    parameters: {type: object, properties: {message: {type: string}, to: {type: string}}, required: [message]}
    run: [sh, -c, "cat >> courier.jsonl; sleep 10"]
    open_world: false
"""
ID = re.compile(r"\b01[0-9A-HJKMNP-TV-Z]{24}\b")
SIGN = re.compile(r"\n[\u2800-\u28ff] [^\n]*\Z")
"""The sign of waiting that a killed program leaves; how it looks is a matter of the moment."""
BLOCK = re.compile(r"(<!-- scene: (?P<name>[a-z]+) -->\n```text\n)(?P<shown>.*?)(^```$)", re.M | re.S)
COLUMNS = 100


def record(folder: Path) -> dict[str, str]:
    """Play the script in a store of its own below ``folder`` and return what each scene shows."""
    store = folder / "store"
    environment = _environment(folder)
    subprocess.run(
        [sys.executable, "-m", "memkit", "init", str(store)], env=environment, check=True, stdout=subprocess.DEVNULL
    )
    (store / "policies" / "ask_before_sending.yaml").write_text(POLICY, encoding="utf-8")
    with (store / "memkit.yaml").open("a", encoding="utf-8") as settings:
        settings.write(TOOL)
    subprocess.run(
        [sys.executable, "-m", "memkit", "trust", "--yes", "--store", str(store)],
        env=environment, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    names: dict[str, str] = {}
    scenes = yaml.safe_load(SCRIPT.read_text(encoding="utf-8"))
    return {
        scene["scene"]: masked(_played(scene, store, {**environment, "SCENE": str(number)}), names)
        for number, scene in enumerate(scenes)
    }


def _played(scene: Mapping[str, Any], store: Path, environment: Mapping[str, str]) -> str:
    """Play one scene and return the screen of it from its first line to its last."""
    command = scene["run"].replace("memkit ", f"exec {shlex.quote(sys.executable)} {shlex.quote(str(PROGRAM))} ", 1)
    with PseudoTerminal(["bash", "-c", command], folder=store, environment=environment, columns=COLUMNS) as terminal:
        for turn in scene["talk"]:
            if isinstance(turn, str):
                terminal.until_ready()
                terminal.type(f"{turn}\r")
                terminal.until(" ".join(turn.split())[:60])
            else:
                terminal.until(turn["at"])
                terminal.type(f"{turn['type']}\r")
        if "killed" in scene:
            while not (store / scene["killed"]).exists():
                terminal.wait(0.2)
            os.kill(terminal.child.pid, signal.SIGKILL)
        assert terminal.left() == (-signal.SIGKILL if "killed" in scene else 0), terminal.text
        end = "Killed\n" if "killed" in scene else ""
        return f"$ {scene['run']}\n{SIGN.sub('', terminal.text)}\n{end}"


def masked(text: str, names: dict[str, str]) -> str:
    """Return ``text`` with a short name for each record, in the order in which they came up."""
    return ID.sub(lambda found: names.setdefault(found[0], f"01…{chr(ord('A') + len(names))}"), text)


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMKIT_") and name not in DECIDED}
    identity = {f"GIT_{who}_{what}": "ada@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return {**kept, **identity, "HOME": str(folder), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}


def shown_on(page: str) -> dict[str, str]:
    """Return what a page shows of each scene."""
    return {found["name"]: found["shown"] for found in BLOCK.finditer(page)}


def rewritten(page: str, scenes: Mapping[str, str]) -> str:
    """Return a page that shows the scenes as they were played."""
    return BLOCK.sub(lambda found: f"{found[1]}{scenes[found['name']]}{found[4]}", page)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), record(Path(place))), encoding="utf-8")
