"""Run an agent turn by turn: recall, plan or act under policy, evaluate, remember."""
