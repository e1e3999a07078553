"""``python -m fsspec_commit.engines.spark.driver_process``: what the jar starts."""

import argparse
import logging
import os
import signal
from importlib.metadata import version

from fsspec.config import conf

from fsspec_commit.engines.spark.driver_process.channel import Channel, Requests
from fsspec_commit.engines.spark.driver_process.requests import PROTOCOL
from fsspec_commit.engines.spark.driver_process.serving import Serving
from fsspec_commit.engines.spark.hadoop_settings import PREFIXES, PROPERTIES, SECRETS
from fsspec_commit.engines.spark.job_options import UNMISTAKABLE


def main() -> None:
    """Serve a JVM until standard input ends, or answer to ``--check``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only show that it can be started")
    if parser.parse_args().check:
        print(f"fsspec-commit {version('fsspec-commit')} can commit jobs of Spark")  # noqa: T201
        return
    _outlive_signals()
    forget_fsspecs_own_settings()
    requests = Requests.take_standard_input()
    logging.basicConfig(level=logging.WARNING, format="fsspec-commit: %(message)s")
    channel = Channel.take_standard_output()
    channel.send(
        protocol=PROTOCOL,
        version=version("fsspec-commit"),
        prefixes=PREFIXES,
        properties=PROPERTIES,
        secrets=SECRETS,
        options=UNMISTAKABLE,
    )
    Serving(channel).serve(requests)


def forget_fsspecs_own_settings() -> None:
    """Have Hadoop's settings alone say where a job writes, and as whom.

    fsspec adds what its files in ``~/.config/fsspec`` and variables ``FSSPEC_…`` say to whatever
    options it is given: a key there would be used instead of the role of Hadoop's driver.
    """
    conf.clear()


def _outlive_signals() -> None:
    """End with the JVM alone: ignore what a terminal sends to the JVM and all in its group."""
    if os.getpgrp() != os.getpid():
        os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


if __name__ == "__main__":
    main()
