"""Talk to the agent: ``python -m agent``."""

import sys

from agent.command import main

if __name__ == "__main__":
    sys.exit(main())
