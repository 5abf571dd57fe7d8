"""A container around the fork server: a bundle made for one sandbox, started by a runtime of this machine.

The supported runtimes start a bundle of files from the command line, according to the Open Container Initiative's
runtime specification; Docker and Podman include one each. No image and no daemon is involved.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.runtime.host.terminal import one_line

from .bare.jail import layout
from .interface import SandboxUnavailable

RUNTIMES: Mapping[str, tuple[str, ...]] = {
    "runc": (),
    "crun": ("--cgroup-manager=disabled",),  # it would ask systemd for a group that limits nothing here
}
"""The supported runtimes → their options."""
_PLACES = ("/usr/sbin", "/usr/local/sbin", "/sbin")
"""Folders of runtimes that may not be on a user's search path."""
INSIDE = "/memkit"
"""The folder that contains ``bare`` inside the container."""
PLACE_INSIDE = f"{INSIDE}/place"
_LISTENER, _CONTROL = 3, 4
_CAPABILITIES: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("bounding", "permitted", "effective"), ("CAP_SETFCAP",)),
    **dict.fromkeys(("inheritable", "ambient"), ()),
}
"""Only the one that the kernel requires to create another user namespace, in which programs then live. It is the
fork server's; programs drop it like all others."""
_PROC = {
    "destination": "/proc", "type": "proc", "source": "proc",
    "options": ["nosuid", "nodev", "noexec", "hidepid=4", "subset=pid"],
}  # fmt: skip
"""Processes only, and of those only what a program may see: itself."""
_LOADER_CACHE = "/etc/ld.so.cache"
_WARDEN = "import sys; sys.path.append({bare!r}); from bare.warden import main; main(*{given!r})"
_PROBE = "import sys; sys.path.append({bare!r}); from bare.libraries import main; main({owner}, {modules!r})"
_PATIENCE = 60.0


@dataclass(frozen=True)
class ContainerRuntime:
    """A runtime of this machine."""

    name: str
    path: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def find_runtime(name: str) -> ContainerRuntime:
    """Return a runtime by name.

    Raises:
        UsageError: If memkit does not support it.
        SandboxUnavailable: If it is not installed, or cannot be run.
    """
    if name not in RUNTIMES:
        raise UsageError(f"{name!r:.80} is not a container runtime that memkit can start; it starts {_known()}.")
    path = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", os.defpath), *_PLACES]))
    if path is None:
        raise SandboxUnavailable(f"The container runtime {name} is not installed (memkit starts {_known()}).")
    try:
        told = subprocess.run([path, "--version"], capture_output=True, text=True, check=True, timeout=_PATIENCE).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxUnavailable(f"The container runtime {path} cannot be run: {one_line(str(error), 200)}.") from None
    words = told.split("\n", 1)[0].split()
    return ContainerRuntime(name, path, words[-1] if words else "of unknown version")


def _known() -> str:
    return " and ".join(RUNTIMES)


