"""``memkit doctor`` says what is open that should be closed, and what cannot be read or kept out here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from memkit.privacy import sealer
from memkit.privacy.keys import KeyRing
from memkit.runtime.memory.log.clone import cache_folder
from memkit.store import layout
from memkit.store.config import read_manifest
from tests.privacy.conftest import Ask


def check(ask: Ask, name: str) -> tuple[bool, str]:
    """Return what doctor says about one thing."""
    found = {check["name"]: check for check in ask("doctor")[1]["data"]["checks"]}[name]
    return found["ok"], found["detail"]


def test_a_fresh_store_is_private(store: Path, ask: Ask) -> None:
    """The state of this machine is for this user, and the index is said to be clear text."""
    ask("memory", "add", "Ada drinks tea", "--user", "ada")

    assert check(ask, "keys") == (True, "none yet: the first one is created when needed")
    assert check(ask, "sealing")[0] is True
    ok, detail = check(ask, "index privacy")
    assert ok
    assert "clear text" in detail
    assert (store / ".memkit").stat().st_mode & 0o077 == 0


def test_a_full_disk_is_no_place_to_write(store: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every folder may be written there, and no line fits."""
    usage = shutil.disk_usage(store)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=4096))

    ok, detail = check(ask, "writing")

    assert not ok
    assert detail == f"the disk of {store} is full: nothing can be remembered until there is room"


def test_a_store_is_private_whatever_was_run_first(store: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that only read its settings make the folder too."""
    monkeypatch.setattr(layout, "SETTLED", 0)  # also of a file that was written a moment ago
    shutil.rmtree(store / ".memkit", ignore_errors=True)
    read_manifest(store)
    assert (cache_folder(store) / "manifest.json").is_file()

    ask("memory", "add", "Ada drinks tea", "--user", "ada")

    assert check(ask, "index privacy")[0]


def test_keys_that_others_can_read_are_named(sealing: Path, ask: Ask) -> None:
    """With the command that closes them."""
    ask("memory", "add", "Ada drinks tea", "--user", "ada")
    folder = KeyRing(sealing).folder
    assert folder is not None
    assert check(ask, "keys")[0] is True
    (folder / "store.key").chmod(0o640)

    ok, detail = check(ask, "keys")

    assert not ok
    assert "chmod -R go=" in detail


def test_keys_that_are_elsewhere_are_named_with_what_follows(
    sealing: Path, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many lines cannot be read, and how to bring the keys."""
    ask("memory", "add", "Ada drinks tea", "--user", "ada")
    monkeypatch.setenv("MEMKIT_KEYS", str(tmp_path / "none"))

    assert check(ask, "keys")[0] is False
    ok, detail = check(ask, "sealed text")
    assert not ok
    assert detail.startswith("1 line is ")
    assert ask("doctor")[0] == 1


def test_keys_inside_of_the_store_are_named(sealing: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git would take them along."""
    ask("memory", "add", "Ada drinks tea", "--user", "ada")
    monkeypatch.setenv("MEMKIT_KEYS", str(sealing / "keys"))

    ok, detail = check(ask, "keys")

    assert not ok
    assert "inside the store" in detail


def test_clear_text_from_before_sealing_is_counted(store: Path, ask: Ask) -> None:
    """It is a finding when a remote may have it."""
    ask("memory", "add", "Ada drinks tea", "--user", "ada")
    ask("config", "set", "privacy.seal", "user")
    ask("memory", "add", "Ada plays chess", "--user", "ada")

    ok, detail = check(ask, "sealing")
    assert ok
    assert "1 line from before" in detail

    subprocess.run(["git", "-C", str(store), "remote", "add", "hub", "https://example.org/x.git"], check=True)
    ok, detail = check(ask, "sealing")
    assert not ok
    assert "hub" in detail


def test_sealing_without_its_library_is_named(sealing: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the extra to install."""
    monkeypatch.setattr(sealer, "has_cryptography", lambda: False)

    ok, detail = check(ask, "sealing")

    assert not ok
    assert "memkit-agent[sealing]" in detail


def test_state_that_others_can_read_is_named(store: Path, ask: Ask) -> None:
    """An old store's folder may be open; it is closed when the store is opened, where it is this user's to close."""
    ask("memory", "add", "Ada drinks tea", "--user", "ada")
    (store / ".memkit").chmod(0o755)
    next((cache_folder(store)).rglob("*.sqlite")).chmod(0o644)
    _, ok, detail = sealer.examined_state(store / ".memkit", seals=False)
    assert not ok
    assert "chmod -R go=" in detail

    ok, _ = check(ask, "index privacy")

    assert ok
    assert (store / ".memkit").stat().st_mode & 0o777 == 0o700
