"""Take the configured model for good and make every vector anew."""

from __future__ import annotations

from memkit.embeddings.agreement import set_model
from memkit.errors import UsageError
from memkit.workspace import Workspace, open_workspace


def rebuild_vectors(workspace: Workspace) -> str:
    """Let the store agree on the model of ``retrieval.vectors``, rebuild its index with vectors, and name the model.

    Raises:
        UsageError: The store does not search by meaning.
        EnvironmentFault: The model cannot be read, or the store not be written.
    """
    if workspace.settings["retrieval.vectors"] == "off":
        raise UsageError(
            "This store does not search by meaning. Name a model first: memkit config set retrieval.vectors FOLDER."
        )
    set_model(workspace.root, workspace.embedder)
    with open_workspace(workspace.root, clock=workspace.clock, notice=workspace.notice) as agreed:
        agreed.archive.rebuild()
        agreed.archive.follow(agreed.vectors)
    return workspace.embedder.name
