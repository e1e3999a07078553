"""The arithmetic of the law of what a commit takes; that its prices cover all that is asked."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks.commit_jobs import Limits
from tests.benchmarks.cost_figures import Timed, calls_per_file, least_hadoop_s
from tests.benchmarks.cost_law import Counted, Law, Line, Requests, Slope, steps_by_slope
from tests.benchmarks.prices import all_prices

if TYPE_CHECKING:
    from tests.benchmarks.prices import Prices

PLACE = Limits(0.05, 1_000.0, 64)


def asking(**lines: Line) -> Requests:
    return Requests(lines)


def counted(lines: Requests, *shapes: tuple[int, int]) -> list[Counted]:
    return [Counted(t, t * each, +lines.of(t, t * each)) for t, each in shapes]


def test_lines_are_found_again_from_three_jobs() -> None:
    lines = asking(put=Line(5, 1, 0), get=Line(0, 2, 0), rename=Line(1, 0, 1), list=Line(3, 0, 0))
    found = Requests.through(counted(lines, (1, 1), (1, 3), (3, 1)))
    assert found == lines
    assert found.of(10, 1_000) == Counter(put=15, get=20, rename=1_001, list=3)
    assert found.total() == Line(9, 3, 1)


def test_requests_that_grow_unevenly_are_no_line() -> None:
    jobs = [Counted(1, 1, {"list": 1}), Counted(1, 3, {"list": 2}), Counted(3, 3, {"list": 2})]
    with pytest.raises(ValueError, match=r"list: \[1, 2, 2\] is no line"):
        Requests.through(jobs)


def test_lines_are_drawn_through_known_shapes_only() -> None:
    with pytest.raises(ValueError, match="are needed"):
        Requests.through(counted(asking(get=Line(1, 0, 0)), (1, 1), (1, 2), (2, 2)))


def test_two_parts_of_a_job_are_added() -> None:
    writing, commit = asking(put=Line(1, 1, 1), head=Line(0, 1, 0)), asking(put=Line(2, 0, 0))
    assert writing + commit == asking(put=Line(3, 1, 1), head=Line(0, 1, 0))


def law(*, cpu_s_per_file: float) -> Law:
    requests = asking(rename=Line(1, 0, 1), get=Line(2, 1, 0), list=Line(7, 0, 0))
    return Law(10, cpu_s_per_file, requests, files_per_task=20)


@pytest.mark.parametrize(
    ("place", "each_s"),
    [
        (Limits(0.05, None, 64), 0.05 / 64),
        (Limits(0.05, 10_000.0, 64), 0.05 / 64),
        (PLACE, 1 / 1_000),
    ],
)
def test_a_commit_waits_for_its_steps_and_for_the_slower_of_two_limits(
    place: Limits, each_s: float
) -> None:
    """Of 2,000 files, whose hundred manifests are read."""
    assert law(cpu_s_per_file=0.0).seconds(2_000, place) == pytest.approx(0.5 + 2_100 * each_s)


def test_what_the_driver_works_is_added_or_hidden() -> None:
    waits_s = 0.5 + 2.1
    little, much = law(cpu_s_per_file=0.0002), law(cpu_s_per_file=0.002)
    assert little.seconds(2_000, PLACE) == pytest.approx(waits_s + 0.4)
    assert little.overlapped_s(2_000, PLACE) == pytest.approx(waits_s)
    assert much.seconds(2_000, PLACE) == pytest.approx(waits_s + 4.0)
    assert much.overlapped_s(2_000, PLACE) == pytest.approx(0.5 + 4.0)


@pytest.mark.parametrize("files", [1, 100, 10**8])
def test_overlapped_is_never_more_and_never_less_than_half(files: int) -> None:
    for cpu_s in (0.0, 1e-4, 1e-2):
        one = law(cpu_s_per_file=cpu_s)
        assert one.seconds(files, PLACE) / 2 <= one.overlapped_s(files, PLACE)
        assert one.overlapped_s(files, PLACE) <= one.seconds(files, PLACE)


def test_where_nothing_is_late_a_commit_takes_its_work() -> None:
    assert law(cpu_s_per_file=0.001).seconds(500, Limits(0.0)) == pytest.approx(0.5)


def test_steps_are_the_slope_over_latency() -> None:
    assert steps_by_slope([(0.1, 2.3), (0.02, 0.5)]) == pytest.approx(22.5)


def test_a_slope_goes_through_the_ends() -> None:
    slope = Slope.through([(100, 1.2), (200, 9.9), (300, 1.6)])
    assert (slope.besides_s, slope.s_per_file) == pytest.approx((1.0, 0.002))
    assert slope.seconds(1_000) == pytest.approx(3.0)
    assert Slope(-1.0, 0.002).seconds(1_000) == pytest.approx(2.0)
    with pytest.raises(ValueError, match="two sizes"):
        Slope.through([(100, 1.0), (100, 2.0)])


def hadoops(files: int, seconds: float, *, waited_s: float = 0.0, **requests: int) -> Timed:
    return Timed(
        files=files,
        latency_s=0.05,
        rate_per_s=None,
        in_flight=8,
        seconds=seconds,
        cpu_s=0.0,
        waited_s=waited_s,
        requests=requests,
    )


def test_hadoop_takes_at_least_what_its_requests_take() -> None:
    commits = hadoops(100, 9.0, copy=100, list=3), hadoops(300, 99.0, copy=300, delete=400, list=3)
    assert calls_per_file(commits) == {"copy": 1.0, "delete": 2.0}
    assert least_hadoop_s(commits, 800, PLACE) == pytest.approx(800 * 3 * 0.05 / 8)
    assert least_hadoop_s(commits, 800, Limits(0.05, 100.0)) == pytest.approx(800 * 3 / 100)


def test_on_a_disk_hadoop_takes_its_line_less_what_it_waited_for_a_core() -> None:
    commits = hadoops(100, 1.5, waited_s=0.5), hadoops(300, 4.0, waited_s=1.0)
    assert least_hadoop_s(commits, 1_000, PLACE) == pytest.approx(10.0)
    hidden = hadoops(100, 1.0, waited_s=5.0), hadoops(300, 3.0, waited_s=5.0)
    assert least_hadoop_s(hidden, 1_000, PLACE) == pytest.approx(10.0)


@pytest.mark.parametrize("prices", all_prices(), ids=lambda prices: prices.name)
def test_a_price_says_of_what_where_and_when(prices: Prices) -> None:
    assert prices.usd_per_1000.keys() == prices.classes.keys()
    assert prices.source.startswith("https://")
    assert prices.date.startswith("20")
    assert prices.verified
    assert prices.region
    operations = [name for names in prices.classes.values() for name in names]
    assert len(operations) == len(set(operations)), "an operation has one class"


def test_prices_are_for_a_thousand() -> None:
    [prices] = [one for one in all_prices() if one.name == "S3 Standard"]
    put, get = prices.usd_per_1000["write"], prices.usd_per_1000["read"]
    asked = {"PutObject": 3_000, "GetObject": 500, "DeleteObject": 10**6}
    assert prices.usd(asked) == pytest.approx(3 * put + 0.5 * get)
    with pytest.raises(KeyError, match="GetObjectTorrent"):
        prices.usd({"GetObjectTorrent": 1})
