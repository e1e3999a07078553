"""A request on the proxy in WebHDFS's words: its operations, and how a NameNode says it failed."""

from __future__ import annotations

import json

from tests.servers.http_messages import Failure, Request

_EXCEPTIONS = {
    403: "org.apache.hadoop.ipc.StandbyException",
    500: "java.lang.RuntimeException",
}


class HdfsRequest(Request):
    """One to the NameNode; data goes to DataNodes, by no proxy."""

    @property
    def operation(self) -> str:
        return self.query.get("op", f"{self.method} {self.path}").upper()

    def failure(self, status: int, code: str | None) -> Failure:
        """With an exception where a NameNode says one; another's answer has none."""
        name = code or _EXCEPTIONS.get(status)
        if name is None:
            return Failure("Unavailable", {"Content-Type": "text/plain"}, b"said by the proxy")
        told = {
            "exception": name.rpartition(".")[2],
            "javaClassName": name,
            "message": "said by the proxy of the tests",
        }
        content = json.dumps({"RemoteException": told}).encode()
        return Failure("Failed", {"Content-Type": "application/json"}, content)
