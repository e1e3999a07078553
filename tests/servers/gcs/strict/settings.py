"""How the server behaves beyond what it always does: set by its tests, as JSON, while it runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """What a test may ask for; as they are here, nothing is limited.

    Attributes:
        write_interval_s: a name is written at most so often, else 429. The provider's is 1 s
            (https://cloud.google.com/storage/quotas#objects).
        deletions_count: a deletion, also by being moved away, is one of these writes; the words of
            the refusal say so, and the quota does not.
        anonymous: who brings no token may do everything; else 401.
        is_marked: whether each answer has X-GUploader-UploadID, as the provider's have.
    """

    write_interval_s: float = 0.0
    deletions_count: bool = False
    anonymous: bool = True
    is_marked: bool = True
