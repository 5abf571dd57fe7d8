"""What an erasure attests: what was removed, where nothing was found, what cannot be known; no name and no text."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping, Sequence
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


def certificate(
    *,
    digest: str,
    at: datetime,
    versions: Mapping[str, str],
    heads: Mapping[str, str | None],
    removed: Mapping[str, int],
    searched: Mapping[str, int],
    scanned: Sequence[Place],
    unprovable: Sequence[Mapping[str, str]],
    sealed_copies: Sequence[str],
    tombstones: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the certificate as it is written."""
    traces = sum(place.traces for place in scanned)
    return {
        "schema": "memkit.certificate/1",
        "user": digest,
        "at": at.isoformat().replace("+00:00", "Z"),
        "versions": dict(versions),
        "heads": dict(heads),
        "removed": dict(removed),
        "searched": dict(searched),
        "scanned": [{"place": place.place, "items": place.items, "traces": place.traces} for place in scanned],
        "unprovable": [dict(item) for item in unprovable],
        "sealed_copies": [f"{name}: {WENT_WITH_KEY}" for name in sealed_copies],
        "tombstones": dict(tombstones),
        "method": list(METHOD),
        "not_scanned": list(NOT_SCANNED),
        "result": "traces left" if traces else "incomplete proof" if unprovable else "nothing found",
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
