"""What a release tells of its changes: one file a change, gathered once, with links that hold where the log lies."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import memkit
from tests.written.changelog import FRAGMENTS, LOG, entries, fragments, gather, gathered, log_to_come

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")
LONG = 180


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a folder with a log and two changes."""
    (tmp_path / FRAGMENTS).mkdir()
    (tmp_path / FRAGMENTS / "README.md").write_text("# Changes\n")
    (tmp_path / FRAGMENTS / "late-lock.md").write_text("A lock\nwaits ([how](../docs/gate.md)).\n")
    (tmp_path / FRAGMENTS / "dates.md").write_text("- Dates are read.\n- Weeks,\n  too.\n")
    shutil.copy(ROOT / LOG, tmp_path)
    return tmp_path


def test_a_change_says_something_short_and_leads_somewhere() -> None:
    """A file is a few lines of text without a heading; its links hold from where it lies."""
    for path in fragments():
        text = path.read_text(encoding="utf-8")
        assert 3 <= len(text.split()) <= LONG, path.name
        assert not re.search(r"^#", text, re.M), path.name
        assert [link for link in LINK.findall(text) if not (path.parent / link).exists()] == [], path.name


def test_the_changes_lie_where_a_release_gathers_them() -> None:
    """A change that is told of under docs/ would be told to nobody."""
    assert not (ROOT / "docs" / "changes").exists()
    assert len(list(entries())) == len(fragments())


def test_a_release_tells_every_change_once_and_deletes_its_file(checkout: Path) -> None:
    """By its name, in one line, above what was released before; what people wrote about the version stays."""
    assert gather(checkout, date="2026-12-01") == 2

    log = (checkout / LOG).read_text(encoding="utf-8")
    assert f"## {memkit.__version__} (2026-12-01)\n\nThe first whole memkit" in log
    assert "\n- **Dates.** Dates are read. Weeks, too.\n- **Late lock.** A lock waits ([how](docs/gate.md)).\n" in log
    assert [path.name for path in (checkout / FRAGMENTS).iterdir()] == ["README.md"]
    with pytest.raises(ValueError, match="was released on 2026-12-01"):
        gather(checkout, date="2026-12-02")
    assert (checkout / LOG).read_text(encoding="utf-8") == log


def test_a_new_version_stands_above_the_older_ones(checkout: Path) -> None:
    """Whoever opens the log sees the newest first, and nothing that was told is lost."""
    gather(checkout, date="2026-12-01")
    older = (checkout / LOG).read_text(encoding="utf-8")

    log = gathered(older, "9.9.0", "2027-01-01", ["- **New.** Something."])

    assert re.findall(r"^## (\S+)", log, re.M) == ["9.9.0", memkit.__version__]
    assert log.endswith(older[older.index("## ") :])
    assert "## 9.9.0 (2027-01-01)\n\n- **New.** Something.\n\n## " in log


def test_a_change_that_says_nothing_stops_the_release(checkout: Path) -> None:
    """Its file would be deleted and nobody would know what it was; nothing is written."""
    (checkout / FRAGMENTS / "empty.md").write_text("- \n")
    before = (checkout / LOG).read_bytes()

    with pytest.raises(ValueError, match=r"empty\.md says nothing"):
        gather(checkout, date="2026-12-01")
    assert (checkout / LOG).read_bytes() == before and len(fragments(checkout)) == 3


def test_the_log_of_this_checkout_can_be_gathered() -> None:
    """A fragment that broke the format is found by its change, and not on the day of the release."""
    assert all(line in log_to_come() for line in entries())
