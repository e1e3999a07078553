"""``fsspec-commit certify``: both contracts, against somebody's own account or server."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

import fsspec_commit as fc
from fsspec_commit.cli.ending import CutShort, Run, Status, ending
from fsspec_commit.cli.options import (
    AsJson,
    Committer,
    Debug,
    Destination,
    StorageOption,
    storage_options,
)
from fsspec_commit.cli.output import counted, plain
from fsspec_commit.cli.progress import trying

if TYPE_CHECKING:
    from fsspec_commit.testing import Certificate

_REMOVED = CutShort(
    Status.NOT_COMMITTED, "not_committed", "what had been written there was removed"
)
_NO_PYTEST = (
    "certify runs tests by pytest, which is not installed;"
    " install it with: pip install 'fsspec-commit[testing]'"
)


def certify(
    destination: Destination,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the certificate there, as JSON."
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Try one case of each test, and one fault of each."),
    ] = False,
    committer: Committer = "auto",
    storage_option: StorageOption = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Try a store, and whole jobs on it, and write a certificate of what it kept.

    Thousands of requests are sent, all below a fresh directory of the destination, which must be
    empty; it is removed at the end, also after Ctrl-C. The certificate holds no storage option.
    The exit status is 1 if anything is broken, or if no committer is safe there.

    Examples:
      fsspec-commit certify s3://out/empty-place --output certificate.json
      fsspec-commit certify abfs://fs@account.dfs.core.windows.net/try --quick
    """
    run = Run(destination, as_json=as_json, debug=debug, public=[str(output)] if output else [])
    with ending(run):
        run.storage_options = run.hide(storage_options(storage_option))
        try:
            import pytest  # noqa: F401  # before anything is written

            from fsspec_commit.testing import certify as certified
        except ModuleNotFoundError as error:
            if error.name != "pytest":
                raise
            raise fc.RequestError(_NO_PYTEST, kind="missing_package") from None
        with _written_to(output, run) as write:
            run.cut_short = _REMOVED
            with trying(shown=run.output.shows_progress) as watch:
                certificate = certified(
                    destination,
                    storage_options=run.storage_options,
                    committer=cast("Any", committer),  # refused there, if it is none
                    quick=quick,
                    watch=watch,
                )
            write(certificate)
        run.output.answer(certificate.document(), ("what", "found", "of"), _rows(certificate))
        for name in certificate.not_removed:
            run.output.warn(f"could not be removed: {name}")
        if not certificate.ok:
            raise typer.Exit(Status.NOT_COMMITTED)


@contextmanager
def _written_to(path: Path | None, run: Run) -> Iterator[Callable[["Certificate"], None]]:
    """What writes the certificate; an hour's work is not begun where there is no place for it.

    A pipe or a device is written to; a file appears whole, and if *path* is a link, where it leads.
    """
    if path is None:
        yield lambda _certificate: None
        return
    is_file = path.is_file() or not path.exists()
    # A pipe without a name is shown by the system as a link that leads to no path at all.
    place = Path(os.path.realpath(path)) if is_file or path.is_dir() else path
    _refuse_as_output(path, place, run.destination)
    beside = place.with_name(f"{place.name}.{os.getpid()}.new") if is_file else place
    try:
        opened = beside.open("x" if is_file else "w", encoding="utf-8")
    except OSError as error:
        error.filename = str(path)  # As it was given.
        raise
    with opened as file:
        try:

            def write(certificate: "Certificate") -> None:
                document = run.output.redact.document(plain(certificate.document()))
                file.write(json.dumps(document, indent=2) + "\n")
                file.close()
                if is_file:
                    beside.replace(place)

            yield write
        finally:
            if is_file:
                beside.unlink(missing_ok=True)


def _refuse_as_output(path: Path, place: Path, destination: str) -> None:
    """Refuse a directory, and a file in the place that is certified, which must stay empty."""
    tried = Path(os.path.realpath(Path(destination.removeprefix("file://")).expanduser()))
    if place.is_dir():
        what = "is a directory"
    elif destination and place.is_relative_to(tried):
        what = "lies in the destination, which must be empty"
    else:
        return
    message = f"--output names the file of the certificate, and {str(path)!r} {what}"
    raise fc.RequestError(f"{message}: name another file", kind="usage")


def _rows(certificate: "Certificate") -> list[Sequence[object]]:
    refused = {name: why for name, why in certificate.committers.items() if why}
    tried, cases = certificate.cases
    counts = certificate.counts
    by_verdict: dict[str, list[str]] = {}
    for name, verdict in certificate.guarantees.items():
        by_verdict.setdefault(verdict, []).append(name)
    return [
        ("committer", certificate.committer or "none is safe", ""),
        *(("refused", name, why) for name, why in refused.items()),
        ("kept", counted(counts["kept"], "test"), f"{tried:,} of {cases:,} faults tried"),
        *(("skipped", counted(n, "test"), why) for why, n in certificate.skipped_because.items()),
        *(("difference", text, "") for text in certificate.differences),
        *(
            ("broken", found.test, f"{found.promise} {found.reason}")
            for found in certificate.broken
        ),
        *((f"guarantees {verdict}", " ".join(ids), "") for verdict, ids in by_verdict.items()),
        ("calls", f"{sum(certificate.calls.values()):,}", _listed(certificate.calls)),
        ("duration", f"{certificate.duration_s:.1f} s", ""),
    ]


def _listed(calls: Mapping[str, int]) -> str:
    return ", ".join(f"{verb} {count:,}" for verb, count in calls.items())
