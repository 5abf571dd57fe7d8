"""``memkit demo``: the tour ends well and shows what it promises."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path


def test_the_tour_shows_every_mechanism(tmp_path: Path) -> None:
    """A fact is stored, paged out, recalled with its id in a new process, corrected, and the project's tests pass."""
    done = subprocess.run(
        [sys.executable, "-m", "memkit", "demo", "--keep", str(tmp_path / "tour"), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )

    scenes = {scene["command"]: scene for scene in json.loads(done.stdout)["data"]["scenes"]}
    assert done.returncode == 0, [scene for scene in scenes.values() if not scene["ok"]]
    told = next(scene["output"] for command, scene in scenes.items() if "--consent" in command)
    ids = re.findall(r"\(stored: (\w+)\)", told)
    recalled = next(scene["output"] for command, scene in scenes.items() if "Do I prefer" in command)
    assert any(f"[{record_id}]" in recalled for record_id in ids)
    shown = "\n".join(scene["output"] for scene in scenes.values())
    for promised in ("paged out", "destructive_command_approval", "hand_over book", "It replaces"):
        assert promised in shown
    assert re.search(r"^\d+ passed", scenes[next(reversed(scenes))]["output"], re.MULTILINE)
    assert (tmp_path / "tour" / "store" / "outputs" / "langgraph" / "agent").is_dir()
