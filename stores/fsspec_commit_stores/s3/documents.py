"""Documents that S3 answers with, read by the service's own description of them.

botocore reads them by the same description, which it looks up anew for each field: a page of a
listing has thousands. Here it is looked up once. What no listing has, such as an attribute or a
map, is not read here.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeAlias
from xml.etree.ElementTree import Element

from botocore.utils import parse_timestamp

_NAMESPACE = re.compile("{.*}")
# At most so many of the tags that are met are kept, and none that is longer.
_TAGS_MAX, _TAG_LENGTH_MAX = 64, 128


class UndescribedError(Exception):
    """The description says something that nothing here knows how to read."""


class DoubtfulError(Exception):
    """A document is not as it is described."""


class Structure:
    """How an element that has others in it is read."""

    def __init__(self, shape: Any) -> None:
        """Read what *shape*, of botocore's, describes.

        Raises:
            UndescribedError: Nothing here knows how to read it.
        """
        by_name: dict[str, _Member] = {}
        is_union = getattr(shape, "is_tagged_union", False)
        if is_union or {"eventstream", "payload"} & shape.serialization.keys():
            raise UndescribedError(f"{shape.name} is no plain structure")
        for field, member in shape.members.items():
            # With a location it is a header, which botocore reads.
            if "location" not in member.serialization:
                name, read = _member(field, member)
                if name in by_name:
                    raise UndescribedError(f"{shape.name} has two members {name}")
                by_name[name] = read
        self._members = _Members(by_name)

    def read(self, node: Element) -> dict[str, Any]:
        """What *node* says, as botocore reads it.

        Raises:
            DoubtfulError: It says something twice.
            Exception: A text in it is not what it is described as.
        """
        members, told = self._members, dict[str, Any]()
        for element in node:
            member = members[element.tag]
            if member is None:
                continue
            field, is_list, value_of, structure = member
            value: Any
            if structure is not None:
                value = structure.read(element)
            elif value_of is not None:
                value = value_of(element.text or "")
            else:
                value = element.text or ""
            if is_list:
                told.setdefault(field, []).append(value)
            elif field in told:
                raise DoubtfulError(f"there are two {field}")
            else:
                told[field] = value
        return told


_Member: TypeAlias = tuple[str, bool, Callable[[str], Any] | None, Structure | None]
"""Its field, whether that is a list, what makes a value of a text, and what reads others in it."""


class _Members(dict[str, "_Member | None"]):
    """The members of one structure, by the tags that were met; namespaces do not count."""

    def __init__(self, by_name: Mapping[str, _Member]) -> None:
        super().__init__()
        self._by_name = by_name

    def __missing__(self, tag: str) -> _Member | None:
        member = self._by_name.get(name_of(tag))
        if member is not None and len(self) < _TAGS_MAX and len(tag) <= _TAG_LENGTH_MAX:
            self[tag] = member
        return member


def name_of(tag: str) -> str:
    """The name of an element that ElementTree calls *tag*: without the namespace."""
    return _NAMESPACE.sub("", tag)


def moment_of(text: Any) -> datetime:
    """The time that *text* says; botocore would try every format, a thousand times for a page."""
    is_usual = isinstance(text, str) and text[-1:] == "Z"
    moment: datetime
    try:
        moment = datetime.fromisoformat(text) if is_usual else parse_timestamp(text)
    except ValueError:
        moment = parse_timestamp(text)
    return moment


_OF_TEXTS: Mapping[str, Callable[[str], Any] | None] = {
    "boolean": "true".__eq__,
    "integer": int,
    "long": int,
    "string": None,
    "timestamp": moment_of,
}


def _member(field: str, shape: Any) -> tuple[str, _Member]:
    """The name of the elements that are read as *field*, and how they are read."""
    name = str(shape.serialization.get("name", field))
    is_list = shape.type_name == "list"
    if is_list:
        if not shape.serialization.get("flattened"):
            raise UndescribedError(f"{shape.name} is a list in an element of its own")
        shape = shape.member
        name = str(shape.serialization.get("name", name))
    if "xmlAttribute" in shape.serialization:
        raise UndescribedError(f"{shape.name} is an attribute")
    if shape.type_name == "structure":
        return name, (field, is_list, None, Structure(shape))
    if shape.type_name not in _OF_TEXTS:
        raise UndescribedError(f"{shape.name} is a {shape.type_name}")
    return name, (field, is_list, _OF_TEXTS[shape.type_name], None)
