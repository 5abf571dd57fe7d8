"""JSON files that carry the version of their format and a digest of what they say."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from memkit.errors import EnvironmentFault
from memkit.evolution.runs.errors import RunFault
from memkit.store.files import write_whole

FORMAT = 1
_FORMAT, _DIGEST, _BODY = "format", "digest", "content"


class Damaged(RunFault):
    """Report a file that is cut short or was changed from outside."""

    code = "damaged"


def write_data(path: Path, content: Any) -> None:
    """Put ``content`` on the disk whole; where that fails, what was there stays.

    Raises:
        RunFault: The disk does not take it.
    """
    body = _canonical(content)
    head = json.dumps({_FORMAT: FORMAT, _DIGEST: sha256(body.encode()).hexdigest()})
    try:
        write_whole(path, f'{head[:-1]}, "{_BODY}": {body}}}\n'.encode(), mode=0o600)
    except EnvironmentFault as fault:
        raise RunFault(f"{fault} The run stands as it was after the generation before; make room and resume.") from None


def read_data(path: Path) -> Any:
    """Return what a file says.

    Raises:
        Damaged: It is cut short, or not what was written.
        RunFault: A newer memkit wrote it, or it cannot be read.
        FileNotFoundError: It is not there.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise Damaged(f"{path} cannot be read: {error}.", path=str(path)) from None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise Damaged(f"{path} is cut short or is not JSON.", path=str(path)) from None
    version = data.get(_FORMAT) if isinstance(data, dict) else None
    if isinstance(version, int) and version > FORMAT:
        raise RunFault(
            f"{path} has format {version}; this memkit knows {FORMAT}. Use the memkit that wrote it, or a newer one.",
            path=str(path),
        )
    if version != FORMAT or _BODY not in data:
        raise Damaged(f"{path} is no file of a run.", path=str(path))
    if not _is_written(data[_BODY], data.get(_DIGEST)):
        raise Damaged(f"{path} is not what was written: its digest differs.", path=str(path))
    return data[_BODY]


def _is_written(content: Any, digest: object) -> bool:
    try:
        return sha256(_canonical(content).encode()).hexdigest() == digest
    except ValueError:  # a number that is never written, such as 1e999, which is read as infinity
        return False


def _canonical(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
