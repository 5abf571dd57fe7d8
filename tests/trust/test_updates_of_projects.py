"""An update brings no tools to a project that a store gained and nobody trusted there."""

from __future__ import annotations

from pathlib import Path

from foreign_store import Ask

from memkit.cli.main import run

TOOL = "  - {name: mark, description: Leave a mark., run: [sh, tools/mark.sh]}\n"


def test_tools_that_a_store_gained_need_a_word(store: Path, tmp_path: Path, ask: Ask) -> None:
    """Looking needs none; refused, the project is as it was, and after the word the same command goes through."""
    project = tmp_path / "project"
    assert run(["gen", "--target", "react", "--out", str(project), "--store", str(store)]) == 0
    with (store / "memkit.yaml").open("a") as manifest:
        manifest.write(TOOL)
    compiled = project / "agent/compiled/settings.json"
    before = compiled.read_bytes()

    assert ask("update", str(project), "--check", code=1)["data"]["behind"]
    refused = ask("update", str(project), code=3)["diagnostics"][0]

    assert refused["code"] == "not_trusted"
    assert "the tool mark" in refused["message"]
    assert compiled.read_bytes() == before
    ask("trust", "--yes", "--store", str(store))
    ask("update", str(project))
    assert b"mark.sh" in compiled.read_bytes()
