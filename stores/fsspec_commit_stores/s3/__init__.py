"""S3 and what speaks its protocol, through the user's own configuration of s3fs."""

try:
    from fsspec_commit_stores.s3.store import S3Store
except ModuleNotFoundError as error:
    message = f"S3 is served through s3fs ({error}): pip install 'fsspec-commit[s3]'"
    raise ImportError(message) from error

__all__ = ["S3Store"]
