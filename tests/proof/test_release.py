"""A release as its users meet it: installed from an index by pip, pipx and uv, and in the place of the one before."""

from __future__ import annotations

import functools
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import memkit
from tests.written import CHECKOUT
from tests.written.distributions import BILL, build, write_distributions

BEFORE, COMMIT = "0.0.9", "9b34d47d783e"
"""The version before the first release is the first one that code could open a store with."""
SCRIPT = """
import sys
from memkit import Refused, open_store

with open_store(sys.argv[1]) as store:
    store.add("Ada sails on Sundays", user="ada")
    try:
        store.add("the card is 4111 1111 1111 1111", user="ada")
    except Refused as refused:
        print(*refused.codes)
    print(*sorted(hit.text for hit in store.search("sails? espresso? Rex?", user="ada")), sep="; ")
"""
SAYS = "personal_data\nAda prefers espresso; Ada sails on Sundays; "
QUIET = [("PIP_DISABLE_PIP_VERSION_CHECK", "1"), ("MEMKIT_INSTALL", "memkit-agent")]

pytestmark = [pytest.mark.prove, pytest.mark.timeout(3600)]  # the first test that asks for the index builds it


def run(*words: str | Path, cwd: Path, codes: tuple[int, ...] = (0,), **variables: str | Path) -> str:
    """Run a program as a user of another project would, and return what it printed."""
    known = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    known |= dict(QUIET) | {name: str(value) for name, value in variables.items()}
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, env=known, capture_output=True, text=True, check=False
    )
    assert done.returncode in codes, f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


class Silent(SimpleHTTPRequestHandler):
    """Serves a folder and says nothing about it."""

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build what a release of this checkout hands out."""
    out = tmp_path_factory.mktemp("dist")
    write_distributions(out)
    return out


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve an index of the release before and of this checkout as the next one, and yield its address."""
    before, after = tmp_path_factory.mktemp("before"), tmp_path_factory.mktemp("after")
    packed = subprocess.run(["git", "-C", CHECKOUT, "archive", COMMIT], capture_output=True, check=False)
    if packed.returncode:
        pytest.skip("this clone has no history of memkit: git fetch --unshallow")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(before, filter="data")
    version = before / "memkit" / "__init__.py"
    version.write_text(version.read_text("utf-8").replace(f'"{memkit.__version__}"', f'"{BEFORE}"'), encoding="utf-8")
    for name in run("git", "ls-files", "-z", cwd=CHECKOUT).split("\0"):
        if name and (CHECKOUT / name).is_file():
            (after / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(CHECKOUT / name, after / name)
    project = tmp_path_factory.mktemp("index") / "simple" / "memkit-agent"
    project.mkdir(parents=True)
    for tree in (before, after):  # as a release does: its templates are kept, and the next one carries them along
        run(sys.executable, "-m", "tests.written.template_release", cwd=tree, PYTHONPATH=tree)
        if tree is before:
            shutil.copytree(tree / "templates" / "_releases", after / "templates" / "_releases")
        build(tree, tree / "dist")
        for path in (tree / "dist").iterdir():
            shutil.copy(path, project)
    folder = project.parents[1]
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Silent, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple/"
        server.shutdown()


def project_tests(project: Path, apart: Path) -> None:
    """Install what a project requires, and run its tests as its owner does."""
    if not apart.exists():
        run(sys.executable, "-m", "venv", apart, cwd=project)
    run(apart / "bin" / "python", "-m", "pip", "install", "--quiet", "-r", "requirements.txt", cwd=project)
    run(apart / "bin" / "python", "-m", "pytest", "-q", cwd=project)


def test_what_is_handed_out_is_all_there(dist: Path) -> None:
    """Two wheels, the sources, and a bill that names whatever the wheel requires."""
    names = sorted(path.name.partition("-")[0] for path in dist.iterdir() if path.name != BILL)
    assert names == ["memkit_agent", "memkit_agent", "memkit_runtime"]

    bill = json.loads((dist / BILL).read_text(encoding="utf-8"))
    assert bill["bomFormat"] == "CycloneDX" and bill["metadata"]["component"]["name"] == "memkit-agent"
    listed = {one["name"].lower() for one in bill["components"]}
    assert {"click", "gitpython", "rich", "ruamel.yaml", "tiktoken"} <= listed
    assert not {"pip", "pytest", "cyclonedx-bom"} & listed, "only what the wheel brings"
    assert all(one.get("version") for one in bill["components"])


def test_the_same_commit_is_the_same_bytes(dist: Path, tmp_path: Path) -> None:
    """So anybody can build what was handed out, and compare."""
    build(CHECKOUT, tmp_path)

    for path in tmp_path.iterdir():
        assert path.read_bytes() == (dist / path.name).read_bytes(), path.name


def test_the_runtime_installs_alone(dist: Path, tmp_path: Path) -> None:
    """The second wheel needs nothing, and a program finds it under its name."""
    (wheel,) = dist.glob("memkit_runtime-*.whl")
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "apart", cwd=tmp_path)
    program = tmp_path / "apart" / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", program, "install", "--quiet", "--no-index", wheel, cwd=tmp_path)

    said = run(
        program, "-c", "import memkit_runtime.memory.main as main; print(main.ArchivalStore.__name__)", cwd=tmp_path
    )

    assert said == "ArchivalStore\n"


