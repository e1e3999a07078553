"""What Hadoop's settings for a place mean here: a URL, and the storage options of its adapter.

Each setting is mapped by name. One that says what is written or who may read it, and has no
counterpart here, is refused; what only makes Hadoop's own driver quicker or more patient is left
out. Values of settings, which may be secrets, are in no message.
"""

from fsspec_commit.engines.spark.hadoop_settings.locations import (
    PREFIXES,
    PROPERTIES,
    SECRETS,
    location_of,
)
from fsspec_commit.engines.spark.hadoop_settings.s3a import UPLOADS, is_magic, refuse_lost_uploads

__all__ = [
    "PREFIXES",
    "PROPERTIES",
    "SECRETS",
    "UPLOADS",
    "is_magic",
    "location_of",
    "refuse_lost_uploads",
]
