"""Start a program whose syncs are reported: python -I -S sync_starter.py SOCKET COMMAND...

It installs a seccomp filter that stops every call of SYNCS until a supervisor has answered, sends
the filter's descriptor through SOCKET, and becomes the command. Children inherit the filter. It
uses nothing but the standard library, so that it starts fast.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys

FSYNC, FDATASYNC, MSYNC, SYNC_FILE_RANGE = 74, 75, 26, 277
"""Numbers of system calls on x86-64."""
SYNCS = (FSYNC, FDATASYNC, MSYNC, SYNC_FILE_RANGE)
_X86_64 = 0xC000003E
_SECCOMP, _SET_FILTER, _WANT_DESCRIPTOR = 317, 1, 1 << 3
_NO_NEW_PRIVILEGES = 38
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBER, _ARCHITECTURE = 0, 4
"""Where the kernel puts them in the data that a filter sees."""
_ALLOW, _REPORT = 0x7FFF0000, 0x7FC00000

Instruction = tuple[int, int, int, int]
"""Operation, lines to skip if true, lines to skip if false, and a number."""


def program() -> list[Instruction]:
    """The filter: report syncs of 64-bit programs, allow everything else."""
    count = len(SYNCS)
    jumps = [(_JUMP_IF_EQUAL, count - position, 0, number) for position, number in enumerate(SYNCS)]
    return [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_IF_EQUAL, 0, count + 1, _X86_64),
        (_LOAD, 0, 0, _NUMBER),
        *jumps,
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REPORT),
    ]


def install() -> int:
    """Filter this process from now on; the descriptor by which its supervisor answers."""
    lines = program()
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    header = struct.pack("HxxxxxxP", len(lines), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if not result:
        result = libc.syscall(_SECCOMP, _SET_FILTER, _WANT_DESCRIPTOR, header)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)


def main(descriptor: str, *command: str) -> None:
    """Install the filter, hand its descriptor over, and become the command."""
    with socket.socket(fileno=int(descriptor)) as channel:
        listener = install()
        socket.send_fds(channel, [b"!"], [listener])
        # If the process itself held it, calls would wait for an answer that never comes.
        os.close(listener)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
