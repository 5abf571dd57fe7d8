"""Virtual environments by what they hold, kept between runs, and copied for each project that is set up in one."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from memkit.generate.runtime_wheel import DISTRIBUTION

FLOOR, NEWEST, BEYOND = "floor", "newest", "beyond"
"""The oldest versions that a project's requirements allow, the newest ones, and the newest that there are at all."""
WEEK = 7 * 24 * 3600
"""Seconds after which an environment is made again, because there may be newer versions."""


class Environments:
    """The environments in one folder; several processes may ask for the same one."""

    def __init__(self, folder: Path, variables: Mapping[str, str]) -> None:
        self._folder = folder
        self._variables = _as_pip_is_told(variables)

    def copy(self, project: Path, edition: str, place: Path) -> Path:
        """Return the folder of programs of a new environment at ``place`` that holds what ``project`` requires.

        Where it can be, its files are links to those of the kept one, so a copy takes no room; installers replace files
        and never write into them.
        """
        kept = self.kept(project, edition)
        with _locked(kept):
            shutil.copytree(kept, place, symlinks=True, copy_function=_link)
        return place / "bin"

    def kept(self, project: Path, edition: str) -> Path:
        """Return an environment for reading that holds what ``project`` requires, made now if there is none."""
        requirements = [_fitting(text, edition) for text in requirements_of(project)]
        wanted = "\n".join([edition, platform.python_version(), sys.platform, *requirements])
        kept = self._folder / f"{edition}-{hashlib.sha256(wanted.encode()).hexdigest()[:16]}"
        with _locked(kept):
            if not kept.exists() or time.time() - kept.stat().st_mtime > WEEK:
                self._make(kept, requirements, edition)
        return kept

    def _make(self, kept: Path, requirements: Sequence[str], edition: str) -> None:
        """Make the environment beside its place and move it there, so that an interrupted run leaves none behind."""
        fresh = kept.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(kept, ignore_errors=True)
        self._uv("venv", "--seed", "--relocatable", "--python", sys.executable, fresh)
        resolution = "lowest-direct" if edition == FLOOR else "highest"
        # Compiled once here, and not again in each copy.
        self._uv("pip", "install", "--compile-bytecode", "--python", fresh, "--resolution", resolution, *requirements)
        fresh.rename(kept)

    def _uv(self, *arguments: str | Path) -> None:
        command = [sys.executable, "-m", "uv", "--quiet", *map(str, arguments)]
        done = subprocess.run(command, env=self._variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"


def requirements_of(project: Path) -> list[str]:
    """Return what ``pip install -r requirements.txt`` asks an index for, in order: all but the wheel in ``vendor/``."""
    described = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = [*described["dependencies"], *described["optional-dependencies"]["test"]]
    return sorted(text for text in listed if Requirement(text).name != DISTRIBUTION)


def _fitting(text: str, edition: str) -> str:
    """Return a requirement, for ``BEYOND`` without its upper bounds."""
    requirement = Requirement(text)
    if edition == BEYOND:
        kept = (str(bound) for bound in requirement.specifier if not bound.operator.startswith("<"))
        requirement.specifier = SpecifierSet(",".join(kept))
    return str(requirement)


def _as_pip_is_told(variables: Mapping[str, str]) -> dict[str, str]:
    """Return ``variables`` with the index and certificates of pip, which other installers do not look up."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        env=dict(variables),
        capture_output=True,
        text=True,
        check=False,
    )
    told = {"UV_SYSTEM_CERTS": "true"}
    for option, variable in (("index-url", "UV_DEFAULT_INDEX"), ("cert", "SSL_CERT_FILE")):
        if found := re.findall(rf"^\S*\.{option}='(.+)'$", listed.stdout, re.M):
            told[variable] = found[-1]
    return {**told, **variables}


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copy2(source, target)


@contextmanager
def _locked(kept: Path) -> Iterator[None]:
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
