"""Where an operation goes on that takes several requests: never for ever in a circle."""

from fsspec_commit.layout import StorePath
from fsspec_commit_stores.azure.requests import Container

# Of a rename or a deletion, of which each request takes thousands of paths. Whether a continuation
# says where it goes on, or only what, is documented nowhere, so the same may come again.
TURNS_MOST = 1_000
_NOT_WHERE = "the store says that there is more, and not where"


class Places:
    """The places at which one operation has gone on.

    Args:
        container: Where it is done.
        operation: Its name.
        path: To what it is done, for messages.
        times_most: How often it may go on at one place.
    """

    def __init__(
        self, container: Container, operation: str, path: StorePath, *, times_most: int = 1
    ) -> None:
        self._container = container
        self._operation = operation
        self._path = path
        self._times_most = times_most
        self._times: dict[str, int] = {}

    def next(self, place: str) -> str:
        """*place*, where an answer says that there is more; empty where it says that there is none.

        Raises:
            StoreError: It has gone on there before, and would do so for ever.
        """
        if place:
            times = self._times[place] = self._times.get(place, 0) + 1
            if times > self._times_most:
                raise self._container.doubt(self._operation, self._path, _NOT_WHERE)
        return place
