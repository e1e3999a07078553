"""The law of what a job commit takes, fitted on each store, and tried on commits it has not seen.

The law is that of `cost_law.py`. On the project's own servers (and Hadoop's NameNode, and tmpfs),
the server counts k, in a commit of one file, and the requests by operation, in jobs of three
shapes; c is the CPU time of one commit of many files, less that of one. A job of a fourth shape
must ask for exactly what was foretold; then other sizes, latencies, rates and numbers of calls in
flight are timed, none of which the law was fitted to, and what it foretells is set against each:
T, and T if all of the driver's work falls into the time that it waits.

Of a few runs the quickest counts. How long driver and server had no core to run on is said with it,
so that a busy machine is not taken for a wrong law.

Hadoop's committers, as they are shipped and tuned, commit two sizes where the page speaks of both,
and a third between them; what they take is taken to grow evenly.

    python -m tests.benchmarks.bench_cost_law [--quick] [--rounds N]
        [--no-hadoop]        our own figures only
        [--on STORE …]       some stores only
        [--write]            keep what was found, and write docs/scale.md and its plots by it
        [--plots]            write these by what was kept, and measure nothing
"""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tests.benchmarks import cost_trials, disk_trials, scale_page
from tests.benchmarks.commit_jobs import FILES_PER_TASK
from tests.benchmarks.cost_figures import (
    FILE,
    Circumstances,
    Figures,
    calls_per_file,
    load,
    save,
    slope_of,
)
from tests.benchmarks.cost_trials import STORES
from tests.benchmarks.interleaved import Report, Sample, arguments

if TYPE_CHECKING:
    from tests.benchmarks.cost_figures import StoreFigures, Timed

LOCAL = "local"
NAMES = (*STORES, LOCAL)
ROUNDS = 1


def describe(report: Report, name: str, figures: StoreFigures) -> None:
    """The letters of the law, what it foretold, and what Hadoop's committers took."""
    law, checked = figures.law, figures.counted[-1]
    report.add(f"{name}: k, counted", Sample((float(figures.steps),)), unit="steps")
    if len(figures.one_file) > 1:
        steps = Sample((figures.steps_by_slope,))
        report.add(f"{name}: k, by how one file's commit grows with L", steps, unit="steps")
    report.add(f"{name}: c", Sample((law.cpu_s_per_file * 1e6,)), unit="us")
    for part in ("writing", "commit"):
        requests = figures.requests_of(part)
        line = requests.total()
        report.note(
            f"{name}: {part} asks {line.per_file} a file, {line.per_task} a task, {line.besides} "
            f"besides: {dict(requests.lines)}"
        )
        foretold = +requests.of(checked.tasks, checked.files)
        assert dict(foretold) == getattr(checked, part), (name, part, foretold, checked)
    for one in (figures.fitted, *figures.unseen):
        title = f"{name}: {described(one)}"
        took = Sample((one.seconds,))
        report.add(title, took, unit="s")
        report.add(f"{title}: without a core", Sample((one.waited_s,)), unit="s")
        for what, foretold_s in (
            ("T", law.seconds(one.files, one.place)),
            ("T, overlapped,", law.overlapped_s(one.files, one.place)),
        ):
            report.compare(f"{title}: {what} / measured", Sample((foretold_s,)), took)
            if one.tells:
                rest = Sample((one.least_s,))
                report.compare(f"{title}: {what} / the rest", Sample((foretold_s,)), rest)
        if one.requests:
            asked = Sample((float(sum(one.requests.values())),))
            foretold_asked = law.requests.of(law.tasks(one.files), one.files).total()
            report.compare(
                f"{title}: requests foretold / sent", Sample((float(foretold_asked),)), asked
            )
    for title, commits in figures.hadoop.items():
        slope = slope_of(commits)
        report.add(f"{name}: {title}, a file", Sample((slope.s_per_file * 1e6,)), unit="us")
        asked_each = Sample((sum(calls_per_file(commits).values()),))
        report.add(f"{name}: {title}, a file", asked_each, unit="requests")
        for one in commits[1:-1]:
            foretold_line = slope.seconds(one.files)
            took = Sample((one.seconds,))
            of = f"{name}: {title}, {one.files:,} files: foretold / measured"
            report.compare(of, Sample((foretold_line,)), took)


def described(one: Timed) -> str:
    """A commit in words."""
    if not one.latency_s:
        return f"{one.files:,} files"
    rate = f", {one.rate_per_s:,.0f}/s" if one.rate_per_s else ""
    return f"{one.files:,} files, {one.latency_s * 1000:g} ms{rate}, {one.in_flight} in flight"


def keep(found: Figures) -> None:
    """Store what was found beside what was stored of other stores; then write the page by it."""
    kept = load() if FILE.exists() else Figures(circumstances={}, stores={})
    circumstances = {**kept.circumstances, **found.circumstances}
    stores = {**kept.stores, **found.stores}
    names = [name for name in NAMES if name in stores]
    save(
        Figures(
            circumstances={name: circumstances[name] for name in names},
            stores={name: stores[name] for name in names},
        )
    )
    scale_page.write()


def circumstances(load_before: float) -> Circumstances:
    """Of what was measured since the load average was this."""
    return Circumstances(
        measured=datetime.now(UTC).date().isoformat(),
        python=platform.python_version(),
        cores=os.cpu_count() or 1,
        load=round((load_before + os.getloadavg()[0]) / 2, 1),
        niceness=os.nice(0),
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--no-hadoop", action="store_true")
    parser.add_argument("--on", choices=NAMES, nargs="+")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--plots", action="store_true")
    options = parser.parse_args()
    if options.plots:
        scale_page.write()
        return
    report = Report("cost_law", options.quick)
    rounds = options.rounds or (1 if options.quick else ROUNDS)
    report.note(f"{FILES_PER_TASK} files a task; the quickest of {rounds}")
    found = Figures(circumstances={}, stores={})
    for name in options.on or NAMES:
        load_before = os.getloadavg()[0]
        if name == LOCAL:
            figures = disk_trials.on_disk(report, options, rounds)
        else:
            plan = cost_trials.quick(STORES[name]) if options.quick else STORES[name]
            figures = cost_trials.on_server(report, name, plan, options, rounds)
        found.stores[name] = figures
        found.circumstances[name] = circumstances(load_before)
        describe(report, name, figures)
    if options.write and not options.quick:
        keep(found)
    report.finish()


if __name__ == "__main__":
    main()
