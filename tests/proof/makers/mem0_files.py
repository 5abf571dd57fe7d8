"""Let Mem0 remember, change and delete, and keep what ``get_all`` returns beside its history."""

import json
import os
import sys
from pathlib import Path

FOLDER = sys.argv[1]
os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": FOLDER, "OPENAI_API_KEY": "none"}

from mem0 import Memory  # noqa: E402 - it reads the variables as it is imported
from mem0.embeddings.mock import MockEmbeddings  # noqa: E402

vectors = {"collection_name": "ours", "embedding_model_dims": 10, "path": f"{FOLDER}/vectors", "on_disk": True}
memory = Memory.from_config(
    {"vector_store": {"provider": "qdrant", "config": vectors}, "history_db_path": f"{FOLDER}/history.db"}
)
memory.embedding_model = MockEmbeddings()  # the vectors are not what is carried over


def added(text: str, **more: object) -> str:
    """Return the id of a memory."""
    return memory.add(text, user_id="ada", infer=False, **more)["results"][0]["id"]


added("Ada prefers espresso", metadata={"category": "drinks"}, run_id="s1", agent_id="waiter")
memory.update(added("Ada lives in Rome"), data="Ada lives in Oslo")
memory.delete(added("Ada owns a boat"))
added("Ada prefers espresso", metadata={"category": "drinks"}, run_id="s1", agent_id="waiter")
Path(FOLDER, "mem0.json").write_text(json.dumps(memory.get_all(filters={"user_id": "ada"})), encoding="utf-8")
