"""``memkit gen`` given what it cannot use: one clear line, the right exit code, nothing left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memkit.cli.main import run

GEN = [sys.executable, "-m", "memkit", "gen", "--target", "react"]
POWERLESS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
"""What runs like this may write only where its user may, even where that is root."""


def told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Run ``gen`` and return its exit code and its one line."""
    capsys.readouterr()
    code = run(["gen", *arguments])
    printed = capsys.readouterr()
    (line,) = printed.err.splitlines()
    assert printed.out == "" and line.startswith("memkit: ")
    return code, line


def everything(folder: Path) -> dict[str, bytes | str | None]:
    """Return every path below a folder with what it holds."""
    found: dict[str, bytes | str | None] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        found[name] = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return found


def ended(command: list[str], **how: object) -> subprocess.CompletedProcess[str]:
    """Run a command line as a process to its end."""
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=900, **how)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("policies/bad.yaml", "name: bad\nrule: [\n", "policies/bad.yaml:3:1"),
        ("policies/bad.yaml", "name: bad\ndescription: x\n", "policies/bad.yaml:1:1"),
        ("policies/bad.yaml", "name: other\ndescription: x\nrule: x\nenforcement: soft\neffect: warn\n", "'other'"),
        ("policies/bad.yaml", "name: bad\neffekt: warn\n", "policies/bad.yaml:"),
        ("policies/bad.yaml", "name: bad\nname: bad\n", "policies/bad.yaml:2:1"),
        ("policies/bad.yaml", "\x00\x01", "policies/bad.yaml"),
        ("policies/bad.yaml", b"\xff\xfe\xfa", "policies/bad.yaml"),
        ("policies/bad.yaml", "a: " + "[" * 3000, "policies/bad.yaml"),
        ("policies/bad.yaml", "", "policies/bad.yaml"),
        ("skills/bad.yaml", "name: bad\n", "skills/bad.yaml"),
        ("domains/bad.yaml", "name: bad\ntasks: 7\n", "domains/bad.yaml"),
        ("memkit.yaml", "name: [\n", "memkit.yaml"),
        ("memkit.yaml", "name: demo\nformat: 99\n", "memkit.yaml"),
        ("memkit.yaml", "name: demo\nformat: 1\nwrite: {min_confidense: 1}\n", "min_confidence"),
    ],
)
def test_a_broken_file_of_the_store_is_named(
    file: str, content: str | bytes, words: str, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Gen refuses what does not load, and says where; lint would find the rest."""
    (store / file).write_bytes(content if isinstance(content, bytes) else content.encode())

    code, line = told(["--target", "react", "--store", str(store), "--out", str(tmp_path / "out")], capsys)

    assert code in (2, 3) and words in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["full", "file", "dangling", "loop", "full behind a link", "below a file", "long"])
def test_a_place_that_cannot_be_used_is_left_alone(
    kind: str, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is there stays as it is, to the byte."""
    places = tmp_path / "places"
    (places / "full").mkdir(parents=True)
    (places / "full" / "mine.txt").write_text("mine")
    (places / "file").write_text("mine")
    (places / "dangling").symlink_to("nowhere")
    (places / "loop").symlink_to("loop")
    (places / "full behind a link").symlink_to("full")
    before = everything(places)
    names = {"below a file": "file/out", "long": "x" * 300}

    code, line = told(
        ["--target", "react", "--store", str(store), "--out", str(places / names.get(kind, kind))], capsys
    )

    assert code in (2, 3) and len(line) < 600
    assert everything(places) == before


def test_the_store_itself_is_no_place(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A project is not written over the store that it is made from; only the cache may be new."""
    before = everything(store)

    assert told(["--target", "react", "--store", str(store), "--out", str(store)], capsys)[0] == 2
    after = everything(store)
    assert {path: content for path, content in after.items() if path.partition("/")[0] != ".memkit"} == before


def test_an_empty_folder_stays_the_one_it_is(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its permissions, and the link that leads to it, are its owner's."""
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir(mode=0o700)
    link.symlink_to(real)
    inode = real.stat().st_ino

    assert run(["gen", "--target", "react", "--store", str(store), "--out", str(link)]) == 0

    assert link.is_symlink() and (real.stat().st_ino, real.stat().st_mode & 0o777) == (inode, 0o700)
    assert (link / "README.md").is_file() and not list(real.glob(".memkit-gen-?*"))


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """Return a folder on another file system than the tests' own, if there is one."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None))
    yield folder
    shutil.rmtree(folder)


def test_another_file_system_is_fine(store: Path, elsewhere: Path) -> None:
    """Nothing is moved from one file system to another."""
    assert run(["gen", "--target", "react", "--store", str(store), "--out", str(elsewhere / "new" / "agent")]) == 0
    assert run(["gen", "--target", "react", "--store", str(store), "--out", str(elsewhere / "new" / "agent2")]) == 0

    assert sorted(path.name for path in (elsewhere / "new").iterdir()) == ["agent", "agent2"]


def test_a_folder_that_may_not_be_written_is_said(store: Path, tmp_path: Path) -> None:
    """One line, exit code 3, and the folder is as empty as before."""
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    powerless = POWERLESS if os.geteuid() == 0 else []

    for out in (locked, locked / "new"):
        done = ended([*powerless, *GEN, "--store", str(store), "--out", str(out)])
        assert done.returncode == 3, done.stderr
        assert done.stderr.count("\n") == 1 and "Permission denied" in done.stderr
    assert not list(locked.iterdir())


def can_mount() -> bool:
    """Return whether this machine lets its user mount a file system of his own."""
    if not shutil.which("unshare"):
        return False
    return ended(["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="this kernel does not let its user mount a disk")
def test_a_full_disk_is_said_and_stays_clean(store: Path, tmp_path: Path) -> None:
    """On a disk with room for half a project: one line, exit code 3, and nothing of it is left."""
    disk = tmp_path / "disk"
    disk.mkdir()
    script = (
        f"mount -t tmpfs -o size=700k tmpfs '{disk}' && cd '{disk}' || exit 99\n"
        'for out in "$PWD" "$PWD/agent"; do "$@" --out "$out"; echo "exit $?"; ls -A; done'
    )

    done = ended(["unshare", "-rm", "sh", "-c", script, "sh", *GEN, "--store", str(store)])

    assert done.stdout.split("\n") == ["exit 3", "exit 3", ""], done.stdout + done.stderr
    assert done.stderr.count("\n") == 2 and done.stderr.count("No space left on device") == 2


@pytest.mark.skipif(not can_mount(), reason="this kernel does not let its user mount a disk")
def test_the_root_of_a_mounted_disk_is_a_place(store: Path, tmp_path: Path) -> None:
    """A volume cannot be replaced by a folder, so what is made goes into it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    script = f"mount -t tmpfs -o size=20m tmpfs '{disk}' && cd / && \"$@\" && ls -A '{disk}'"

    done = ended(["unshare", "-rm", "sh", "-c", script, "sh", *GEN, "--store", str(store), "--out", str(disk)])

    assert done.returncode == 0, done.stderr
    assert "agent" in done.stdout.split() and ".memkit-gen-" not in done.stdout.replace(".memkit-gen-json", "")


@pytest.mark.parametrize("existing", [False, True], ids=["new folder", "empty folder"])
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda sign: sign.name)
def test_a_killed_run_leaves_no_project(sign: signal.Signals, existing: bool, store: Path, tmp_path: Path) -> None:
    """Whenever it ends, there is no half of one; the next run works and clears up what was left beside it."""
    place = tmp_path / "place"
    out = place / "agent"
    (out if existing else place).mkdir(parents=True)
    command = [*GEN, "--store", str(store), "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while process.poll() is None and not list(place.rglob(".memkit-gen-*/project/agent/*")):
        time.sleep(0.001)
    process.send_signal(sign)
    process.communicate(timeout=900)

    assert process.returncode in (-sign, 130)
    assert not (out / "README.md").exists()
    assert sign != signal.SIGINT or [path.name for path in place.rglob("*")] == (["agent"] if existing else [])
    done = ended(command)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in place.iterdir()] == ["agent"]
    assert [path.name for path in out.glob(".memkit-gen*")] == [".memkit-gen.json"]


def test_two_runs_for_one_place_give_one_project(store: Path, tmp_path: Path) -> None:
    """One of them renders it, and the other is told that the place is taken."""
    out = tmp_path / "place" / "agent"
    command = [*GEN, "--store", str(store), "--out", str(out), "--json"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    envelopes = [json.loads(process.communicate(timeout=900)[0]) for process in both]

    won = [envelope for envelope in envelopes if envelope["ok"]]
    assert len(won) == 1 and sorted(process.returncode for process in both)[0] == 0
    assert sorted(path for path, content in everything(out).items() if content is not None) == won[0]["data"]["files"]
    assert [path.name for path in out.parent.iterdir()] == ["agent"]


@pytest.mark.parametrize(
    "text", ["modle=x", "model=", "model=\x07", "=x", "model", "model= ", "Model=x", "model=" + "x" * 2001]
)
def test_an_answer_that_does_not_fit_is_told(
    text: str, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and the nearest key where one is near."""
    line = ["--target", "react", "--store", str(store), "--out", str(tmp_path / "out"), "--data", text]

    code, said = told(line, capsys)

    assert code == 2 and ("Did you mean 'model'" in said) is (text == "modle=x")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("folder", ["policies", "skills", "domains"])
def test_a_folder_that_cannot_be_read_is_not_an_empty_one(starters: Path, tmp_path: Path, folder: str) -> None:
    """A project without the store's policies would allow everything, and a clean lint would hide it."""
    powerless = POWERLESS if os.geteuid() == 0 else []
    (starters / folder).chmod(0)

    rendered = ended([*powerless, *GEN, "--store", str(starters), "--out", str(tmp_path / "agent")])
    linted = ended([*powerless, sys.executable, "-m", "memkit", "lint", "--store", str(starters)])
    (starters / folder).chmod(0o755)

    assert (rendered.returncode, linted.returncode) == (2, 3), (rendered.stderr, linted.stdout)
    assert rendered.stderr == f"memkit: {starters / folder} cannot be read: Permission denied.\n"
    assert linted.stderr == f"memkit: {starters / folder} cannot be read: Permission denied.\n"
    assert not (tmp_path / "agent").exists()
