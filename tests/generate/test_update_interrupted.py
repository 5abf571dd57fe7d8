"""An update happens whole or not at all, whoever kills it, fills the disk or edits at the same time."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from edits import text_of
from projects import EJECTED, write_store
from releases import Line

from memkit.errors import EnvironmentFault, NegativeAnswer
from memkit.generate.composition import Order
from memkit.generate.content import content_of
from memkit.generate.manifest import ProjectFault
from memkit.generate.plugins import find_target
from memkit.generate.rendering import render
from memkit.generate.update import updates
from memkit.generate.update.merging import Merging, UpdatePlan
from memkit.runtime.memory.log.clone import state_folder
from memkit.use_cases.update_project import undo_update, update_project

FIRST = {f"agent/file{number}.md": text_of(number, ".md").encode() for number in range(5)}
SECOND = {
    "agent/file0.md": FIRST["agent/file0.md"] + b"theirs\n",
    "moved/file1.md": FIRST["agent/file1.md"] + b"theirs\n",
    "agent/file2.md": FIRST["agent/file2.md"],
    "agent/file4.md": FIRST["agent/file4.md"].replace(b"words of 4 and 3'", b"theirs'"),
    "new/folder/file5.md": b"theirs\n",
}

Files = dict[str, tuple[bytes, int]]


def files(folder: Path) -> Files:
    """Return content and mode of every file of a project, what memkit keeps for itself left out."""
    found = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {
        name: (path.read_bytes(), path.stat().st_mode)
        for name, path in found.items()
        if not name.startswith(".memkit/")
    }


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with edits, for which an update is due."""
    line = Line(tmp_path / "line", monkeypatch, FIRST)
    out = tmp_path / "project"
    render(Order(find_target("tiny"), content_of(write_store(tmp_path / "store")), {}, EJECTED), out)
    (out / "agent/file1.md").write_bytes(b"mine\n" + FIRST["agent/file1.md"])
    (out / "agent/file4.md").write_bytes(FIRST["agent/file4.md"].replace(b"words of 4 and 3'", b"mine'"))
    (out / "agent/file0.md").chmod(0o700)
    line.publish(SECOND)
    return out


def in_a_child(work: Callable[[], object]) -> int:
    """Do ``work`` in a process of its own and return how that ended: 0, or the signal that killed it."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - nothing of the test run may go on in the child
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else -os.WEXITSTATUS(status)


def die_after(steps: int, patch: pytest.MonkeyPatch) -> None:
    """Let the process be killed when it has changed the file system ``steps`` times."""
    left = steps

    def counted(change: Callable[..., object]) -> Callable[..., object]:
        def then(*arguments: object, **named: object) -> object:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return change(*arguments, **named)

        return then

    for name in ("replace", "unlink", "rmdir"):
        patch.setattr(Path, name, counted(getattr(Path, name)))


def test_a_kill_at_any_point_loses_nothing(project: Path, tmp_path: Path) -> None:
    """After a kill the next update ends where an update without one ends, and undo leads to where all began."""
    before = files(project)
    update_project(project)
    after = files(project)
    undo_update(project)
    assert files(project) == before
    killed = 0
    while True:
        with pytest.MonkeyPatch.context() as patch:

            def cut_off(steps: int = killed, patch: pytest.MonkeyPatch = patch) -> None:
                die_after(steps, patch)
                update_project(project)

            if in_a_child(cut_off) == 0:
                break
        killed += 1
        with suppress(NegativeAnswer):  # it had ended, and what it marked is not resolved
            update_project(project)
        assert files(project) == after
        undo_update(project)
        assert files(project) == before
    assert killed > 8 and files(project) == after


def test_a_kill_of_undo_loses_nothing(project: Path) -> None:
    """What a cut off undo began, the next command ends."""
    before = files(project)
    update_project(project)
    after = files(project)
    for steps in range(1, 9):
        with pytest.MonkeyPatch.context() as patch:

            def cut_off(steps: int = steps, patch: pytest.MonkeyPatch = patch) -> None:
                die_after(steps, patch)
                undo_update(project)

            assert in_a_child(cut_off) == signal.SIGKILL
        with pytest.raises(ProjectFault, match="interrupted"):
            undo_update(project)
        assert update_project(project).taken_back == ()
        assert files(project) == after
    undo_update(project)
    assert files(project) == before


def test_what_was_edited_after_a_kill_stays(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An update that was cut off is not taken back over newer edits, which are named; a dry run waits."""
    with pytest.MonkeyPatch.context() as patch:

        def cut_off() -> None:
            die_after(6, patch)
            update_project(project)

        assert in_a_child(cut_off) == signal.SIGKILL
    (project / "agent/file0.md").write_bytes(b"newer\n")
    left = files(project)

    with pytest.raises(ProjectFault, match="interrupted"):
        update_project(project, write=False)
    assert files(project) == left
    done = update_project(project)

    assert done.taken_back == ("agent/file0.md",)
    saved = state_folder(project) / "updates/0001/before/agent/file0.md"
    assert saved.read_bytes() == FIRST["agent/file0.md"]
    assert b"newer\n" in (project / "agent/file0.md").read_bytes()


