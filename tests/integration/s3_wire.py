"""A job's way to its bucket by a proxy, and the requests on it that a test may hit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.integration.places import keep_versions, s3_places
from tests.integration.s3_jobs import learn
from tests.integration.scenes import PARTITIONED, SCENES, Scene, named

if TYPE_CHECKING:
    from tests.integration.places import S3Place
    from tests.servers.faults import Rule
    from tests.servers.plugin import S3Bucket
    from tests.servers.proxy import FaultProxy

EXACT = Scene({**SCENES["overwrite, in place"].options, "idempotency_key": "k"}, PARTITIONED)
UNIQUE = Scene({**named("overwrite").options, "idempotency_key": "k"}, PARTITIONED)


@dataclass(frozen=True)
class At:
    """One request of a job: an S3 action on a path, the *nth* of them."""

    operation: str
    path: str
    nth: int = 1


class Wire:
    """A job's way to its bucket, and what happens on it."""

    def __init__(self, bucket: S3Bucket, proxy: FaultProxy, scene: Scene) -> None:
        self.bucket = bucket
        self.proxy = proxy
        self.scene = scene
        if scene is EXACT:
            keep_versions(bucket)
        # The probe of this way to the bucket is the first job's only.
        learn(self._faulty("first"))

    def _faulty(self, name: object) -> S3Place:
        return s3_places(self.bucket, endpoint_url=self.proxy.endpoint_url)(name)  # type: ignore[return-value]  # it makes S3Places

    def ready(self, name: object, *rules: Rule) -> S3Place:
        """A destination with old files, by the proxy, on which these faults then happen."""
        place = self._faulty(name)
        place.put(self.scene.laid_out)
        self.proxy.clear()
        for rule in rules:
            self.proxy.add(rule)
        return place

    def straight(self, name: object) -> S3Place:
        """The same destination without the proxy between."""
        return s3_places(self.bucket)(name)  # type: ignore[return-value]  # it makes S3Places
