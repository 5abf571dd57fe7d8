"""A project works where it is shipped to: in an image, as another user, in a folder that nobody can write to."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import answering
import pytest
from environments import NEWEST
from images import command_of, copy_in, only, steps_of
from ownership import Owned
from rendered import BOTH, Case, cases

TURN = ["-p", "You may remember that I prefer green tea.", "--user", "ada", "--consent", "--json"]
POWERLESS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
"""A command like this writes nowhere that its user may not, even where that is root."""


def remembers(owned: Owned, memory: Path, *command: str, apart: Path) -> None:
    """Run one turn in the folder ``apart``; memkit has to find the fact that the model stores in ``memory``."""
    driver = [owned.programs / "python", Path(answering.__file__), owned.project]
    powerless = POWERLESS if shutil.which("setpriv") else []
    moved = Owned(apart, owned.programs)

    printed = moved.run_offline(*driver, *powerless, *command, *TURN, MEMORY_DIR=str(memory))

    envelope = json.loads(printed)
    assert envelope["ok"] and envelope["data"]["message"].startswith(answering.ANSWER)
    listed = [sys.executable, "-m", "memkit", "memory", "list", "--user", "ada", "--store", str(memory), "--json"]
    done = subprocess.run(listed, capture_output=True, text=True, check=True, env={**os.environ, "HOME": str(apart)})
    assert [record["text"] for record in json.loads(done.stdout)["data"]["records"]] == [answering.FACT]


@pytest.mark.parametrize("case", cases(BOTH), ids=str)
def test_the_steps_of_the_image_give_an_agent(case: Case, own: Callable[[Case, str], Owned], tmp_path: Path) -> None:
    """What is copied installs; another user than root runs it from a folder that nobody can write to."""
    owned = own(case, NEWEST)
    steps = steps_of(owned.project)
    image, memory = tmp_path / "image", tmp_path / "memory"
    copy_in(steps, owned.project, image)
    install = next(step.text for step in steps if step.verb == "RUN" and step.text.startswith("pip "))

    Owned(image, owned.programs).run("sh", "-c", install)
    for path in [image, *image.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)

    assert only(steps, "USER") not in ("root", "0")
    assert [step.verb for step in steps].index("USER") > [step.verb for step in steps].index("RUN")
    assert only(steps, "VOLUME") in only(steps, "ENV")
    remembers(owned, memory, *command_of(steps), apart=image)
    assert not list(image.rglob("*.jsonl"))
