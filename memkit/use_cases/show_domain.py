"""Show one planning domain."""

from __future__ import annotations

from pathlib import Path

from memkit.domains.files import domain_file, find_domain, is_file_name
from memkit.use_cases.list_domains import ListedDomain, listed


def show_domain(named: str, root: Path | None = None) -> ListedDomain:
    """Return a domain: a file, one of the store at ``root``, or a starter; raises as ``find_domain``."""
    path = domain_file(named, root)
    if root is not None and not is_file_name(named) and path.is_relative_to(root):
        return listed(root, path)
    return ListedDomain(path.stem, str(path), find_domain(named, root), 0, 0)
