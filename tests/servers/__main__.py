"""``python -m tests.servers install [--nightly]``: `make servers` and `make servers-nightly`."""

from __future__ import annotations

import argparse
import os
import sys

from tests.servers.installation import InstallationError, ServerUnavailableError
from tests.servers.kinds import EVERY_RUN, NIGHTLY


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.servers")
    install = parser.add_subparsers(required=True).add_parser("install")
    install.add_argument("--nightly", action="store_true", help="the probe's further servers too")
    nightly = parser.parse_args(arguments).nightly
    missing = False
    for kind in (*EVERY_RUN, *NIGHTLY) if nightly else EVERY_RUN:
        what = f"{kind.name} {kind.installation.version}"
        try:
            print(f"{what} {kind.installation.ensure()}", flush=True)
        except ServerUnavailableError as error:
            # By night what is there is tested; of the three, none may be missing in CI.
            missing |= kind in EVERY_RUN
            print(f"{what} left out: {error}; its tests are skipped", flush=True)
        except InstallationError as error:
            print(f"{what}: {error}", file=sys.stderr)
            return 1
    return 1 if missing and os.environ.get("CI") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
