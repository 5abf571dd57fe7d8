"""Write what policy tests show as JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memkit.errors import UsageError
from memkit.policies.junit import junit_xml
from memkit.policies.mutation import MutationReport
from memkit.policies.proving import SetProof


def write_junit(path: Path, proof: SetProof, mutations: Sequence[MutationReport] = ()) -> None:
    """Write the report to ``path``; raises ``UsageError`` where that is no place for a file."""
    try:
        path.write_text(junit_xml(proof, mutations), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"The JUnit report cannot be written to {path}: {error.strerror or error}.") from error
