"""Google Cloud Storage, through the user's own configuration of gcsfs."""

try:
    from fsspec_commit_stores.gcs.store import GcsStore
except ModuleNotFoundError as error:
    message = f"GCS is served through gcsfs ({error}): pip install 'fsspec-commit[gcs]'"
    raise ImportError(message) from error

__all__ = ["GcsStore"]
