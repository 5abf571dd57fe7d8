"""The worked example of docs/targets.md: a distribution that is built, installed, rendered from, run and compared."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from projects import unpacked_runtime, write_store

from memkit.store.schema import load_schema

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "targets.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "docs" / "examples" / "memkit-target-plain-anthropic"
TARGET = "plain-anthropic"
SECONDS = 1700.0


def call(*command: str | Path, cwd: Path, site: Path | None = None) -> str:
    """Run a command that has to succeed, with what is installed in ``site``, and return what it printed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # those of memkit's own tests, which no project asks for
    if site is not None:
        environment["PYTHONPATH"] = str(site)
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, (words, done.stdout[-6000:], done.stderr[-3000:])
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the distribution as a release does, install the wheel into a folder of its own, and return that."""
    folder = tmp_path_factory.mktemp("plugin")
    call(sys.executable, "-m", "build", "--wheel", "--outdir", folder / "dist", EXAMPLE, cwd=folder)
    (wheel,) = (folder / "dist").glob("*.whl")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index")
    call(*pip, "--target", folder / "site", wheel, cwd=folder)
    return folder / "site"


def test_it_is_listed_with_where_it_comes_from(site: Path, tmp_path: Path) -> None:
    """After an install the target is there, between memkit's own."""
    listed = json.loads(call(sys.executable, "-m", "memkit", "targets", "--json", cwd=tmp_path, site=site))

    (found,) = [target for target in listed["data"]["targets"] if target["name"] == TARGET]
    assert found["from"] == {"distribution": "memkit-target-plain-anthropic", "version": "0.1.0"}
    assert listed["diagnostics"] == []


def test_its_project_passes_the_tests_that_every_project_ships(site: Path, tmp_path: Path) -> None:
    """Rendered by ``memkit gen`` and run in one process without memkit and the plug-in, against the real package."""
    pytest.importorskip("anthropic")
    store, out = write_store(tmp_path / "store"), tmp_path / "agent"
    line = ("gen", "--target", TARGET, "--store", store, "--out", out)
    call(sys.executable, "-m", "memkit", *line, cwd=tmp_path, site=site)

    runtime = unpacked_runtime(tmp_path / "runtime")
    tests = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not process")
    told = call(*tests, cwd=out, site=runtime)

    assert " passed" in told and "skipped" not in told
    manifest = json.loads((out / ".memkit-gen.json").read_text(encoding="utf-8"))
    assert manifest["plugin"]["distribution"] == "memkit-target-plain-anthropic"


def test_it_ends_where_the_reference_agent_ends(site: Path, tmp_path: Path) -> None:
    """The transcript shows no difference in any part, and the plug-in claims no limit."""
    pytest.importorskip("anthropic")

    told = call(sys.executable, "-m", "memkit.equivalence", TARGET, "--json", cwd=tmp_path, site=site)

    (column,) = json.loads(told)["data"]["columns"]
    assert column["target"] == TARGET and column["faults"] == []
    assert all(part["equal"] for part in column["parts"])


def test_the_page_shows_the_example_as_it_is() -> None:
    """Each excerpt stands in the file that is named before it."""
    shown = re.findall(r"`([\w./-]+)`[^`\n]*:\n\n```(?:toml|yaml|python)\n(.*?)^```$", PAGE, re.M | re.S)

    assert len(shown) == 4
    for path, excerpt in shown:
        assert excerpt in (EXAMPLE / path).read_text(encoding="utf-8"), path


def test_the_page_names_every_key_of_the_record() -> None:
    """A key that the schema knows stands in the table, and no other."""
    table = PAGE.partition("| key of `target.yaml` |")[2].partition("\n\n")[0]
    named = {word for cell in re.findall(r"^\| (`.+?) \|", table, re.M) for word in re.findall(r"`(\w+)`", cell)}

    assert named == set(load_schema("target")["properties"])
