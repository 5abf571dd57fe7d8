"""What an erasure attests: what was removed, where nothing was found, what cannot be known; no name and no text."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.privacy.needles import RUN
from memkit.privacy.scan import Place

METHOD = (
    "Every object of the history that held something was made anew, beside the old repository, and took its place.",
    f"Then every object, ref and file was read again for runs of {RUN} letters, values and the name out of what was"
    " removed, in UTF-8, UTF-16, JSON escapes, base64, hex and URL encoding, and inside of zlib and gzip.",
)
NOT_SCANNED = (
    "backups, snapshots and copies of this folder made elsewhere",
    "free blocks of the disk: an SSD may keep what was deleted until it reuses the block",
    "virtual environments, node_modules; other repositories and large files (lfs) are named where there are any",
    "who wrote commits and tags: names of authors are kept, unless they quote a text",
)


WENT_WITH_KEY = "it only ever had the texts sealed, and their key is destroyed; dates and the user's name stay there"


def person_digest(key: bytes, user_id: str) -> str:
    """Return what the certificate calls a person: nobody without the store's key can find the name."""
    return hmac.digest(key, b"certificate\0" + user_id.encode("utf-8", "surrogatepass"), "sha256").hex()


@dataclass(frozen=True)
class Certificate:
    """What is attested of one erasure."""

    digest: str
    """Who it was, as ``person_digest`` calls them."""
    at: datetime
    versions: Mapping[str, str]
    """Of the programs that took part."""
    heads: Mapping[str, str | None]
    """The commit that was checked out before and after."""
    removed: Mapping[str, int]
    searched: Mapping[str, int]
    """How many traces of each kind were looked for."""
    scanned: Sequence[Place]
    unprovable: Sequence[Mapping[str, str]]
    """What is left, and to whom."""
    sealed_copies: Sequence[str]
    """Remotes that went with the key."""
    tombstones: Mapping[str, Any]

    def to_data(self) -> dict[str, Any]:
        """Return it as it is written."""
        traces = sum(place.traces for place in self.scanned)
        places = [{"place": place.place, "items": place.items, "traces": place.traces} for place in self.scanned]
        return {
            "schema": "memkit.certificate/1",
            "user": self.digest,
            "at": self.at.isoformat().replace("+00:00", "Z"),
            "versions": dict(self.versions),
            "heads": dict(self.heads),
            "removed": dict(self.removed),
            "searched": dict(self.searched),
            "scanned": places,
            "unprovable": [dict(item) for item in self.unprovable],
            "sealed_copies": [f"{name}: {WENT_WITH_KEY}" for name in self.sealed_copies],
            "tombstones": dict(self.tombstones),
            "method": list(METHOD),
            "not_scanned": list(NOT_SCANNED),
            "result": "traces left" if traces else "incomplete proof" if self.unprovable else "nothing found",
        }


def require_place(out: Path, work_tree: Path | None, *, ignored: bool) -> None:
    """Raise ``UsageError`` unless a certificate can be written to ``out``: new, and not where git would take it in."""
    if out.exists():
        raise UsageError(f"{out} exists already. Give --out a new file.")
    if not out.parent.is_dir():
        raise UsageError(f"{out.parent} is no folder. Make it, or give --out another place.")
    if work_tree is not None and out.resolve().is_relative_to(work_tree.resolve()) and not ignored:
        raise UsageError(
            f"{out} lies inside of {work_tree}, where git would take the certificate in. Write it outside."
        )


def as_text(data: Mapping[str, Any]) -> str:
    """Return the certificate as JSON that people can read."""
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"
