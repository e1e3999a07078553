"""Which storage options are no secret: workers may be sent these, and Spark may show them."""

from collections.abc import Mapping

from fsspec_commit.store.destination_text import holds_secret

_OPEN_STORAGE_OPTIONS = frozenset(
    {"account_host", "account_name", "addressing_style", "anon", "asynchronous", "cache_regions"}
    | {"client_kwargs", "config_kwargs", "consistency", "endpoint_url", "host", "port"}
    | {"profile", "project", "protocol", "region", "region_name", "requester_pays", "s3", "user"}
    | {"use_ssl", "verify", "signature_version", "max_concurrency", "version_aware"}
)
"""Where a store is and how it is spoken to, and nothing that gives access to it."""


def is_open(name: str, value: object) -> bool:
    """Whether an option is no secret; an endpoint with a password or a query in it may be one."""
    return name in _OPEN_STORAGE_OPTIONS and not (isinstance(value, str) and holds_secret(value))


def open_part(storage_options: Mapping[str, object]) -> dict[str, object]:
    """What of *storage_options* is no secret: where the store is, and how it is spoken to."""
    return {
        name: open_part(value) if isinstance(value, Mapping) else value
        for name, value in storage_options.items()
        if is_open(name, value)
    }
