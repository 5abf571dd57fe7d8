"""Build what a release of memkit hands out, in one folder.

``python -m tests.written.distributions`` writes to ``dist/``: memkit's wheel and its source distribution, the wheel of
the runtime as projects carry it, and a bill of what memkit's wheel installs (CycloneDX). Two runs on one commit write
the same bytes of each but the bill, which tells what the index offers today. Where ``MEMKIT_RELEASE`` names a tag,
nothing is built until the checkout is what that tag promises.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import memkit
from memkit.generate.runtime_wheel import installed_runtime

from . import CHECKOUT
from .changelog import LOG, fragments
from .template_release import is_released

BILL = "memkit-agent.cdx.json"


def build(source: Path, out: Path) -> Path:
    """Build memkit through its source distribution into ``out``, and return the wheel."""
    dated = subprocess.run(
        ["git", "-C", str(CHECKOUT), "log", "-1", "--format=%ct"], check=True, capture_output=True, text=True
    ).stdout.strip()
    _run(sys.executable, "-m", "build", "--outdir", out, source, SOURCE_DATE_EPOCH=dated)
    (wheel,) = out.glob("memkit_agent-*.whl")
    return wheel


def write_runtime(out: Path) -> Path:
    """Write the wheel of the runtime, which projects carry in ``vendor/``; no index takes a version with a digest."""
    runtime = installed_runtime()
    (out / runtime.filename).write_bytes(runtime.content)
    return out / runtime.filename


def write_bill(wheel: Path, out: Path) -> Path:
    """Install the wheel into an empty environment, and write what is there then, with licences and where it is from."""
    with tempfile.TemporaryDirectory(prefix="memkit-bill-") as scratch:
        apart = Path(scratch) / "apart"
        _run(sys.executable, "-m", "venv", "--without-pip", apart)
        program = apart / "bin" / "python"
        _run(sys.executable, "-m", "pip", "--python", program, "install", "--quiet", "--no-compile", wheel)
        _run(
            sys.executable, "-m", "cyclonedx_py", "environment", "--pyproject", CHECKOUT / "pyproject.toml",
            "--mc-type", "application", "--output-reproducible", "--of", "JSON", "-o", out / BILL, program,
        )  # fmt: skip
    return out / BILL


def missing_for(tag: str, root: Path = CHECKOUT) -> list[str]:
    """Return what is still to be done before ``tag`` may be released, a line each."""
    version = memkit.__version__
    told = f"\n## {version} (2" in (root / LOG).read_text(encoding="utf-8") and not fragments(root)
    done = {
        f"the tag is {tag}, and memkit/__init__.py says {version}": tag == f"v{version}",
        f"{LOG} does not tell what changed in {version}: make changelog": told,
        "the templates are not kept for projects to be updated from: make template-release": is_released(),
    }
    return [message for message, is_done in done.items() if not is_done]


def write_distributions(out: Path, source: Path = CHECKOUT) -> list[Path]:
    """Replace what is in ``out`` by what a release hands out, and return the files."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    wheel = build(source, out)
    write_runtime(out)
    write_bill(wheel, out)
    return sorted(out.iterdir())


def _run(*words: str | Path, **variables: str) -> None:
    done = subprocess.run(
        [str(word) for word in words], env=os.environ | variables, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    tag = os.environ.get("MEMKIT_RELEASE")
    if tag and (missing := missing_for(tag)):
        sys.exit("".join(f"error: {message}\n" for message in missing))
    for path in write_distributions(CHECKOUT / "dist"):
        sys.stdout.write(f"{path.relative_to(CHECKOUT)}\n")
