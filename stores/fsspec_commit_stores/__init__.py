"""The adapters that come with fsspec-commit, one package per store."""
