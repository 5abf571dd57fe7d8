"""Draw the task network of a domain into files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from memkit.domains.files import domain_file, find_domain, is_file_name
from memkit.domains.learned import LearnedMethods
from memkit.drawing.interface import Drawing, Form, draw
from memkit.drawing.planning import task_network
from memkit.store.files import write_whole


def draw_domain(named: str, files: Mapping[Form, Path], *, root: Path | None = None) -> dict[Form, Drawing]:
    """Write the task network of a domain to each of the files, and return how much of it each shows.

    For a domain of the store the learned methods that fit it are drawn as well.

    Raises:
        NotFound: There is no such domain.
        UsageError: The domain's file is wrong.
        EnvironmentFault: A file cannot be written.
    """
    domain = find_domain(named, root)
    learned = []
    if root is not None and not is_file_name(named) and domain_file(named, root).is_relative_to(root):
        learned = LearnedMethods.of_store(root, named).methods(domain, lambda reason: None)
    graph = task_network(domain, learned)
    drawings = {form: draw(graph, form) for form in files}
    for form, path in files.items():
        write_whole(path, drawings[form].text.encode("utf-8"))
    return drawings