@dataclass(frozen=True)
class Bundle:
    """The parts of one container."""

    folder: Path
    """The sandbox's own folder, which is removed with the container."""
    bare: Path
    """The package that runs inside, and contains the warden that runs outside."""
    interpreter: Sequence[str]
    environment: Mapping[str, str]
    """The fork server's whole environment."""
    config: Mapping[str, Any]
    """The fork server's configuration, with paths as inside the container."""

    def start(self, runtime: ContainerRuntime, boot: str, sockets: tuple[int, int]) -> subprocess.Popen[bytes]:
        """Start the fork server in a container, under a warden that ends with this process.

        Raises:
            UsageError: If the root folder is granted.
            SandboxUnavailable: If the interpreter's requirements cannot be determined.
        """
        for place in (PLACE_INSIDE, "/dev"):
            (self.folder / "bundle" / "rootfs" / place.lstrip("/")).mkdir(parents=True)
        code = boot.format(folder=INSIDE, listener=_LISTENER, control=_CONTROL)
        specification = json.dumps(self._specification(code))
        (self.folder / "bundle" / "config.json").write_text(specification, encoding="utf-8")
        command = [runtime.path, "--root", str(self.folder / "state"), *RUNTIMES[runtime.name]]
        given = (command, self.folder.name, str(self.folder), sockets)
        return subprocess.Popen(
            [*self.interpreter, "-c", _WARDEN.format(bare=str(self.bare.parent), given=given)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={"PATH": os.environ.get("PATH", os.defpath)},
            cwd="/",
            pass_fds=sockets,
            start_new_session=True,
        )

    def _specification(self, code: str) -> dict[str, Any]:
        """Return the runtime's configuration: one user, namespaces, no rights, and only mounts of the machine."""
        kinds = ("user", "pid", "network", "ipc", "uts", "mount")
        return {
            "ociVersion": "1.0.0",
            "process": {
                "terminal": False,
                "user": {"uid": 0, "gid": 0},
                "args": [os.path.realpath(self.interpreter[0]), *self.interpreter[1:], "-c", code],
                "env": [f"{name}={value}" for name, value in self.environment.items()],
                "cwd": "/",
                "capabilities": _CAPABILITIES,
                "noNewPrivileges": True,
            },
            "root": {"path": "rootfs", "readonly": True},
            "hostname": "sandbox",
            "mounts": [_PROC, *self._mounts()],
            "linux": {
                "namespaces": [{"type": kind} for kind in kinds],
                "uidMappings": [{"containerID": 0, "hostID": os.geteuid(), "size": 1}],
                "gidMappings": [{"containerID": 0, "hostID": os.getegid(), "size": 1}],
            },
        }

    def _mounts(self) -> Iterator[dict[str, Any]]:
        """Yield the mounts of the grants, and of what the interpreter needs besides."""
        config = self.config
        granted = [*config["readable"], *config["library"]]
        if "/" in granted:
            raise UsageError("A task whose programs run in a container cannot grant /; name what they need.")
        for path, is_granted in layout(granted, config["hidden"]):
            yield _bound(path) if is_granted else _covered(path)
        modules = tuple((name, folder) for name, folder in config["modules"])
        libraries = _libraries(tuple(self.interpreter), tuple(self.environment.items()), self.bare.parent, modules)
        for path in dict.fromkeys((os.path.realpath(self.interpreter[0]), *libraries, _LOADER_CACHE)):
            if Path(path).exists() and not any(path.startswith(f"{folder}/") for folder in granted):
                yield _bound(path)
        yield _bound(str(self.bare), f"{INSIDE}/{self.bare.name}")


def _bound(source: str, destination: str = "") -> dict[str, Any]:
    """Return a read-only mount of a file or folder of the machine."""
    return {
        "destination": destination or source,
        "type": "bind",
        "source": os.path.realpath(source),
        "options": ["rbind", "ro", "nosuid", "nodev"],
    }


def _covered(path: str) -> dict[str, Any]:
    """Return an empty folder over ``path``; not read-only, because grants inside it need a place there."""
    options = ["nosuid", "nodev", "noexec", "size=1m", "nr_inodes=4096", "mode=755"]
    return {"destination": path, "type": "tmpfs", "source": "tmpfs", "options": options}


@cache
def _libraries(
    interpreter: tuple[str, ...],
    environment: tuple[tuple[str, str], ...],
    bare: Path,
    modules: tuple[tuple[str, str], ...],
) -> tuple[str, ...]:
    """Return the libraries that the interpreter and granted modules load.

    Raises:
        SandboxUnavailable: If the interpreter does not start, or does not return.
    """
    command = [*interpreter, "-c", _PROBE.format(bare=str(bare), owner=os.getpid(), modules=list(modules))]
    try:
        told = subprocess.run(
            command, env=dict(environment), cwd="/", capture_output=True, check=True, timeout=_PATIENCE
        )
    except (OSError, subprocess.SubprocessError) as error:
        why = one_line(str(error), 200)
        raise SandboxUnavailable(f"What {interpreter[0]} needs in a container cannot be determined: {why}.") from None
    return tuple(os.fsdecode(told.stdout).splitlines())
