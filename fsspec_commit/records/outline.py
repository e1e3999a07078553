"""What the nonce of a claim says of it, so that whoever lists an area need not read the claim.

A claim is named after its nonce. A part of the nonce is random, and another part says in short what
the claim holds. It says less than the record: of the partitions only which directory holds them
all, by hashes. Two outlines either show for certain that their claims do not conflict, or leave it
open; then the record is read. A seal tells such a nonce from one that is all random, as other
versions write them: a random one says nothing, except for one in 10**12.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from itertools import takewhile
from typing import Self

from fsspec_commit.ids import Nonce
from fsspec_commit.names import partition_key

_RANDOM_DIGITS, _SEAL_DIGITS = 10, 10
_KEY_DIGITS, _TOP_DIGITS, _WHOLE_DIGITS = 3, 3, 4
_ADDS, _REUSABLE, _KEYED = 1, 2, 4
_DEPTH_MAX = 15
_SEALED_FOR = "fsspec-commit: outline 1"
"""A version with another form of outline uses another text, and this version reads none."""
_SAID = re.compile(
    rf"(?P<flags>[0-7])(?P<key>[0-9a-f]{{{_KEY_DIGITS}}})(?P<depth>[0-9a-f])"
    rf"(?P<top>[0-9a-f]{{{_TOP_DIGITS}}})(?P<whole>[0-9a-f]{{{_WHOLE_DIGITS}}})"
)


@dataclass(frozen=True, slots=True)
class Outline:
    """A claim in short.

    Attributes:
        only_adds: The job only adds files, under names that no other job can write, but for those
            that are reusable.
        reusable_names: It writes a name that another job could use as well.
        key: The beginning of the digest of its idempotency key, or nothing.
        depth: How many components the directory that holds all the partitions has; 0 for the
            destination.
        top: A hash of the first of these components.
        whole: A hash of all of them.
    """

    only_adds: bool
    reusable_names: bool
    key: str
    depth: int
    top: str
    whole: str

    @classmethod
    def of(
        cls,
        partitions: Iterable[str] | None,
        *,
        only_adds: bool,
        reusable_names: bool,
        key_digest: str | None,
    ) -> Self:
        """The outline of a claim on *partitions*; ``None`` is the whole destination."""
        above = _directory_of(partitions)
        top, whole = _hash(above[:1]), _hash(above)
        key = (key_digest or "")[:_KEY_DIGITS]
        return cls(
            only_adds, reusable_names, key, len(above), top[:_TOP_DIGITS], whole[:_WHOLE_DIGITS]
        )

    @classmethod
    def told_by(cls, nonce: str, job_id: str) -> Self | None:
        """The outline that the nonce of a claim of the job gives; ``None`` if it gives none."""
        unsealed = nonce[:-_SEAL_DIGITS]
        said = _SAID.fullmatch(unsealed, _RANDOM_DIGITS)
        if said is None or nonce != unsealed + _seal(unsealed, job_id):
            return None
        flags = int(said["flags"])
        return cls(
            bool(flags & _ADDS),
            bool(flags & _REUSABLE),
            said["key"] if flags & _KEYED else "",
            int(said["depth"], 16),
            said["top"],
            said["whole"],
        )

    def in_nonce(self, random: str, job_id: str) -> Nonce:
        """A nonce for a claim with this outline; its random part is the beginning of *random*."""
        flags = _ADDS * self.only_adds | _REUSABLE * self.reusable_names | _KEYED * bool(self.key)
        said = f"{flags}{self.key:0<{_KEY_DIGITS}}{self.depth:x}{self.top}{self.whole}"
        unsealed = random[:_RANDOM_DIGITS] + said
        return Nonce(unsealed + _seal(unsealed, job_id))

    def may_conflict(self, other: "Outline") -> bool:
        """Whether two claims with these outlines may conflict; if not, they certainly do not."""
        if self.key and self.key == other.key:
            return True
        only_add = self.only_adds and other.only_adds
        if only_add and not (self.reusable_names and other.reusable_names):
            return False
        if not self.depth or not other.depth:
            return True
        return self.top == other.top and (self.depth != other.depth or self.whole == other.whole)


def _directory_of(partitions: Iterable[str] | None) -> tuple[str, ...]:
    """The components of the directory that has all *partitions*, as far as a nonce can say it.

    Only of ASCII text: how other letters fold depends on the version of Python.
    """
    keys = [partition_key(partition) for partition in partitions or ()]
    if not keys or not all("".join(key).isascii() for key in keys):
        return ()
    pairs = zip(min(keys), max(keys), strict=False)
    return tuple(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))[:_DEPTH_MAX]


def _hash(components: tuple[str, ...]) -> str:
    return sha256("/".join(components).encode()).hexdigest()


def _seal(unsealed: str, job_id: str) -> str:
    return sha256(f"{_SEALED_FOR} {job_id} {unsealed}".encode()).hexdigest()[:_SEAL_DIGITS]
