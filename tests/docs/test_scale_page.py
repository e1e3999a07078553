"""What the page on scale says is what was measured, and what follows from it today."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks import scale_page
from tests.benchmarks.cost_figures import FILE, load, save
from tests.benchmarks.prices import all_prices
from tests.benchmarks.scale_page import PAGE, PLACES, PLOTS

if TYPE_CHECKING:
    from tests.benchmarks.prices import Prices

pytestmark = pytest.mark.checkout

FIGURES = load()
WRITE = "python -m tests.benchmarks.bench_cost_law --plots"


def test_the_tables_are_what_follows_from_the_figures() -> None:
    text = PAGE.read_text("utf-8")
    assert scale_page.with_tables(text, FIGURES) == text, f"{WRITE} writes them anew"


def test_every_table_is_on_the_page() -> None:
    placed = re.findall(r"<!-- written: (\w+) -->", PAGE.read_text("utf-8"))
    assert sorted(placed) == sorted(scale_page.tables(FIGURES))


def test_the_plots_are_drawn_again_byte_by_byte() -> None:
    kept = {path.name: path.read_bytes() for path in PLOTS.glob("scale-*.svg")}
    drawn = {name: text.encode() for name, text in scale_page.plots(FIGURES).items()}
    assert kept == drawn, f"{WRITE} draws them anew"


def test_every_plot_is_on_the_page() -> None:
    shown = re.findall(r"\]\(plots/(scale-[\w-]+\.svg)\)", PAGE.read_text("utf-8"))
    assert sorted(shown) == sorted(path.name for path in PLOTS.glob("scale-*.svg"))


def test_figures_are_kept_as_they_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    monkeypatch.setattr(type(FILE), "write_bytes", lambda _, data: written.append(data))
    save(FIGURES)
    assert written == [FILE.read_bytes()]


def test_the_figures_name_no_machine_and_no_place_on_it() -> None:
    assert not re.search(r"://|\\\\|/(?:dev|home|root|tmp|var)\b", FILE.read_text("utf-8"))


@pytest.mark.parametrize("name", FIGURES.stores)
def test_a_job_that_the_lines_have_not_seen_asks_for_what_they_say(name: str) -> None:
    store = FIGURES.stores[name]
    checked = store.counted[-1]
    for part in ("writing", "commit"):
        foretold = +store.requests_of(part).of(checked.tasks, checked.files)
        assert dict(foretold) == getattr(checked, part), part


@pytest.mark.parametrize("name", FIGURES.stores)
def test_a_file_is_published_by_one_request(name: str) -> None:
    assert FIGURES.stores[name].law.requests.total().per_file == 1


@pytest.mark.parametrize("prices", all_prices(), ids=lambda prices: prices.name)
def test_all_that_was_asked_has_a_price(prices: Prices) -> None:
    store = FIGURES.stores[prices.counted_on]
    prices.usd(store.requests_of_all.of(1, 1))
    for commits in store.hadoop.values():
        for one in commits:
            prices.usd(one.requests)


def test_every_store_has_a_place_of_which_the_page_speaks() -> None:
    assert set(FIGURES.stores) == set(PLACES)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.0, "0"),
        (0.0034, "3.4 ms"),
        (0.25, "250 ms"),
        (1.24, "1.2 s"),
        (119.0, "119 s"),
        (120.0, "2 min"),
        (7_300.0, "2 h"),
        (180_000.0, "2.1 days"),
    ],
)
def test_a_duration_is_said_in_a_unit_for_people(seconds: float, shown: str) -> None:
    assert scale_page.duration(seconds) == shown


@pytest.mark.parametrize(
    ("usd", "shown"), [(0.000123, "$0.00012"), (0.05, "$0.05"), (5.0, "$5.00"), (1_234.5, "$1,234")]
)
def test_money_is_said_in_dollars(usd: float, shown: str) -> None:
    assert scale_page.money(usd) == shown
