"""Partial responses: https://cloud.google.com/storage/docs/json_api#partial-response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.servers.gcs.strict.failures import invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

# By name what is wanted of it: more of the same, or {} for all.
Selection = dict[str, Any]


def selected(document: Mapping[str, Any], expression: str) -> dict[str, Any]:
    """Of a document what ``a,b/c,d(e,f)`` and ``*`` name; in a list, of each of its elements.

    Raises:
        Failure: that is no selection.
    """
    selection, rest = _selection(expression)
    if rest:
        raise invalid(f"Invalid field selection {expression}", "fields")
    return _select(document, selection)


def _select(document: Mapping[str, Any], selection: Selection) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in document.items():
        of = selection.get(name, selection.get("*"))
        if of is not None:
            found[name] = _within(value, of)
    return found


def _within(value: Any, selection: Selection) -> Any:
    if not selection:
        return value
    if isinstance(value, list):
        return [_within(one, selection) for one in value]
    return _select(value, selection) if isinstance(value, dict) else value


def _selection(text: str) -> tuple[Selection, str]:
    selection: Selection = {}
    while True:
        of, text = _one(text)
        _merge(selection, of)
        if not text.startswith(","):
            return selection, text
        text = text[1:]


def _one(text: str) -> tuple[Selection, str]:
    end = next((place for place, sign in enumerate(text) if sign in ",/()"), len(text))
    name, rest = text[:end].strip(), text[end:]
    if not name:
        raise invalid(f"Invalid field selection {text}", "fields")
    inner: Selection = {}
    if rest.startswith("/"):
        inner, rest = _one(rest[1:])
    elif rest.startswith("("):
        inner, rest = _selection(rest[1:])
        if not rest.startswith(")"):
            raise invalid(f"Invalid field selection {text}", "fields")
        rest = rest[1:]
    return {name: inner}, rest


def _merge(selection: Selection, further: Selection) -> None:
    for name, inner in further.items():
        if name in selection and (not selection[name] or not inner):
            selection[name] = {}
        else:
            _merge(selection.setdefault(name, {}), inner)
