"""What stores share when they are opened: the user's options, and what is known without asking."""

import asyncio
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from fsspec_commit.store import Capabilities, OpenOptions
from fsspec_commit_stores.http.places import invalid_option

POOL = 64
"""How many connections there are at most, where nobody has said."""
_SHORT_REQUESTS = "short_requests"


def private(options: OpenOptions) -> dict[str, Any]:
    """The user's options for a filesystem that is ours alone, on the running loop."""
    return {
        **options.storage_options,
        "asynchronous": True,
        "loop": asyncio.get_running_loop(),
        "skip_instance_cache": True,
        "use_listings_cache": False,
    }


def forget(filesystem: Any) -> None:
    """Detach the finalizers that close the connections of *filesystem* at exit or collection.

    They would do so on a loop that has ended; and at the exit of a forked child they would take the
    parent's sockets out of the parent's selector, which would wait in vain for what they bring.
    """
    # Copied in one step: going through the entries makes objects, which sets off the garbage
    # collector, which removes the entries of others.
    registered = getattr(weakref.finalize, "_registry", {}).copy()
    for finalizer, found in registered.items():
        if found.weakref() is filesystem:
            finalizer.detach()


def is_wanted(url: str, options: OpenOptions, name: str) -> bool:
    """Whether the option *name* is on, as it is unless the user turns it off.

    Raises:
        RequestError: It is neither on nor off.
    """
    wanted = options.storage_options.get(name, True)
    if not isinstance(wanted, bool):
        raise invalid_option(url, f"{name}= takes True or False")
    return wanted


def why_not_short_of(url: str, options: OpenOptions) -> tuple[str, OpenOptions]:
    """Why the user forbids exchanges, empty if they are allowed, and all other options.

    Raises:
        RequestError: The option is neither on nor off.
    """
    is_short = is_wanted(url, options, _SHORT_REQUESTS)
    others = {
        name: value for name, value in options.storage_options.items() if name != _SHORT_REQUESTS
    }
    why_not = "" if is_short else f"{_SHORT_REQUESTS}=False"
    return why_not, replace(options, storage_options=others)


def meant_by(names: Iterable[str], prefix: str, known: Mapping[str, str]) -> list[str]:
    """Texts that say which option is meant by each of *names* that another library uses.

    Args:
        names: As the user has given them.
        prefix: What others put before a name.
        known: How an option is given here, by the others' name in lower case without *prefix*.
    """
    meant = ((name, known.get(name.lower().removeprefix(prefix))) for name in names)
    return [f"{name} is {own} there" for name, own in meant if own not in {None, f"{name}="}]


def served(
    facts: Capabilities, *, is_verified: bool, single_writer: bool, **more: object
) -> Capabilities:
    """*facts* of the protocol, with what the server alone decides.

    Args:
        facts: What holds for every server that speaks the protocol.
        is_verified: Whether what the service documents holds there.
        single_writer: One job at a time works there, which makes up for some of what is missing.
        more: What the service documents besides.
    """
    if is_verified:
        return facts.known(
            "declared",
            consistent_listing=True,
            delete_if_match=True,
            exclusive_create=True,
            replace_if_match=True,
            **more,
        )
    if single_writer:
        # A token that is not compared, as when MinIO or fake-gcs-server deletes, is the right one
        # all the same.
        return facts.known("assumed", consistent_listing=True, delete_if_match=True)
    return facts
