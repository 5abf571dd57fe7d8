"""Write the page of the settings.

``python -m tests.written.settings_page`` rewrites ``docs/settings.md`` of the checkout.
"""

from __future__ import annotations

from pathlib import Path

from memkit.store.manifest import settings_page

from . import CHECKOUT


def write_settings_page(out: Path) -> Path:
    """Write what every setting means, and return the path."""
    path = out / "settings.md"
    path.write_text(settings_page(), encoding="utf-8")
    return path


if __name__ == "__main__":
    write_settings_page(CHECKOUT / "docs")
