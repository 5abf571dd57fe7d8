"""Write the schemas of this version into a store."""

from __future__ import annotations

from pathlib import Path

from memkit.store.files import write_whole
from memkit.store.layout import schema_files


def write_schemas(root: Path) -> list[str]:
    """Write each schema that the store at ``root`` lacks or has otherwise, and return the paths that changed.

    Raises:
        EnvironmentFault: A file cannot be written.
    """
    written = []
    for path, content in schema_files().items():
        place = root / path
        if not place.is_file() or place.read_bytes() != content:
            write_whole(place, content)
            written.append(path)
    return written
