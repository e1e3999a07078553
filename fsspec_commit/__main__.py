"""``python -m fsspec_commit``: the command, where its script is not on ``PATH``."""

from fsspec_commit.cli import main

if __name__ == "__main__":
    main()
