"""What others have left at a destination before a run begins, by name.

What jobs of earlier versions of this library have left there is in
:mod:`fsspec_commit.testing.simulation.earlier`.
"""

from dataclasses import dataclass, field

_NONCE = "5e" * 16
_VOID = "20251130T101112-00000000000000aa"
_NEWER = "20251130T101112-00000000000000bb"


@dataclass(frozen=True)
class Leftover:
    """Files that somebody has left.

    Attributes:
        files: What they hold, by name.
        uploads: The pending uploads of another program, by name; nobody may ever touch them.
        stays: Whether nobody may ever touch them: they are another program's, or of a version that
            is not known. All others are gone in the end.
        shown_as: How the line begins in which ``clean`` reports those that stay.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    uploads: dict[str, bytes] = field(default_factory=dict)
    stays: bool = False
    shown_as: str = ""


LEFTOVERS = {
    "hadoop": Leftover(
        {"_temporary/0/_temporary/attempt_202511301011_0001_m_000000_1/part-00000": b"of Hadoop"},
        stays=True,
        shown_as="_temporary",
    ),
    "newer": Leftover(
        {
            f"_commit/{_NEWER}/job.json": (
                b'{"format":"fsspec_commit.Job","version":99,"nonce":"%s"}' % _NONCE.encode()
            ),
            f"_commit/{_NEWER}/decision": b'{"format":"fsspec_commit.Decision","version":99}',
        },
        stays=True,
        shown_as=_NEWER,
    ),
    "void": Leftover(
        {
            f"_commit/{_VOID}/claim-{_NONCE}": b"{}",
            f"_commit/{_VOID}/manifests/0/{_NONCE[:16]}": b"{}",
        }
    ),
    "gone": Leftover({f"_commit/gone-{_NONCE}/tasks/0/{_NONCE[:16]}/a.txt.pending": b"gone"}),
    "upload": Leftover(uploads={"day=1/others.txt": b"of others", "_others": b""}),
    "probe": Leftover({f"_commit/probe-{_NONCE}/created": b""}),
}
"""All leftovers, by name."""
