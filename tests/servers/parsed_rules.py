"""What botocore does for each client, done once: that was half of what it costs to open a store."""

from __future__ import annotations

from functools import cache
from typing import Any

_KEPT = 4


@cache
def parse_rules_once() -> None:
    """From now on, in this process: whoever reads the same rules gets the same parsed ones.

    They hold no state but endpoints that were found before. What events are called by now is
    looked up once as well.
    """
    from botocore import hooks, regions

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
