"""Look through a skill that comes from somewhere, before an agent gets it; nothing of it is unpacked or run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memkit.lint.package_scan import PackageFinding, scan_package
from memkit.skills.package import Package, open_package
from memkit.skills.signature import SIGNATURE, read_keys, why_not_signed


@dataclass(frozen=True)
class SkillScan:
    """What was found in a package."""

    files: int
    findings: tuple[PackageFinding, ...]

    @property
    def flagged(self) -> bool:
        """Return whether a person must look before an agent gets it."""
        return any(finding.severity == "error" for finding in self.findings)


def scan_skill(place: Path, keys: Path | None = None) -> SkillScan:
    """Return what in the package at ``place`` a person must look at; no store is needed.

    With ``keys``, a file of public keys, it must be signed by one of them, too.

    Raises:
        UsageError: There is nothing at the place, it cannot be read, or the file of keys cannot.
        EnvironmentFault: What verifies signatures is not installed.
    """
    known = read_keys(keys) if keys else []
    package = open_package(place)
    found = scan_package(package)
    return SkillScan(len(package.files), (*(_unsigned(package, known) if keys else ()), *found))


def _unsigned(package: Package, keys: list[bytes]) -> Iterator[PackageFinding]:
    why = why_not_signed(package, keys)
    if why:
        yield PackageFinding("MKS121", "error", SIGNATURE, 1, f"The skill is not vouched for: {why}")
