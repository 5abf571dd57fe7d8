"""Stores for drop-ins, and the vendors' own tests, taken unmodified from their source distributions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

FOUND = os.environ.get("MEMKIT_SDISTS")
"""A folder with the vendors' source distributions; without it they are asked of the index where all is required."""
FAULTS = ("failure", "error")
REQUIRED = os.environ.get("MEMKIT_REQUIRE") == "all"


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that gives the unpacked source distribution of a requirement such as ``name==1.2``."""

    def unpacked(requirement: str) -> Path:
        name, _, version = requirement.partition("==")
        stem = f"{name.replace('-', '_')}-{version}"
        folder = tmp_path_factory.getbasetemp() / "sdists"
        if not (folder / stem).is_dir():
            archive = Path(FOUND) / f"{stem}.tar.gz" if FOUND else folder / f"{stem}.tar.gz"
            if not archive.is_file() and REQUIRED:
                download = [
                    "download",
                    "--no-deps",
                    "--no-binary",
                    ":all:",
                    "-d",
                    os.fspath(archive.parent),
                    requirement,
                ]
                subprocess.run([sys.executable, "-m", "pip", *download], check=True, capture_output=True, timeout=600)
            if not archive.is_file():
                pytest.skip(f"The source of {requirement} is not here: name its folder with MEMKIT_SDISTS.")
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
        return folder / stem

    return unpacked


@pytest.fixture
def vendors_own(
    sdist: Callable[[str], Path], store: Path, tmp_path: Path
) -> Callable[[str, str, list[str]], tuple[dict[str, str], int]]:
    """Return a function that runs tests of a vendor with a ``conftest.py`` of ours beside them, and says what failed."""

    def run(requirement: str, conftest: str, files: list[str]) -> tuple[dict[str, str], int]:
        root = tmp_path / "vendor"
        shutil.copytree(sdist(requirement) / "tests", root / "tests")
        shutil.copyfile(Path(__file__).parent / "vendors" / conftest, root / "conftest.py")
        manifest = store / "memkit.yaml"
        manifest.write_text(manifest.read_text("utf-8") + "git: {commit: manual}\n", encoding="utf-8")
        report = tmp_path / "report.xml"
        environment = {
            **os.environ, "MADE_STORE": os.fspath(store),
            "OPENAI_API_KEY": "none", "OPENAI_AGENTS_DISABLE_TRACING": "1",
            "PYTHONPATH": os.pathsep.join([os.fspath(Path(__file__).parents[2]), os.fspath(root)]),
        }  # fmt: skip
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:langsmith_plugin",
            "-p", "no:memkit", "-o", "addopts=", f"--junitxml={report}", *files,
        ]  # fmt: skip
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, timeout=1200, check=False
        )
        assert report.is_file(), done.stdout + done.stderr
        cases = list(ElementTree.parse(report).iter("testcase"))
        said = {
            str(case.get("name")): "; ".join(str(one.get("message")) for one in case if one.tag in FAULTS)
            for case in cases
        }
        skipped = [case.get("name") for case in cases if case.find("skipped") is not None]
        assert not skipped, f"The vendor's tests skipped {skipped}"
        return {name: message for name, message in said.items() if message}, len(cases)

    return run
