"""Look through a skill that comes from somewhere, before an agent gets it; nothing of it is unpacked or run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memkit.lint.package_scan import PackageFinding, scan_package
from memkit.skills.package import open_package


@dataclass(frozen=True)
class SkillScan:
    """What was found in a package."""

    files: int
    findings: tuple[PackageFinding, ...]

    @property
    def flagged(self) -> bool:
        """Return whether a person must look before an agent gets it."""
        return any(finding.severity == "error" for finding in self.findings)


def scan_skill(place: Path) -> SkillScan:
    """Return what in the package at ``place`` a person must look at; no store is needed.

    Raises:
        UsageError: There is nothing at the place, or it cannot be read.
    """
    package = open_package(place)
    return SkillScan(len(package.files), tuple(scan_package(package)))