def test_an_upgrade_keeps_a_store_a_project_and_a_script_working(index: str, tmp_path: Path) -> None:
    """What the version before wrote is read, checked and gone on with; nothing has another id or another wording."""
    run(sys.executable, "-m", "venv", tmp_path / "apart", cwd=tmp_path)
    programs = tmp_path / "apart" / "bin"
    install = (programs / "python", "-m", "pip", "install", "--quiet", "--extra-index-url", index)
    memkit_command = functools.partial(run, programs / "memkit", cwd=tmp_path)
    store, project = tmp_path / "store", tmp_path / "project"

    run(*install, f"memkit-agent=={BEFORE}", cwd=tmp_path)
    assert BEFORE in memkit_command("--version")
    memkit_command("init", store)
    inside = functools.partial(run, programs / "memkit", cwd=store)
    inside("memory", "add", "Ada prefers espresso", "--user", "ada")
    inside("chat", "--user", "ada", "--consent", "-p", "My dog is called Rex")
    inside("chat", "--user", "ada", "--session", "holiday", "-p", "Hello!")
    inside("gen", "--target", "react", "--out", project)
    (project / "agent" / "mine.py").write_text("MINE = 1\n")
    script = functools.partial(run, programs / "python", "-c", SCRIPT, store, cwd=tmp_path)
    said = script()
    assert said.startswith(SAYS) and "Rex" in said
    held = json.loads(inside("memory", "list", "--user", "ada", "--json"))["data"]["records"]
    assert len(held) == 3

    run(*install, "--upgrade", "memkit-agent", cwd=tmp_path)

    assert memkit.__version__ in memkit_command("--version")
    kept = json.loads(inside("memory", "list", "--user", "ada", "--json"))["data"]["records"]
    assert {one["id"]: one["text"] for one in kept} == {one["id"]: one["text"] for one in held}
    assert script() == said
    inside("fsck")
    inside("lint")
    assert "Rex" in inside("chat", "--user", "ada", "--session", "holiday", "-p", "What is my dog called?")
    project_tests(project, tmp_path / "owner")  # on what it carries, whatever memkit is installed elsewhere
    inside("update", project, "--check", codes=(0, 1))
    memkit_command("update", project)
    project_tests(project, tmp_path / "owner")
    assert (project / "agent" / "mine.py").read_text() == "MINE = 1\n"


@pytest.mark.parametrize("installer", ["pipx", "uv"])
def test_a_program_of_its_own_is_installed_and_upgraded(installer: str, index: str, tmp_path: Path) -> None:
    """``pipx install`` and ``uv tool install`` put ``memkit`` on the PATH, in the place of the version before."""
    tool = [sys.executable, "-m", installer, *(["tool"] if installer == "uv" else [])]
    pip = ("--pip-args", f"--extra-index-url {index}") if installer == "pipx" else ("--index", index)
    places: dict[str, str | Path] = {
        "PIPX_HOME": tmp_path / "home", "PIPX_BIN_DIR": tmp_path / "bin", "PIPX_MAN_DIR": tmp_path / "man",
        "PIPX_DEFAULT_PYTHON": sys.executable, "UV_TOOL_DIR": tmp_path / "home", "UV_TOOL_BIN_DIR": tmp_path / "bin",
        "UV_PYTHON": sys.executable, "UV_PYTHON_DOWNLOADS": "never",
    }  # fmt: skip
    memkit_command = functools.partial(run, tmp_path / "bin" / "memkit", cwd=tmp_path)

    run(*tool, "install", f"memkit-agent=={BEFORE}", *pip, cwd=tmp_path, **places)
    assert BEFORE in memkit_command("--version")
    memkit_command("init", "store")
    memkit_command("--store", "store", "memory", "add", "Ada prefers espresso", "--user", "ada")
    run(*tool, "install", "--force", f"memkit-agent=={memkit.__version__}", *pip, cwd=tmp_path, **places)

    assert memkit.__version__ in memkit_command("--version")
    found = memkit_command("--store", "store", "memory", "search", "espresso", "--user", "ada")
    assert "Ada prefers espresso" in found
