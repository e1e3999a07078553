"""The tables of docs/scale.md and its plots, from what `cost_law.json` and `prices.json` hold."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.commit_jobs import Limits
from tests.benchmarks.cost_figures import StoreFigures, calls_per_file, least_hadoop_s, load
from tests.benchmarks.line_plots import Axis, Curve, plot
from tests.benchmarks.prices import Prices, all_prices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tests.benchmarks.cost_figures import Circumstances, Figures

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, PLOTS = DOCS / "scale.md", DOCS / "plots"
SIZES = (10**4, 10**6, 10**8)
PLACES = {
    # What S3 takes of one prefix.
    "S3": Limits(0.05, 3_500.0),
    "S3 Express": Limits(0.01),
    # What a bucket takes that nobody has written to.
    "GCS": Limits(0.05, 1_000.0),
    "Gen2": Limits(0.05),
    "HDFS": Limits(0.001),
    "local": Limits(0.0),
}
"""Where the page speaks of commits: L and R; C is what the driver had when it was measured."""
_X = Axis("files", 1e2, 1e8, {10.0**n: f"10{'⁰¹²³⁴⁵⁶⁷⁸'[n]}" for n in range(2, 9)})
_MINUTE_S, _HOUR_S, _DAY_S = 60.0, 3_600.0, 86_400.0
_TIMES = {
    0.01: "10 ms",
    0.1: "0.1 s",
    1.0: "1 s",
    10.0: "10 s",
    _MINUTE_S: "1 min",
    10 * _MINUTE_S: "10 min",
    _HOUR_S: "1 h",
    10 * _HOUR_S: "10 h",
    4 * _DAY_S: "4 days",
    40 * _DAY_S: "40 days",
}
_Y = Axis("a job commit takes", 0.01, 40 * _DAY_S, _TIMES)
NONE = "\N{EN DASH}"
_BLOCK = re.compile(r"(<!-- written: (\w+) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def write() -> None:
    """Write the tables into the page, and the plots beside it."""
    figures = load()
    PAGE.write_text(with_tables(PAGE.read_text("utf-8"), figures), "utf-8")
    PLOTS.mkdir(exist_ok=True)
    for name, drawn in plots(figures).items():
        (PLOTS / name).write_text(drawn, "utf-8")


def with_tables(text: str, figures: Figures) -> str:
    """The page's text with its tables as they follow from the figures.

    Raises:
        KeyError: it has a place for a table that there is not.
    """
    written = tables(figures)
    return _BLOCK.sub(lambda block: f"{block[1]}\n{written[block[2]]()}\n{block[3]}", text)


def plots(figures: Figures) -> dict[str, str]:
    """The drawing of each store by the name of its file."""
    return {
        f"scale-{name.lower().replace(' ', '-')}.svg": _plot(name, store)
        for name, store in figures.stores.items()
    }


def tables(figures: Figures) -> dict[str, Callable[[], str]]:
    """What writes each table, by its name on the page."""
    stores = figures.stores
    return {
        "measured": lambda: _measured(figures.circumstances),
        "letters": lambda: _letters(stores),
        "requests": lambda: _requests(stores),
        "takes": lambda: _takes(stores),
        "commit": lambda: _costs(stores, lambda store: store.law.requests.of),
        "job": lambda: _costs(stores, lambda store: store.requests_of_all.of),
        "prices": _prices,
        "unseen": lambda: _unseen(stores),
        "hadoop": lambda: _hadoop(stores),
    }


def _measured(circumstances: Mapping[str, Circumstances]) -> str:
    rows = [
        (name, one.measured, one.python, f"{one.load:.1f} on {one.cores} cores", str(one.niceness))
        for name, one in circumstances.items()
    ]
    return _table(("", "measured", "Python", "load average", "our niceness"), rows)


def _place_of(name: str, store: StoreFigures) -> Limits:
    return replace(PLACES[name], in_flight=store.fitted.in_flight)


def _letters(stores: Mapping[str, StoreFigures]) -> str:
    rows = []
    for name, store in stores.items():
        slope = f"{store.steps_by_slope:.1f}" if len(store.one_file) > 1 else NONE
        cpu = f"{store.law.cpu_s_per_file * 1e6:,.0f} µs"
        rows.append((name, f"`{store.committer}`", str(store.steps), slope, cpu))
    return _table(("store", "committer", "k, counted", "k, by its slope", "c"), rows)


def _requests(stores: Mapping[str, StoreFigures]) -> str:
    rows = []
    for name, store in stores.items():
        commit, job = store.law.requests.total(), store.requests_of_all.total()
        rows.append(
            (
                f"{name} ({store.asks})",
                *(
                    f"{line.per_file} N + {line.per_task} M + {line.besides}"
                    for line in (commit, job)
                ),
            )
        )
    return _table(("", "the job's commit", "the whole job"), rows)


def _takes(stores: Mapping[str, StoreFigures]) -> str:
    rows = []
    for name, store in stores.items():
        place, law = _place_of(name, store), store.law
        for files in SIZES:
            overlapped = law.overlapped_s(files, place)
            waiting = law.waiting_s(files, place) - law.steps * place.latency_s
            rows.append(
                (
                    f"{name}, {_place(place)}" if files == SIZES[0] else "",
                    _count(files),
                    duration(law.steps * place.latency_s),
                    duration(waiting),
                    duration(files * law.cpu_s_per_file),
                    _range(overlapped, law.seconds(files, place)),
                )
            )
    head = ("", "files", "k·L", "max(n/R, n·L/C)", "N·c", "the commit takes")
    return _table(head, rows)


def _costs(
    stores: Mapping[str, StoreFigures],
    requests_of: Callable[[StoreFigures], Callable[[int, int], Mapping[str, int]]],
) -> str:
    rows = []
    for prices in all_prices():
        if prices.counted_on not in stores:
            continue
        store = stores[prices.counted_on]
        cells = []
        for files in SIZES:
            requests = requests_of(store)(store.law.tasks(files), files)
            cells.append(f"{_short(sum(requests.values()))}, {money(prices.usd(requests))}")
        rows.append((prices.name, *cells))
    return _table(("requests, and what they cost", *(f"{_count(n)} files" for n in SIZES)), rows)


def _prices() -> str:
    def row(prices: Prices) -> tuple[str, ...]:
        each = ", ".join(
            f"{name} {usd:.5f}".rstrip("0") for name, usd in prices.usd_per_1000.items() if usd
        )
        return (
            prices.name,
            each,
            prices.region,
            prices.date,
            f"{prices.verified}: <{prices.source}>",
        )

    head = ("store", "US dollars for 1,000", "region", "as of", "how far that is known")
    return _table(head, map(row, all_prices()))


def _unseen(stores: Mapping[str, StoreFigures]) -> str:
    rows = []
    for name, store in stores.items():
        law = store.law
        for one in store.unseen:
            foretold = law.overlapped_s(one.files, one.place), law.seconds(one.files, one.place)
            rows.append(
                (
                    name,
                    f"{one.files:,}",
                    _place(one.place),
                    _range(*foretold),
                    f"{one.seconds:.2f} s",
                    f"{foretold[1] / one.seconds:.2f}",
                    f"{one.waited_s:.2f} s",
                    f"{foretold[1] / one.least_s:.2f}" if one.tells else NONE,
                )
            )
    head = ("", "files", "where", "foretold", "measured", "T / measured", "without a core")
    return _table((*head, "T / the rest"), rows)


def _hadoop(stores: Mapping[str, StoreFigures]) -> str:
    rows = []
    for name, store in stores.items():
        for title, commits in store.hadoop.items():
            place, asked = _place_of(name, store), calls_per_file(commits)
            least = [least_hadoop_s(commits, files, place) for files in SIZES]
            prices = [one for one in all_prices() if one.counted_on == name]
            cost = " or ".join(dict.fromkeys(money(one.usd(asked) * 1e6) for one in prices))
            last = commits[-1]
            rows.append(
                (
                    name,
                    title.removeprefix("Hadoop, "),
                    f"{sum(asked.values()):.1f}" if asked else NONE,
                    str(max(one.in_flight for one in commits)) if asked else NONE,
                    *map(duration, least),
                    f"{least[1] / store.law.seconds(SIZES[1], place):.2f}",
                    f"{last.files:,} files: {duration(last.seconds)}",
                    cost or NONE,
                )
            )
    sizes = (f"{_count(files)} files, at least" for files in SIZES)
    head = ("", "Hadoop's", "requests a file", "threads", *sizes)
    return _table((*head, "of our T, at 10⁶", "measured", "10⁶ files cost"), rows)


def _plot(name: str, store: StoreFigures) -> str:
    place, law = _place_of(name, store), store.law
    sizes = [round(10 ** (quarter / 4)) for quarter in range(8, 33)]

    def curve(title: str, seconds: Callable[[int], float], **more: object) -> Curve:
        return Curve(title, [(n, max(_Y.low, seconds(n))) for n in sizes], **more)  # type: ignore[arg-type]

    return plot(
        f"{name}: {_place(place)}",
        _X,
        _Y,
        [
            curve(f"here, {store.committer}: T", partial(law.seconds, place=place)),
            curve(
                "here, all work done while waiting",
                partial(law.overlapped_s, place=place),
                is_dashed=True,
            ),
            *(
                curve(
                    f"{title}, at least; dots are measured",
                    partial(least_hadoop_s, commits, place=place),
                    dots=[(one.files, one.seconds) for one in commits if one.files >= _X.low],
                )
                for title, commits in store.hadoop.items()
            ),
        ],
    )


def _place(place: Limits) -> str:
    if not place.latency_s:
        return "no latency"
    rate = f"{place.rate_per_s:,.0f}/s, " if place.rate_per_s else ""
    return f"{place.latency_s * 1000:g} ms, {rate}{place.in_flight} in flight"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n".replace("|  |", "| |") for cells in lines)


def _count(files: int) -> str:
    return f"10{'⁰¹²³⁴⁵⁶⁷⁸⁹'[len(str(files)) - 1]}"


def _short(count: float) -> str:
    """A large number in two or three digits: 1,050,000 is 1.05 million."""
    for size, name in ((1e6, " million"), (1e3, " thousand")):
        if count >= size:
            return f"{count / size:.3g}{name}"
    return f"{count:.0f}"


def _range(least_s: float, most_s: float) -> str:
    return " to ".join(dict.fromkeys((duration(least_s), duration(most_s))))


def duration(seconds: float) -> str:
    """Two digits and a unit that a person would take."""
    for size, name in ((_DAY_S, "days"), (_HOUR_S, "h"), (_MINUTE_S, "min")):
        if seconds >= 2 * size:
            return f"{_two_digits(seconds / size)} {name}"
    if seconds >= 1:
        return f"{_two_digits(seconds)} s"
    return f"{_two_digits(seconds * 1000)} ms" if seconds else "0"


def money(usd: float) -> str:
    """US dollars, in two digits or in full."""
    if usd >= 100:
        return f"${usd:,.0f}"
    return f"${usd:.2f}" if usd >= 1 else f"${_two_digits(usd)}"


def _two_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
