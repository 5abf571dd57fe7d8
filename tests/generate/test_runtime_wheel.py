"""The runtime as a wheel: the same bytes everywhere, installable by itself, and what memkit runs on."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from projects import unpacked_runtime

import memkit
from memkit.generate.runtime_wheel import PACKAGE, RuntimeWheel, installed_runtime, runtime_files, runtime_wheel

CHECKOUT = Path(memkit.__file__).resolve().parent.parent
PRINT = "import sys; from memkit.generate.runtime_wheel import installed_runtime as r; print(r().version, r().digest)"
NEEDS_PYTEST = {f"{PACKAGE}.testing.trial.fixtures", f"{PACKAGE}.testing.trial.promises"}
NEEDS_A_DRIVER = {
    f"{PACKAGE}.backends.{name}" for name in ("postgres", "postgres_server", "postgres_sink", "redis_state")
}
"""What is imported only where a project's settings name a server; its requirements bring the driver."""


@pytest.fixture(scope="module")
def wheel() -> RuntimeWheel:
    """Return the wheel of the checkout."""
    return installed_runtime()


def members(wheel: RuntimeWheel) -> zipfile.ZipFile:
    """Return the archive."""
    return zipfile.ZipFile(BytesIO(wheel.content))


def made_elsewhere(folder: Path, **variables: str) -> str:
    """Return version and digest as a process of its own makes them, with memkit found in ``folder``."""
    command = ["sh", "-c", 'umask 077; exec "$@"', "sh", sys.executable, "-c", PRINT]
    environment = {**os.environ, "PYTHONPATH": str(folder), **variables}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_same_sources_are_the_same_bytes(wheel: RuntimeWheel, tmp_path: Path) -> None:
    """In every process, with any hash seed and umask, from a checkout as from what an installer wrote."""
    shutil.copytree(CHECKOUT / "memkit", tmp_path / "memkit", ignore=shutil.ignore_patterns("__pycache__"))
    expected = f"{wheel.version} {wheel.digest}"

    assert made_elsewhere(CHECKOUT, PYTHONHASHSEED="1") == made_elsewhere(CHECKOUT, PYTHONHASHSEED="2") == expected
    # The copy has been run once, so there is bytecode beside its sources, and other times on its files.
    assert made_elsewhere(tmp_path) == made_elsewhere(tmp_path) == expected


def test_the_version_tells_the_content(wheel: RuntimeWheel) -> None:
    """The number of memkit and eight hexadecimal digits, other ones for a changed byte or a moved file."""
    number, plus, local = wheel.version.partition("+")
    files = runtime_files()
    changed = {**files, "__init__.py": files["__init__.py"] + b"\n"}
    moved = {("moved.py" if path == "__init__.py" else path): content for path, content in files.items()}

    assert (number, plus, len(local)) == (memkit.__version__, "+", 8) and set(local) <= set("0123456789abcdef")
    assert len({wheel.version, runtime_wheel(changed).version, runtime_wheel(moved).version}) == 3


def test_members_are_plain(wheel: RuntimeWheel) -> None:
    """Stored, sorted, of one date and mode; no bytecode, and the mark of types is there."""
    listed = members(wheel).infolist()
    names = [member.filename for member in listed]
    packaged = [member.filename for member in listed if ".dist-info/" not in member.filename]

    assert {member.compress_type for member in listed} == {zipfile.ZIP_STORED}
    assert {(member.date_time, member.external_attr >> 16) for member in listed} == {((1980, 1, 1, 0, 0, 0), 0o100644)}
    assert names == sorted(names)
    assert all(name.endswith((".py", "py.typed")) and "__pycache__" not in name for name in packaged)
    assert f"{PACKAGE}/py.typed" in packaged
    assert "Requires-Dist" not in members(wheel).read(f"{PACKAGE}-{wheel.version}.dist-info/METADATA").decode()


def test_it_installs_alone_and_is_typed(wheel: RuntimeWheel, tmp_path: Path) -> None:
    """Into an empty environment, from no index; a type checker sees what it offers."""
    (tmp_path / wheel.filename).write_bytes(wheel.content)
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--no-index", tmp_path / wheel.filename], check=True)

    subprocess.run([*pip, "check"], check=True, capture_output=True)
    used = "from memkit_runtime.memory.main import MemoryTools\nreveal_type(MemoryTools.core_memory_append)\n"
    (tmp_path / "used.py").write_text(used)
    pytest.importorskip("mypy")
    checker = [sys.executable, "-m", "mypy", "--python-executable", python, "--no-incremental", "used.py"]
    seen = subprocess.run(checker, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert seen.returncode == 0 and "section: str" in seen.stdout.replace("builtins.", ""), seen.stdout + seen.stderr


def test_every_module_can_be_imported_by_itself(tmp_path: Path) -> None:
    """With nothing but the standard library around it; two modules are for pytest, which a project's tests bring."""
    folder = unpacked_runtime(tmp_path)
    names = [
        ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
        for path in sorted(folder.rglob("*.py"))
    ]
    code = (
        f"import sys, importlib; sys.path.insert(0, {str(folder)!r})\n"
        f"for name in {sorted(set(names) - NEEDS_PYTEST - NEEDS_A_DRIVER)!r}: importlib.import_module(name)\n"
        "strange = {name.split('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)\n"
        f"assert strange <= {{{PACKAGE!r}, '__main__'}}, strange\n"
    )

    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0 and len(names) > 100, done.stderr[-2000:]


def test_memkit_runs_on_its_own_sources() -> None:
    """What it renders imports ``memkit_runtime``; memkit itself imports ``memkit.runtime`` and nothing else."""
    imported = set()
    for path in (CHECKOUT / "memkit").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module)

    assert not [name for name in imported if name.partition(".")[0] == PACKAGE]
