"""``memkit demo``: the tour."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import click

from memkit.cli.output import FOLDER, Front, memkit_command
from memkit.errors import EnvironmentFault
from memkit.runtime.host.terminal import harmless
from memkit.use_cases.show_tour import show_tour

_NEXT = """
What to try next
  memkit init my-memory && cd my-memory         make a store of your own
  memkit chat --user you                        talk to the agent
  memkit policy check --tool bash --arg command="rm -fr /"
  memkit plan "deliver book shop" --domain domains/errands.yaml --explain
  memkit gen --target langgraph                 render it into a project that you own
"""


@memkit_command("demo")
@click.option("--keep", type=FOLDER, metavar="DIR", help="Run in DIR and keep the result.")
def demo(front: Front, keep: Path | None) -> None:
    """Show the whole tour in a temporary directory, with no key and no server."""
    if keep is not None:
        try:
            keep.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EnvironmentFault(f"{keep} cannot be created: {error.strerror or error}.") from error
        _play(front, keep.resolve())
    with tempfile.TemporaryDirectory(prefix="memkit-demo-") as folder:
        _play(front, Path(folder).resolve())


def _play(front: Front, folder: Path) -> None:
    started = time.monotonic()
    scenes: list[dict[str, Any]] = []
    for number, scene in enumerate(show_tour(folder), start=1):
        scenes.append({"title": scene.title, "command": scene.command, "output": scene.output, "ok": scene.ok})
        if not front.json:
            body = "\n".join(f"    {line}" for line in scene.output.splitlines())
            click.echo(
                harmless(f"\n{number}. {scene.title}\n  $ {scene.command}\n{body}{'' if scene.ok else '  <- failed'}")
            )
    ok = all(scene["ok"] for scene in scenes)
    seconds = time.monotonic() - started
    verdict = f"\n{len(scenes)} scenes in {seconds:.0f} s, {'all as they should be' if ok else 'SOME FAILED'}."
    front.answer({"scenes": scenes, "seconds": round(seconds, 1)}, verdict + "\n" + _NEXT, ok=ok)
