"""Who may do what with a new file or directory: what Hadoop's own client would ask for.

A cluster applies no umask, its clients do; and where the directory above has a default ACL, that
counts instead of the umask. So a client says both what it wants under its umask, and what without.
"""

import re
from dataclasses import dataclass

UMASK = "fs.permissions.umask-mode"
"""Hadoop's own property."""
UMASK_DEFAULT = "022"

_OCTAL = re.compile(r"[0-7]{1,4}")
_BITS = 0o777


@dataclass(frozen=True, slots=True)
class Permissions:
    """What is asked for.

    Attributes:
        directory: Of a directory, under the umask.
        file: Of a file, under the umask.
        directory_unmasked: Of a directory, where a default ACL says the rest.
        file_unmasked: Of a file, where a default ACL says the rest.
    """

    directory: int
    file: int
    directory_unmasked: int = _BITS
    file_unmasked: int = 0o666

    @classmethod
    def under(cls, umask: str) -> "Permissions":
        """Under an octal umask.

        Raises:
            ValueError: It is not an octal number.
        """
        if _OCTAL.fullmatch(umask) is None:
            raise ValueError(f"{UMASK} takes an octal number such as {UMASK_DEFAULT}")
        kept = _BITS & ~int(umask, 8)
        return cls(directory=kept, file=0o666 & kept)


USUAL = Permissions.under(UMASK_DEFAULT)
"""The permissions where nobody has set another umask."""
