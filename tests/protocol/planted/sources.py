"""Which planted bug each rule, each finding and each old mistake has: ``SOURCES.md``.

``python -m tests.protocol.planted.sources`` writes the page anew; a test compares it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.protocol.planted.sources_findings import FINDINGS
from tests.protocol.planted.sources_history import HISTORY
from tests.protocol.planted.sources_models import MODELS
from tests.protocol.planted.uncaught import HELD_BY, NO_DIFFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.protocol.planted.source import Source

SOURCES = {**MODELS, **FINDINGS, **HISTORY}
PAGE = Path(__file__).with_name("SOURCES.md")
_HEAD = """\
# What the planted bugs come from

<!-- Written by `python -m tests.protocol.planted.sources`; a test compares it. -->

Each rule of the models, each bug that was found by attacks, and each mistake of other writers that
users reported, with the planted bugs that make it again, or why none can. The simulator finds a bug
by itself unless another test is named.
"""


def page() -> str:
    """What ``SOURCES.md`` says."""
    return _HEAD + "".join(_section(title, sources) for title, sources in SOURCES.items())


def _section(title: str, sources: tuple[Source, ...]) -> str:
    head = f"## {title[0].upper()}{title[1:]}\n\n| what | planted as |\n|---|---|\n"
    return f"\n{head}{''.join(_rows(sources))}"


def _rows(sources: tuple[Source, ...]) -> Iterator[str]:
    for source in sources:
        what = f"{source.what} ({source.known_as})" if source.known_as else source.what
        planted = "; ".join(map(_planted, source.planted))
        yield f"| {what} | {planted or f'not at all: {source.why_not}'} |\n"


def _planted(name: str) -> str:
    if name in HELD_BY:
        test = HELD_BY[name].rpartition("::")[2].partition("[")[0]
        return f"*{name}*, by `{test}`"
    return f"*{name}*, which makes no difference" if name in NO_DIFFERENCE else f"*{name}*"


if __name__ == "__main__":
    PAGE.write_text(page())
