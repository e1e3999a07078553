"""The adapters that come with fsspec-commit, one module a store."""
