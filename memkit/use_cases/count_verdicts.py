"""Count what the policies decided about the calls of agents."""

from __future__ import annotations

from memkit.errors import NotFound
from memkit.policies.files import FOLDER
from memkit.policies.overview import Usage, usages
from memkit.store.layout import checked_name
from memkit.store.schema import suggestion
from memkit.workspace import Workspace


def count_verdicts(workspace: Workspace, name: str | None = None) -> list[Usage]:
    """Return how often one policy or each of them matched, those that are gone and were used included.

    It is what the audit log of this machine still holds.

    Raises:
        NotFound: There is no policy ``name``, and none ever matched.
    """
    present = [path.stem for path in (workspace.root / FOLDER).glob("*.yaml")]
    found = usages(present, workspace.audit.events(event="policy"))
    if name is None:
        return found
    checked_name(name, "policy")
    named = [usage for usage in found if usage.name == name]
    if not named:
        hint = suggestion(name, [usage.name for usage in found])
        raise NotFound(f"There is no policy {name!r}, and none matched a call.{hint}")
    return named
