"""A sandbox as containers have them: system calls that the kernel is told to refuse (seccomp)."""

from __future__ import annotations

import ctypes
import platform
import struct
import sys

_NUMBERS = {
    "x86_64": {"linkat": 265, "renameat2": 316},
    "aarch64": {"linkat": 37, "renameat2": 276},
}
_LOAD_NUMBER = struct.pack("=HBBI", 0x20, 0, 0, 0)
_ALLOW = struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000)
_REFUSE = 0x00050000
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def exists() -> bool:
    return sys.platform == "linux" and platform.machine() in _NUMBERS


def forbid(calls: list[str], code: int) -> None:
    """Refuse these to this process from now on, for good."""
    numbers = [_NUMBERS[platform.machine()][call] for call in calls]
    code_of = b"".join(
        struct.pack("=HBBI", 0x15, 0, 1, number) + struct.pack("=HBBI", 0x06, 0, 0, _REFUSE | code)
        for number in numbers
    )
    program = _LOAD_NUMBER + code_of + _ALLOW
    libc = ctypes.CDLL(None, use_errno=True)
    held = _Program(len(program) // 8, program)
    for arguments in (
        (_NO_NEW_PRIVILEGES, 1, 0, 0, 0),
        (_SET_SECCOMP, _FILTER, ctypes.byref(held), 0, 0),
    ):
        if libc.prctl(*arguments) != 0:
            number = ctypes.get_errno()
            raise OSError(number, "no sandbox within this one")
