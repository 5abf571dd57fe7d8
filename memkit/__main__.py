"""Run the command line with ``python -m memkit``."""

from memkit.cli.main import main

if __name__ == "__main__":
    main()
