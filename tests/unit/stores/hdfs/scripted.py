"""HDFS, by WebHDFS, at a server that answers what the test tells it to."""

from __future__ import annotations

from typing import Any

from fsspec_commit_stores.hdfs import HdfsStore
from tests.unit.stores.scripted import Scripted


class ScriptedHdfs(Scripted[HdfsStore]):
    adapter = HdfsStore

    @property
    def url_of_store(self) -> str:  # type: ignore[override]  # the server is named in the URL
        return self.url.replace("http:", "webhdfs:") + "/out"

    def account(self, url: str) -> dict[str, Any]:
        return {"user": "me"}
