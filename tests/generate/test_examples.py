"""The example projects that people review are what the templates, the rooms and the starters give now."""

from __future__ import annotations

from pathlib import Path

import pytest
from written.examples import FROM_STORE, write_examples

from memkit.generate.targets import load_targets
from memkit.resources import resource

EXAMPLES = resource("templates").parent / "outputs" / "examples"


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of every file that git would see, and where a folder leads that is a link."""
    found = [path for path in sorted(folder.rglob("*")) if "__pycache__" not in path.parts]
    links = {path.relative_to(folder).as_posix(): bytes(path.readlink()) for path in found if path.is_symlink()}
    return links | {path.relative_to(folder).as_posix(): path.read_bytes() for path in found if path.is_file()}


def test_the_examples_are_current(tmp_path: Path) -> None:
    """'make outputs' would change nothing."""
    write_examples(tmp_path)

    fresh, kept = files(tmp_path), files(EXAMPLES)

    assert sorted(kept) == sorted(fresh), "Run 'make outputs' and review the difference."
    stale = [path for path in fresh if fresh[path] != kept[path]]
    assert not stale, f"Run 'make outputs' and review the difference: {stale[:10]}"


def test_every_example_has_what_comes_from_the_store() -> None:
    """Through a link or as a folder of its own, each project holds what it would run on."""
    for target in load_targets():
        compiled, skills = (EXAMPLES / target / name for name in FROM_STORE)
        assert {path.name for path in compiled.iterdir()} == {"policies.json", "domains.json", "settings.json"}
        assert len(list(skills.glob("*/SKILL.md"))) == 3
        assert all(folder.resolve().is_relative_to(EXAMPLES) for folder in (compiled, skills))


def test_there_is_one_example_for_every_target() -> None:
    """Each folder of outputs/examples/ is a target."""
    if not EXAMPLES.parent.exists():
        pytest.fail("outputs/ is missing")
    assert sorted(path.name for path in EXAMPLES.iterdir()) == sorted(load_targets())
