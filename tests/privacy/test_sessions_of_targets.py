"""What a generated project's framework keeps of a session goes with its user, and with nobody else."""

from __future__ import annotations

from pathlib import Path

from memkit.runtime.host.sessions import prepare_database, state_file
from memkit.runtime.memory.log.clone import state_folder
from tests.privacy.conftest import Ask


def session_of(store: Path, user: str, session: str) -> Path:
    """Keep a session as the targets do, in a database that names nobody, and return where."""
    path = state_file(state_folder(store) / "anyframework", user, session, ".sqlite")
    prepare_database(path)
    path.write_bytes(b"SQLite format 3\0" + b"masked" * 100)
    path.with_name(path.name + "-wal").write_bytes(b"masked")
    return path


def test_erasing_one_user_takes_their_sessions_and_leaves_those_of_others(peopled: Path, ask: Ask) -> None:
    """Sessions of the same name are told apart, also ones that nothing else in the store knows of."""
    alice, bob = (session_of(peopled, user, "one") for user in ("alice", "bob"))

    code, _ = ask("memory", "erase", "--user", "alice", "--yes")

    assert code == 0
    assert not alice.exists() and not alice.with_name(alice.name + "-wal").exists()
    assert bob.exists() and bob.with_name(bob.name + "-wal").exists()


def test_sessions_are_for_this_account_only(tmp_path: Path) -> None:
    """The file is made before anything is written into it."""
    assert session_of(tmp_path, "alice", "one").stat().st_mode & 0o077 == 0
