"""What a probe finds on a live account is what the adapter declares of Azure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fsspec_commit as fc
from fsspec_commit_stores.azure.opening import capabilities_of

if TYPE_CHECKING:
    from tests.servers.azure.plugin import AzureContainer


def test_a_probe_finds_what_is_declared_of_azure(azure_container: AzureContainer) -> None:
    """All that a probe can see; nothing is left of it."""
    url, options = f"{azure_container.url}/out", azure_container.storage_options
    report = fc.probe(url, storage_options=options)
    assert report.ok, report.differences
    declared = capabilities_of(
        "https://account.blob.core.windows.net",
        is_hierarchical=azure_container.server.is_hierarchical,
        single_writer=False,
    )
    assert report.capabilities.facts() == declared.facts()
    assert report.capabilities.evidence["exclusive_create"] == "probed"
    files = [one.name for one in azure_container.client.list_blobs("out/") if one.size]
    assert files == []


def test_at_an_unverified_endpoint_a_probe_can_be_refused(azure_container: AzureContainer) -> None:
    url, options = f"{azure_container.url}/out", azure_container.storage_options
    selection = fc.explain(url, storage_options=options, probe=False)
    assert selection.committer is None
    assert not list(azure_container.client.list_blobs())
