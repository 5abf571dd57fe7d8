"""What files say is kept while they stay as they are, and only then."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.cli.main import run
from memkit.runtime.memory.log.clone import cache_folder
from memkit.store import layout
from memkit.store.layout import MANIFEST, parsed


@pytest.fixture(autouse=True)
def old_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files that a test has just written count as settled."""
    monkeypatch.setattr(layout, "SETTLED", -1)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder that is a store."""
    (tmp_path / MANIFEST).write_text("name: x\n")
    return tmp_path


class Reader:
    """Reads one file, and counts how often."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reads = 0

    def __call__(self, root: Path) -> Any:
        """Return the file's words as they are kept."""

        def read(_name: str) -> Any:
            self.reads += 1
            return self.path.read_text().split()

        return parsed(root, "words", {"one": self.path}, read)["one"]


def test_a_file_that_stays_is_read_once(root: Path) -> None:
    """The second process takes what the first one made of it."""
    read = Reader(root / "one")
    read.path.write_text("a b")

    assert [read(root), read(root)] == [["a", "b"]] * 2
    assert read.reads == 1


def test_a_change_that_keeps_size_and_time_is_read(root: Path) -> None:
    """Who sets the time back to what it was does not keep an old text in force."""
    read = Reader(root / "one")
    read.path.write_text("a b")
    before = read.path.stat()
    read(root)
    read.path.write_text("c d")
    os.utime(read.path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert read(root) == ["c", "d"]


def test_nothing_is_kept_of_a_file_that_may_still_change(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clocks of file systems are coarse: a further change could have the same time."""
    monkeypatch.setattr(layout, "SETTLED", 10**15)
    read = Reader(root / "one")
    read.path.write_text("a b")
    read(root)
    read(root)

    assert read.reads == 2


@pytest.mark.parametrize("content", ["{", "[]", '{"memkit": "0"}', '{"files": {"one": [[1], "forged"]}}'])
def test_what_is_no_cache_of_this_version_is_passed_over(content: str, root: Path) -> None:
    """Rubbish, or what another version of memkit kept, is read anew."""
    read = Reader(root / "one")
    read.path.write_text("a b")
    read(root)
    (cache_folder(root) / "words.json").write_text(content)

    assert read(root) == ["a", "b"]


def test_a_folder_that_is_no_store_gets_no_cache(tmp_path: Path) -> None:
    """The packaged policies are read where they lie, and nothing is written there."""
    read = Reader(tmp_path / "one")
    read.path.write_text("a b")
    read(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["one"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(), inner, max_size=3),
        max_leaves=8,
    )
)
def test_what_comes_back_is_what_was_read(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    """Data that JSON would change (a date, a number as a key) is not kept but read each time."""
    root = tmp_path_factory.mktemp("store")
    (root / MANIFEST).write_text("name: x\n")
    for _ in range(2):
        found = parsed(root, "data", {MANIFEST: root / MANIFEST}, lambda _: data)[MANIFEST]
        assert repr(found) == repr(data)


def test_a_policy_that_was_changed_decides_at_once(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cache never stands between a person's edit and the next call."""
    path = store / "policies" / "stop.yaml"
    text = "name: stop\ndescription: d\nrule: r\nenforcement: hard\neffect: {}\nmatch: {{tool: [send]}}\n"
    decided = []
    for effect in ("deny", "warn", "deny"):
        path.write_text(text.format(effect))
        for _ in range(2):
            run(["policy", "check", "--tool", "send", "--json", "--store", str(store)])
            decided.append(json.loads(capsys.readouterr().out)["data"]["decision"])

    assert decided == ["deny", "deny", "warn", "warn", "deny", "deny"]
