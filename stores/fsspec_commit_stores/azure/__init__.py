"""Azure Blob Storage and Data Lake Storage Gen2, through the user's own configuration of adlfs."""

try:
    from fsspec_commit_stores.azure.store import AzureStore
except ModuleNotFoundError as error:
    message = f"Azure is served through adlfs ({error}): pip install 'fsspec-commit[abfs]'"
    raise ImportError(message) from error

__all__ = ["AzureStore"]
