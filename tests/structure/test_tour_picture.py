"""The picture of the README shows what the commands say today."""

from __future__ import annotations

from tests.written.tour_picture import PICTURE, tour_picture


def test_the_picture_is_what_a_run_draws() -> None:
    """``python -m tests.written.tour_picture`` draws it anew."""
    assert tour_picture() == PICTURE.read_text(encoding="utf-8")
