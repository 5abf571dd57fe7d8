"""Write the page of the settings.

``python -m tests.written.settings_page`` rewrites ``docs/settings.md`` of the checkout.
"""

from __future__ import annotations

import json
from pathlib import Path

from memkit.store.manifest import meanings

from . import CHECKOUT

INTRODUCTION = (
    "# Settings",
    "",
    "Everything that `memkit.yaml` may contain. A flag overrides a variable (`MEMKIT_CONTEXT_MAX_TOKENS` for",
    "`context.max_tokens`), a variable overrides `memkit.yaml`, and that overrides the default. `memkit config",
    "show` prints each value in effect and its source, `memkit config show KEY` what a setting means; `memkit",
    "config set KEY VALUE` changes it in one commit, and `memkit config unset KEY` restores the default. `make",
    "outputs` writes this page from the schema of `memkit.yaml` and the defaults.",
    "",
)


def settings_page() -> str:
    """Return the page of all settings, in Markdown."""
    rows = [
        f"| `{one.key}` | {one.meaning} | {one.takes} | `{json.dumps(one.default, ensure_ascii=False)}` |"
        for one in meanings()
    ]
    return "\n".join([*INTRODUCTION, "| setting | meaning | values | default |", "|---|---|---|---|", *rows, ""])


def write_settings_page(out: Path) -> Path:
    """Write what every setting means, and return the path."""
    path = out / "settings.md"
    path.write_text(settings_page(), encoding="utf-8")
    return path


if __name__ == "__main__":
    write_settings_page(CHECKOUT / "docs")
