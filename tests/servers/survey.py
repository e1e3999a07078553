"""What a job makes of each S3 server: the table of `docs/s3-servers.md`, from the probe itself.

``python -m tests.servers.survey`` writes it anew, from every server that is installed.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import fsspec_commit as fc
from tests.servers.installation import ServerUnavailableError
from tests.servers.kinds import KINDS, REGION
from tests.servers.server import Server
from tests.servers.server_process import ServerDiedError

if TYPE_CHECKING:
    from collections.abc import Mapping

PAGE = Path(__file__).resolve().parents[2] / "docs/s3-servers.md"
NAMES = {
    "ministack": "ministack",
    "seaweedfs": "SeaweedFS",
    "versitygw": "versitygw",
    "moto": "moto",
    "minio": "MinIO",
    "rclone": "rclone `serve s3`",
    "s3s-fs": "s3s-fs",
}
# What the text of a row is made from, in the words of a reader.
COLUMNS = {
    "exclusive_create": "create if absent",
    "replace_if_match": "replace if unchanged",
    "delete_if_match": "delete if unchanged",
    "uploads_listable": "uploads listed",
}
# What the probe of a new bucket does not see, and a reader must know; how it is known is said where
# it is tested.
KNOWN = {
    "seaweedfs": (
        "conditional completions of one name at one moment all succeed: use unique names where "
        "others write, too"
    ),
    "versitygw": "refused in a bucket that keeps, or has kept, versions",
}
# Who answers otherwise from one time to the next, to what; the rest of the row is so each time.
BY_CHANCE = {
    "s3s-fs": (
        "exclusive_create",
        (
            "it looks and then writes, so two who create one file at one moment can both "
            "succeed, and it lists no etags"
        ),
    ),
}
HEAD = """\
<!-- Written by `python -m tests.servers.survey`; tests compare it with what the probe finds. -->
"""
# Go's for a commit that has none: all but its day.
_PSEUDO_VERSION = re.compile(r"^v0\.0\.0-|(?<=\d{8})\d{6}-[0-9a-f]{12}$")
_ROW = re.compile(r"^\| (?P<name>[^|]+?) \|.*\|$", re.MULTILINE)


def table() -> dict[str, str]:
    """The rows of the page as it is, by the server's kind."""
    text = PAGE.read_text("utf-8") if PAGE.exists() else ""
    found = {row["name"]: row[0] for row in _ROW.finditer(text)}
    return {kind: found[name] for kind, name in NAMES.items() if name in found}


def row_of(server: Server) -> str:
    """What a job would find at a new bucket of *server*."""
    url = f"s3://{server.new_bucket()}/out"
    facts: Mapping[str, object] = {}
    try:
        selection = fc.explain(url, storage_options=server.storage_options)
    except fc.StoreError as error:
        # The sentence is "cannot do this to that: why".
        verdict, why = "refused", str(error).rpartition("': ")[2]
    else:
        facts = selection.capabilities.facts()
        verdict = "refused" if selection.committer is None else f"served, `{selection.committer}`"
        why = selection.reasons[-1] if selection.committer is None else _with_what(facts)
    raced, why_raced = BY_CHANCE.get(server.name, (None, ""))
    answers = ("by chance" if name == raced else _shown(facts.get(name)) for name in COLUMNS)
    why = why_raced or why
    version = _PSEUDO_VERSION.sub("", server.kind.installation.version).removeprefix("v")
    why = "; ".join(filter(None, (why, KNOWN.get(server.name))))
    cells = (NAMES[server.name], version, verdict, *answers, why)
    return f"| {' | '.join(cells)} |"


def page(rows: Mapping[str, str]) -> str:
    """The whole page."""
    columns = ("server", "version", "jobs are", *COLUMNS.values(), "because, or with what")
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    lines += [rows[kind] for kind in NAMES if kind in rows]
    return HEAD + "\n".join(lines) + "\n"


def _shown(fact: object) -> str:
    return "not known" if fact is None else "yes" if fact else "no"


def _with_what(facts: Mapping[str, object]) -> str:
    with_what = []
    if not facts["uploads_listable"]:
        with_what.append("each upload is recorded before it holds anything")
    if not facts["delete_if_match"]:
        with_what.append("`overwrite` removes files whose names may come back by a promise only")
    return "; ".join(with_what) or "all that a job needs"


def main() -> int:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ["AWS_DEFAULT_REGION"] = REGION
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
    rows, missing = table(), False
    for kind in KINDS.values():
        try:
            with Server(kind) as server:
                rows[kind.name] = row_of(server)
                print(rows[kind.name], flush=True)
        except (ServerUnavailableError, ServerDiedError) as error:
            missing = True
            print(f"{kind.name}: {error}; its row stays as it is", file=sys.stderr)
    PAGE.write_text(page(rows), "utf-8")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
