"""Lines on two logarithmic axes, as SVG whose bytes depend on nothing but what is drawn.

A plotting library writes other bytes with each of its versions, and a test compares them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

_WIDTH, _HEIGHT = 720, 430
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 40, 50
# Told apart by people who see no red or no green (Okabe and Ito).
_COLOURS = ("#0072b2", "#56b4e9", "#d55e00", "#e69f00", "#009e73", "#cc79a7")
_LEGEND_LINE = 18


@dataclass(frozen=True)
class Curve:
    """One line, and dots where it was measured.

    Attributes:
        title: What it is of.
        points: Of the line, from left to right.
        dots: What was measured.
        is_dashed: Drawn so.
    """

    title: str
    points: Sequence[tuple[float, float]]
    dots: Sequence[tuple[float, float]] = ()
    is_dashed: bool = False


@dataclass(frozen=True)
class Axis:
    """From where to where, what it is of, and its marks with their names."""

    title: str
    low: float
    high: float
    marks: Mapping[float, str]

    def share(self, value: float) -> float:
        """How far a value lies from the low end to the high one."""
        return math.log(value / self.low) / math.log(self.high / self.low)


def plot(title: str, x: Axis, y: Axis, curves: Sequence[Curve]) -> str:
    """The drawing; of a line that leaves it above, the part inside."""
    return "\n".join(
        [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
                'font-family="sans-serif">'
            ),
            f"<title>{escape(title)}</title>",
            f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
            _text(_LEFT, _TOP - 16, title, size=14),
            *_grid(x, y),
            *(
                part
                for number, curve in enumerate(curves)
                for part in _curve(x, y, curve, _COLOURS[number], number)
            ),
            "</svg>\n",
        ]
    )


def _grid(x: Axis, y: Axis) -> Iterator[str]:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    for value, name in x.marks.items():
        at = _across(x, value)
        yield _line(at, _TOP, at, bottom, "#e0e0e0")
        yield _text(at, bottom + 18, name, anchor="middle")
    for value, name in y.marks.items():
        at = _up(y, value)
        yield _line(_LEFT, at, right, at, "#e0e0e0")
        yield _text(_LEFT - 8, at + 4, name, anchor="end")
    yield _text((_LEFT + right) / 2, _HEIGHT - 12, x.title, anchor="middle")
    yield _text(right, _TOP - 16, y.title, anchor="end")


def _curve(x: Axis, y: Axis, curve: Curve, colour: str, number: int) -> Iterator[str]:
    places = [f"{_across(x, a):.1f},{_up(y, b):.1f}" for a, b in _inside(y, curve.points)]
    dashes = ' stroke-dasharray="6 4"' if curve.is_dashed else ""
    style = f'fill="none" stroke="{colour}" stroke-width="2"{dashes}'
    yield f'<polyline points="{" ".join(places)}" {style}/>'
    for a, b in curve.dots:
        yield f'<circle cx="{_across(x, a):.1f}" cy="{_up(y, b):.1f}" r="3.5" fill="{colour}"/>'
    at = _TOP + 16 + _LEGEND_LINE * number
    yield f'<polyline points="{_LEFT + 12},{at - 4} {_LEFT + 40},{at - 4}" {style}/>'
    yield _text(_LEFT + 48, at, curve.title)


def _inside(y: Axis, points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Until the line would leave the drawing above, and where it does."""
    last: tuple[float, float] | None = None
    for point in points:
        if point[1] > y.high:
            if last is not None:
                share = math.log(y.high / last[1]) / math.log(point[1] / last[1])
                yield last[0] * (point[0] / last[0]) ** share, y.high
            return
        yield point
        last = point


def _across(x: Axis, value: float) -> float:
    return _LEFT + x.share(value) * (_WIDTH - _LEFT - _RIGHT)


def _up(y: Axis, value: float) -> float:
    return _HEIGHT - _BOTTOM - y.share(value) * (_HEIGHT - _TOP - _BOTTOM)


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12) -> str:
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
    return f'<text {where} fill="#202020">{escape(text)}</text>'
