"""One running account: how to reach it, its clients, and what a test may ask of our own."""

from __future__ import annotations

import secrets
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.servers.azure.kinds import GEN2, account_of, key_of
from tests.servers.http_service.control import Controlled
from tests.servers.server_process import RunningServers, StoreServer

if TYPE_CHECKING:
    from collections.abc import Collection


# Until it is ready: somebody else's program at its port may never answer.
_READY_ANSWER_WITHIN_S = 3
_READY_CONTAINER = "ready"


class AzureServer(StoreServer, Controlled):
    """An account on loopback. Every failure is shown to the clients of here, none is retried.

    What it inherits of `Controlled`, and may be told, is for our own server only.
    """

    protocol = "abfs"

    @property
    def is_hierarchical(self) -> bool:
        return self.kind.name == GEN2.name

    @property
    def account_name(self) -> str:
        return account_of(self._key)

    @property
    def account_key(self) -> str:
        return key_of(self._secret)

    @property
    def account_url(self) -> str:
        return self.account_url_through(self.endpoint_url)

    def account_url_through(self, endpoint_url: str) -> str:
        return f"{endpoint_url}/{self.account_name}"

    def storage_options_through(self, endpoint_url: str) -> dict[str, Any]:
        """What adlfs takes."""
        return {"connection_string": self.connection_string_through(endpoint_url)}

    def connection_string_through(
        self, endpoint_url: str, *, account_key: str | None = None, sas_token: str | None = None
    ) -> str:
        """With the account's key, another one, or a shared access signature instead."""
        if sas_token is None:
            account = {"AccountKey": account_key or self.account_key}
        else:
            account = {"SharedAccessSignature": sas_token}
        fields = {
            "DefaultEndpointsProtocol": "http",
            "AccountName": self.account_name,
            **account,
            # The DFS endpoint as well: the SDK makes it of this one by a name that is not in it.
            "BlobEndpoint": self.account_url_through(endpoint_url),
        }
        return ";".join(f"{name}={value}" for name, value in fields.items())

    def storage_options_without(
        self, *permissions: str, ends_in: timedelta = timedelta(hours=1)
    ) -> dict[str, Any]:
        """With a shared access signature that allows all but these permissions."""
        from azure.storage.blob import AccountSasPermissions, ResourceTypes, generate_account_sas

        allowed = {"read", "write", "create", "add", "list", "delete"} - {*permissions}
        signature = generate_account_sas(
            self.account_name,
            self.account_key,
            ResourceTypes(container=True, object=True),
            AccountSasPermissions(**dict.fromkeys(allowed, True)),
            datetime.now(UTC) + ends_in,
            protocol="https,http",
        )
        text = self.connection_string_through(self.endpoint_url, sas_token=signature)
        return {"connection_string": text}

    def client_through(self, endpoint_url: str, **config: Any) -> Any:
        """Of the Blob endpoint."""
        from azure.storage.blob import BlobServiceClient

        text = self.connection_string_through(endpoint_url)
        return BlobServiceClient.from_connection_string(text, retry_total=0, **config)

    @cached_property
    def dfs_client(self) -> Any:
        """Of the DFS endpoint; of our own server only, because no other has one."""
        return self.dfs_client_through(self.endpoint_url)

    def dfs_client_through(self, endpoint_url: str, **config: Any) -> Any:
        from azure.storage.filedatalake import DataLakeServiceClient

        text = self.connection_string_through(endpoint_url)
        return DataLakeServiceClient.from_connection_string(text, retry_total=0, **config)

    def new_container(self) -> str:
        """A container that no other test has."""
        container = f"test-{secrets.token_hex(8)}"
        self.client.create_container(container)
        return container

    def settings(
        self,
        *,
        denied: Collection[str] = (),
        paths_per_call: int | None = None,
        page_max: int = 5_000,
    ) -> None:
        """From now on; what is not named is off: see `gen2/service.py`."""
        asked = {
            "denied": sorted(denied),
            "paths_per_call": paths_per_call,
            "page_max": page_max,
        }
        self.tell("settings", asked)

    def set_clock(self, offset_s: float) -> None:
        """The account's clock, against that of the machine."""
        self.tell("clock", {"offset_s": offset_s})

    def hold(self, container: str, *, legal_hold: bool = False, immutable: bool = False) -> None:
        """What is in the container may not be changed or deleted: by a hold, or by a policy."""
        asked = {"container": container, "legal_hold": legal_hold, "immutable": immutable}
        self.tell("hold", asked)

    def reset(self) -> None:
        """Our own server is as it was before a test set anything."""
        if self.is_hierarchical:
            self.settings()
            self.set_load()
            self.set_clock(0.0)

    def _is_ready(self) -> bool:
        if self.is_hierarchical:
            return self.answers()
        from azure.core.exceptions import AzureError, ResourceExistsError

        word = secrets.token_bytes(8)
        timeouts = {"connection_timeout": 1, "read_timeout": _READY_ANSWER_WITHIN_S}
        with self.client_through(self.endpoint_url, **timeouts) as client:
            try:
                container = client.get_container_client(_READY_CONTAINER)
                with suppress(ResourceExistsError):
                    container.create_container()
                container.upload_blob("word", word, overwrite=True)
                return bool(container.download_blob("word").readall() == word)
            except AzureError:
                return False


AzureServers: TypeAlias = RunningServers[AzureServer]
"""The servers of one process of the test run."""
