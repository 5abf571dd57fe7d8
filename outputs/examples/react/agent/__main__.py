"""Talk to the agent for ReAct (no framework): ``python -m agent``, in the folder of the project."""

import sys

import agent


def main() -> int:
    """Run one command line and return its exit code."""
    try:
        from memkit_runtime.host.command import run
        from memkit_runtime.host.settings import project_of
    except ModuleNotFoundError as error:
        print(f"agent: {error}. Install what this project needs: pip install -r requirements.txt", file=sys.stderr)
        return 3
    return run(project_of(agent))


if __name__ == "__main__":
    sys.exit(main())