@pytest.mark.parametrize("step", range(6))
def test_a_write_that_fails_changes_nothing(step: int, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk in the middle: everything is put back at once, and the line says what could not be written."""
    before = files(project)
    left, move = step, updates._move

    def fails(staged: Path, place: Path, mode: int) -> None:
        nonlocal left
        left -= 1
        if left == -1:
            raise OSError(28, "No space left on device", str(place))
        move(staged, place, mode)

    monkeypatch.setattr(updates, "_move", fails)
    if step == 5:
        monkeypatch.setattr(updates, "write_whole", _full)
    with pytest.raises(EnvironmentFault, match="No space left"):
        update_project(project)

    assert files(project) == before
    monkeypatch.undo()


def _full(path: Path, content: bytes, *, mode: int = 0) -> None:
    raise EnvironmentFault(f"{path} cannot be written: No space left on device.")


def test_an_edit_while_the_update_is_made_up_is_not_overwritten(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files are compared once more before the first is changed."""
    made_up = Merging.plan

    def plan(merging: Merging) -> UpdatePlan:
        made = made_up(merging)
        (project / "agent/file0.md").write_bytes(b"just now\n")
        return made

    monkeypatch.setattr(Merging, "plan", plan)
    before = files(project) | {"agent/file0.md": (b"just now\n", 0o100700)}

    with pytest.raises(EnvironmentFault, match=r"agent/file0.md changed"):
        update_project(project)

    assert files(project) == before


@pytest.mark.parametrize("step", [0, 2])
def test_an_edit_while_files_are_staged_is_not_overwritten(
    step: int, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file is compared once more right before it is replaced, and what was replaced already is put back."""
    before, left, move = files(project), step, updates._move
    edited = "agent/file4.md"

    def synced() -> None:
        (project / edited).write_bytes(b"just now\n")

    def moves(staged: Path, place: Path, mode: int) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            (project / edited).write_bytes(b"just now\n")
        move(staged, place, mode)

    monkeypatch.setattr(*((os, "sync", synced) if step == 0 else (updates, "_move", moves)))

    with pytest.raises(EnvironmentFault, match=f"{edited} changed"):
        update_project(project)

    assert files(project) == before | {edited: (b"just now\n", before[edited][1])}
    saved = state_folder(project) / "updates/0001/before" / edited
    assert saved.read_bytes() == before[edited][0]


@pytest.mark.parametrize(
    ("path", "now"),
    [("../outside.md", None), ("link/outside.md", {"digest": "link is a link", "mode": 0})],
    ids=["a path", "a link"],
)
def test_a_journal_that_no_update_wrote_moves_nothing_out_of_the_project(
    path: str, now: dict[str, object] | None, project: Path, tmp_path: Path
) -> None:
    """A project may come from anybody, and its folder of updates with it."""
    outside = tmp_path / "outside.md"
    (project / "link").symlink_to(tmp_path)
    folder = state_folder(project) / "updates/0001"
    saved = folder / "before" / path
    saved.parent.mkdir(parents=True, exist_ok=True)
    saved.write_bytes(b"theirs\n")
    before = {"digest": hashlib.sha256(b"theirs\n").hexdigest(), "mode": 0o644}
    step = {"path": path, "before": before, "after": now}
    data = {"versions": ["1", "2"], "steps": [step], "under_way": True}
    (folder / "journal.json").write_text(json.dumps(data))

    for work in (update_project, undo_update):
        with pytest.raises(EnvironmentFault, match=r"journal\.json cannot be read"):
            work(project)

    assert not outside.exists()


@pytest.mark.parametrize("text", ["", "[]", '{"versions": ["1", "2"], "steps": [{"path": 7}], "under_way": true}'])
def test_a_journal_that_is_damaged_says_where_the_files_are(text: str, project: Path) -> None:
    """Nothing is guessed; the line names the folder, and without it all goes on."""
    before = files(project)
    update_project(project)
    folder = state_folder(project) / "updates/0001"
    (folder / "journal.json").write_text(text)

    with pytest.raises(EnvironmentFault, match=f"are in {folder}: copy what you need, delete it"):
        undo_update(project)

    assert (folder / "before/agent/file0.md").read_bytes() == before["agent/file0.md"][0]


def test_two_updates_at_once_are_one(project: Path) -> None:
    """However they meet, the files end as one update leaves them."""
    update_project(project)
    after = files(project)
    undo_update(project)
    for _ in range(3):
        children = []
        for _ in range(3):
            child = os.fork()
            if child == 0:
                try:
                    update_project(project)
                except EnvironmentFault:
                    os._exit(3)
                except BaseException:  # noqa: BLE001 - nothing of the test run may go on in the child
                    os._exit(1)
                os._exit(0)
            children.append(child)
        codes = [os.WEXITSTATUS(os.waitpid(child, 0)[1]) for child in children]
        assert 0 in codes
        assert files(project) == after
        undo_update(project)


def test_files_stay_whose_they_are(project: Path) -> None:
    """Root may update what belongs to somebody else, and it still belongs to them."""
    owner = 12345 if os.geteuid() == 0 else os.geteuid()
    if os.geteuid() == 0:
        for path in [project, *project.rglob("*")]:
            os.chown(path, owner, -1)

    update_project(project)

    assert {path.stat().st_uid for path in project.rglob("*") if path.is_file() and ".memkit" not in path.parts} == {
        owner
    }
    undo_update(project)
    assert {path.stat().st_uid for path in project.rglob("*") if path.is_file() and ".memkit" not in path.parts} == {
        owner
    }


def test_only_the_last_updates_can_be_taken_back(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is saved does not grow without end."""
    line = Line(tmp_path / "other line", monkeypatch, FIRST)
    out = tmp_path / "other"
    render(Order(find_target("tiny"), content_of(tmp_path / "store"), {}, EJECTED), out)
    for number in range(updates.KEPT + 2):
        line.publish({**FIRST, "agent/file0.md": b"%d\n" % number})
        update_project(out)

    kept = sorted(path.name for path in (state_folder(out) / "updates").iterdir() if path.is_dir())
    assert kept == [f"{number:04d}" for number in range(3, updates.KEPT + 3)]
