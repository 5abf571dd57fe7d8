"""What is handed out for a release: nothing before the checkout is what its tag promises, and the same bytes twice."""

from __future__ import annotations

from pathlib import Path

import memkit
from tests.written.changelog import FRAGMENTS, LOG, gather
from tests.written.distributions import missing_for


def test_a_tag_of_another_version_and_untold_changes_stop_a_release(tmp_path: Path) -> None:
    """Each is a line that says what to do; a checkout that tells its changes under its version has neither."""
    (tmp_path / FRAGMENTS).mkdir()
    (tmp_path / FRAGMENTS / "one.md").write_text("One thing changed.\n")
    (tmp_path / LOG).write_text("# Changes\n")
    tag = f"v{memkit.__version__}"

    untold = missing_for(tag, tmp_path)
    other = missing_for("v99.0", tmp_path)
    gather(tmp_path, date="2026-12-01")
    told = missing_for(tag, tmp_path)

    assert [line for line in untold if LOG in line] == [line for line in other if LOG in line] != []
    assert any(line.startswith("the tag is v99.0") for line in other)
    assert not any("tag" in line.split(":")[0] or LOG in line for line in told)
