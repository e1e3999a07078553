"""What Hadoop's settings for a place mean here: a URL, and the storage options of its adapter.

Each setting is mapped by name. One that says what is written or who may read it, and has no
counterpart here, is refused; what only makes Hadoop's own driver quicker or more patient is left
out. Values of settings, which may be secrets, are in no message.
"""

from fsspec_commit.engines.spark.hadoop_settings.locations import (
    PREFIXES,
    SECRETS,
    location_of,
)

__all__ = ["PREFIXES", "SECRETS", "location_of"]
