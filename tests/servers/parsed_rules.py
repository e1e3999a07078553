"""What botocore does for each client, done once: that was half of what it costs to open a store."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType

_KEPT = 4


@cache
def parse_rules_once() -> None:
    """From now on, in this process: whoever reads the same rules gets the same parsed ones.

    They hold no state but endpoints that were found before. What events are called by now is
    looked up once as well.
    """
    from botocore import hooks, regions

    _look_at_handlers_once()
    _make_classes_once()
    begin = hooks.EventAliaser.__init__
    called: dict[str, str] = {}

    def begin_knowing(self: Any, event_emitter: Any, event_aliases: Any = None) -> None:
        begin(self, event_emitter, event_aliases)
        if event_aliases is None or event_aliases == hooks.EVENT_ALIASES:
            self._alias_name_cache = called

    hooks.EventAliaser.__init__ = begin_knowing

    parse = regions.EndpointProvider
    # With what they were made of: an identity holds while the thing is there.
    parsed: dict[tuple[int, int], tuple[Any, Any, Any]] = {}

    def once(ruleset_data: Any, partition_data: Any, **how: Any) -> Any:
        key = id(ruleset_data), id(partition_data)
        found = parsed.get(key)
        if found is None:
            provider = parse(ruleset_data=ruleset_data, partition_data=partition_data, **how)
            found = ruleset_data, partition_data, provider
            if len(parsed) < _KEPT:
                parsed[key] = found
        return found[2]

    regions.EndpointProvider = once


def _look_at_handlers_once() -> None:
    """The same functions handle the events of each client: whether one can is in its code."""
    from botocore import hooks

    look = hooks.accepts_kwargs
    found: dict[CodeType, Any] = {}

    def once(handler: Any) -> Any:
        code = getattr(handler, "__code__", None)
        if code is None:
            return look(handler)
        if code not in found:
            found[code] = look(handler)
        return found[code]

    hooks.accepts_kwargs = once

    def copied(trie: Any, node: dict[str, Any]) -> dict[str, Any]:
        # As botocore's own does, which asks for the way to copy each of its lists.
        return {
            key: hooks.NodeList(value.first[:], value.middle[:], value.last[:])
            if isinstance(value, hooks.NodeList)
            else copied(trie, value)
            if isinstance(value, dict)
            else value
            for key, value in node.items()
        }

    hooks._PrefixTrie._recursive_copy = copied


def _make_classes_once() -> None:
    """A client's class has a method for each of S3's hundred actions, and no state."""
    from aiobotocore.client import AioClientCreator

    make = AioClientCreator._create_client_class
    made: dict[tuple[str, str], type] = {}

    async def once(self: Any, service_name: str, service_model: Any) -> type:
        key = service_name, service_model.api_version
        if key not in made:
            made[key] = await make(self, service_name, service_model)
        return made[key]

    AioClientCreator._create_client_class = once
