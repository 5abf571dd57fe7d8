"""Keys lie outside of the store, for one user of the machine only, and are made once."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.errors import EnvironmentFault, UsageError
from memkit.privacy.keys import KeyRing, KeysElsewhere
from memkit.store.allowances import allow_keys
from memkit.store.git import Git
from memkit.store.layout import keys_home


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder for keys that does not exist yet."""
    return tmp_path / "config" / "keys"


def mode(path: Path) -> int:
    """Return the permissions of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def test_a_store_without_keys_has_none_and_makes_none_unasked(store: Path, home: Path) -> None:
    """Asking changes nothing: neither a folder nor memkit.yaml."""
    before = (store / "memkit.yaml").read_bytes()
    ring = KeyRing(store, home)

    assert (ring.store_key(), ring.user_key("ada"), ring.mark("ada"), ring.users()) == (None, None, None, [])
    assert ring.destroy("ada") is False
    assert not home.exists()
    assert (store / "memkit.yaml").read_bytes() == before


def test_the_first_key_names_the_folder_in_memkit_yaml_with_one_commit(store: Path, home: Path) -> None:
    """Comments and order of memkit.yaml stay, and the change is committed."""
    comments = [line for line in (store / "memkit.yaml").read_text().splitlines() if line.startswith("#")]
    commits = len(Git(store).run("rev-list", "HEAD").split())
    ring = KeyRing(store, home)

    key = ring.user_key("ada", create=True)

    text = (store / "memkit.yaml").read_text()
    assert key is not None
    assert len(key) == 32
    assert f"key_id: {ring.key_id}" in text.replace("'", "").replace('"', "")
    assert [line for line in text.splitlines() if line.startswith("#")] == comments
    assert len(Git(store).run("rev-list", "HEAD").split()) == commits + 1
    assert not Git(store).run("status", "--porcelain")
    assert ring.user_key("ada") == key
    assert ring.store_key() not in (None, key)


def test_keys_are_for_this_user_of_the_machine_only(store: Path, home: Path) -> None:
    """Folders are 0700 and files 0600, whatever the umask is, and nothing is left beside."""
    before = os.umask(0)
    try:
        KeyRing(store, home).user_key("ada", create=True)
    finally:
        os.umask(before)

    folder = KeyRing(store, home).folder
    assert folder is not None
    assert (mode(home.parent), mode(home), mode(folder)) == (0o700, 0o700, 0o700)
    assert {mode(path) for path in folder.iterdir()} == {0o600}
    assert len(list(folder.iterdir())) == 2


def test_no_name_of_a_user_lies_on_the_disk(store: Path, home: Path) -> None:
    """Files are named by a keyed digest, and a name with a slash or a quote is as good as any."""
    ring = KeyRing(store, home)
    names = ["ada", "../../etc/passwd", 'o\'hara "x"', "\udcff", ""]

    keys = {name: ring.user_key(name, create=True) for name in names}

    assert len(set(keys.values())) == len(names)
    assert {ring.mark(name) for name in names} == set(ring.users())
    stored = [path.relative_to(home) for path in home.rglob("*")]
    assert all(len(path.parts) <= 2 for path in stored)
    assert not any("ada" in path.name and len(path.name) < 64 for path in stored)


def test_two_stores_of_one_machine_share_no_key(store: Path, home: Path, tmp_path: Path) -> None:
    """The key_id separates them, and a clone that may use the keys of its origin finds them."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "memkit.yaml").write_text("name: other\nformat: 1\n")
    clone = tmp_path / "clone"
    key = KeyRing(store, home).user_key("ada", create=True)
    subprocess.run(["git", "clone", "--quiet", str(store), str(clone)], check=True)

    assert KeyRing(other, home).user_key("ada", create=True) != key
    assert KeyRing(clone, home).user_key("ada") is None
    allow_keys(clone, str(KeyRing(store, home).key_id))
    assert KeyRing(clone, home).user_key("ada") == key


def test_a_store_whose_keys_are_elsewhere_makes_no_second_set(store: Path, home: Path, tmp_path: Path) -> None:
    """Two sets of keys for one store would never open each other's text, so it is said how to bring them."""
    KeyRing(store, home).store_key(create=True)
    away = KeyRing(store, tmp_path / "another-machine")

    assert (away.store_key(), away.user_key("ada"), away.users()) == (None, None, [])
    with pytest.raises(KeysElsewhere, match="memkit key import"):
        away.user_key("ada", create=True)


