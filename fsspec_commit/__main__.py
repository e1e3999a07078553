"""``python -m fsspec_commit``: the command, where its own name is not on the path."""

from fsspec_commit.cli import main

if __name__ == "__main__":
    main()
