"""One running S3 server, its account and its clients."""

from __future__ import annotations

import json
import secrets
from contextlib import closing
from functools import cache
from typing import Any, TypeAlias

from tests.servers.kinds import REGION
from tests.servers.server_process import RunningServers, StoreServer

# Until it is ready: somebody else's program at its port may never answer.
_ANSWER_WITHIN_S = 3
# In the bucket that shows that a server is ready.
_READY_BUCKET = "ready"


class Server(StoreServer):
    """An S3 server with its only account. Its clients are botocore's, and never retry."""

    protocol = "s3"

    def storage_options_through(self, endpoint_url: str) -> dict[str, Any]:
        """What s3fs takes. The region comes from the environment (`s3_environment`)."""
        return {"key": self._key, "secret": self._secret, "endpoint_url": endpoint_url}

    def client_through(self, endpoint_url: str, *, service: str = "s3", **config: object) -> Any:
        """A botocore client of the same account, by another address."""
        return new_client(endpoint_url, self._key, self._secret, service=service, **config)

    def storage_options_without(self, *actions: str) -> dict[str, Any]:
        """A new account that may do everything but these IAM actions; on ministack only."""
        assert self.name == "ministack", f"{self.name} has no IAM"
        allowed = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
        denied = [{"Effect": "Deny", "Action": list(actions), "Resource": "*"}] if actions else []
        document = {"Version": "2012-10-17", "Statement": [allowed, *denied]}
        user = f"user-{secrets.token_hex(8)}"
        iam = self.client_through(self.endpoint_url, service="iam")
        try:
            iam.create_user(UserName=user)
            iam.put_user_policy(
                UserName=user, PolicyName="tests", PolicyDocument=json.dumps(document)
            )
            made = iam.create_access_key(UserName=user)["AccessKey"]
        finally:
            iam.close()
        return {
            "key": made["AccessKeyId"],
            "secret": made["SecretAccessKey"],
            "endpoint_url": self.endpoint_url,
        }

    def new_bucket(self) -> str:
        """A bucket that no other test has."""
        bucket = f"test-{secrets.token_hex(8)}"
        self.client.create_bucket(Bucket=bucket)
        return bucket

    def _is_ready(self) -> bool:
        with closing(
            self.client_through(self.endpoint_url, read_timeout=_ANSWER_WITHIN_S)
        ) as client:
            return _is_ready(client)


def _is_ready(client: Any) -> bool:
    """Whether the server stores an object and gives it back: a port that answers is not enough."""
    from botocore.exceptions import BotoCoreError, ClientError

    word = secrets.token_bytes(8)
    try:
        try:
            client.head_bucket(Bucket=_READY_BUCKET)
        except ClientError:
            client.create_bucket(Bucket=_READY_BUCKET)
        client.put_object(Bucket=_READY_BUCKET, Key="word", Body=word)
        answer = client.get_object(Bucket=_READY_BUCKET, Key="word")
        return bool(answer["Body"].read() == word)
    except (BotoCoreError, ClientError):
        return False


def new_client(
    endpoint_url: str, key: str, secret: str, *, service: str = "s3", **config: object
) -> Any:
    """A botocore client for tests: every failure is shown, none is retried."""
    from botocore.config import Config
    from botocore.session import Session

    session = Session()
    session.register_component("data_loader", _loader())
    settings = {
        "retries": {"total_max_attempts": 1},
        "s3": {"addressing_style": "path"},
        "connect_timeout": 5,
        "read_timeout": 60,
        "max_pool_connections": 32,
        **config,
    }
    return session.create_client(
        service,
        region_name=REGION,
        endpoint_url=endpoint_url,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        config=Config(**settings),
    )


@cache
def _loader() -> Any:
    """botocore's descriptions of services, which take long to read, and longer than a request."""
    from botocore.loaders import create_loader

    return create_loader()


Servers: TypeAlias = RunningServers[Server]
"""The servers of one process of the test run."""