def test_a_destroyed_key_is_gone_and_a_new_one_is_another(store: Path, home: Path) -> None:
    """Destroying touches nobody else's key."""
    ring = KeyRing(store, home)
    ada, bob = ring.user_key("ada", create=True), ring.user_key("bob", create=True)

    assert ring.destroy("ada") is True

    assert (ring.user_key("ada"), ring.user_key("bob")) == (None, bob)
    assert ring.destroy("ada") is False
    assert ring.user_key("ada", create=True) not in (None, ada)


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=100).filter(lambda text: text not in ("~",)))
def test_a_hostile_key_id_names_no_path(tmp_path_factory: pytest.TempPathFactory, key_id: str) -> None:
    """What memkit.yaml says is a name of letters and digits, or it names nothing."""
    root = tmp_path_factory.mktemp("hostile")
    import json

    manifest = f"name: x\nformat: 1\nprivacy: {{key_id: {json.dumps('../' + key_id)}}}\n"
    (root / "memkit.yaml").write_text(manifest, encoding="utf-8")

    with pytest.raises(UsageError, match=r"memkit\.yaml"):
        _ = KeyRing(root, root.parent / "keys").folder


def test_keys_never_lie_inside_of_the_store(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git would take them along."""
    monkeypatch.setenv("MEMKIT_KEYS", str(store / "keys"))

    with pytest.raises(UsageError, match="inside the store"):
        KeyRing(store).store_key(create=True)


def test_the_home_of_keys_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MEMKIT_KEYS wins over XDG_CONFIG_HOME over the home folder; a relative path would depend on where one stands."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert keys_home() == tmp_path / ".config/memkit/keys"
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert keys_home() == tmp_path / ".config/memkit/keys"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert keys_home() == tmp_path / "xdg/memkit/keys"
    monkeypatch.setenv("MEMKIT_KEYS", str(tmp_path / "own"))
    assert keys_home() == tmp_path / "own"
    monkeypatch.setenv("MEMKIT_KEYS", "own")
    with pytest.raises(UsageError, match="absolute"):
        keys_home()


def test_processes_that_make_the_first_key_at_once_make_one(store: Path, home: Path) -> None:
    """Each reports the key that stays on the disk, and memkit.yaml gets one key_id in one commit."""
    program = (
        "import sys; from pathlib import Path; from memkit.privacy.keys import KeyRing;"
        f"ring = KeyRing(Path({str(store)!r}), Path({str(home)!r})); sys.stdin.readline();"
        "print(ring.user_key('ada', create=True).hex())"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()

    printed = {process.communicate(timeout=900)[0].strip() for process in started}

    key = KeyRing(store, home).user_key("ada")
    assert key is not None
    assert printed == {key.hex()}
    assert len([path for path in home.iterdir() if path.is_dir()]) == 1
    assert Git(store).run("log", "--format=%s").splitlines().count("Name the keys of this store") == 1


def test_a_key_that_cannot_be_named_is_not_made(store: Path, home: Path) -> None:
    """Without a commit of memkit.yaml nothing stays behind."""
    (store / ".git" / "MERGE_HEAD").write_text(Git(store).run("rev-parse", "HEAD"))

    with pytest.raises(EnvironmentFault, match="merge is in progress"):
        KeyRing(store, home).store_key(create=True)

    assert [path for path in home.iterdir() if path.is_dir()] == []
    assert KeyRing(store, home).key_id is None


def test_a_damaged_key_is_named_and_never_used(store: Path, home: Path) -> None:
    """Half a key would seal what nothing opens again."""
    ring = KeyRing(store, home)
    ring.store_key(create=True)
    assert ring.folder is not None
    (ring.folder / "store.key").write_bytes(b"short")

    with pytest.raises(EnvironmentFault, match="damaged"):
        ring.user_key("ada", create=True)


def test_a_link_in_place_of_a_key_is_not_followed(store: Path, home: Path, tmp_path: Path) -> None:
    """A key is a file of its own."""
    ring = KeyRing(store, home)
    ring.store_key(create=True)
    assert ring.folder is not None
    (ring.folder / "store.key").rename(tmp_path / "moved")
    (ring.folder / "store.key").symlink_to(tmp_path / "moved")

    with pytest.raises(EnvironmentFault, match="cannot be read"):
        ring.store_key()


def test_a_key_from_another_machine_is_added_and_never_replaces(store: Path, home: Path) -> None:
    """The same key again is no news, another one of the same name is an error."""
    ring = KeyRing(store, home)
    ring.user_key("ada", create=True)
    kept = ring.contents()
    mark = ring.mark("ada")
    assert mark is not None

    assert ring.add(mark, kept[mark]) is False
    with pytest.raises(EnvironmentFault, match="was left unchanged"):
        ring.add(mark, os.urandom(32))
    with pytest.raises(UsageError):
        ring.add("../store", os.urandom(32))
    assert ring.contents() == kept
    assert ring.add("0" * 64, kept[mark]) is True
