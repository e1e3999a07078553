"""hdfs-native's clients, each made once in a process and never let go of.

The synchronous one is used: dropping the last reference to the asynchronous one (0.14.7) deadlocks
with an answer that is just being handed over, and a NameNode that cannot be reached makes it panic.
Dropping the last reference to either stops its threads and waits for them, which a fork does not
have: see :mod:`fsspec_commit.store.hdfs_forks`. A client that is kept also keeps its connections,
for all stores of one cluster.
"""

import os
from collections.abc import Mapping

from hdfs_native import Client

from fsspec_commit.store.hdfs_forks import outlive_forks

# What a client reads by itself, when it is made or when it connects.
_ENVIRONMENT = (
    "HADOOP_CONF_DIR",
    "HADOOP_HOME",
    "HADOOP_PROXY_USER",
    "HADOOP_TOKEN_FILE_LOCATION",
    "HADOOP_USER_NAME",
    "KRB5CCNAME",
)

_kept: dict[tuple[object, ...], Client] = {}


def client_of(
    server: str | None,
    config: Mapping[str, str],
    config_directory: str | None,
    kerberos: Mapping[str, str],
) -> Client:
    """The client for these settings in this process; a fork has its own.

    Raises:
        RuntimeError: hdfs-native does not accept them.
    """
    settings = (
        *(os.getpid(), server, config_directory),
        *(tuple(sorted(config.items())), tuple(sorted(kerberos.items()))),
        *map(os.environ.get, _ENVIRONMENT),
    )
    client = _kept.get(settings)
    if client is None:
        client = Client(server, dict(config), config_directory, **kerberos)
        outlive_forks(client)
        client = _kept.setdefault(settings, client)
    return client
