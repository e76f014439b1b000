"""Machine code for x86-64 that answers for the vDSO's clock functions with a skewed wall clock.

    skewed = t + ahead + (t - since) × rate        t: the kernel's wall clock, by a system call

It begins with three numbers, `since`, `ahead` and `rate`, and is position-independent.
"""

from __future__ import annotations

import struct

_NUMBERS = struct.Struct("<qqq")
_RATE_UNIT = 1 << 32
"""Rates are kept as multiples of 2**-32."""

_ADJUST = """
    4989c0          mov  r8, rax              rax: nanoseconds since 1970
    482b05deffffff  sub  rax, [since]
    48f72de7ffffff  imul qword [rate]
    480facd020      shrd rax, rdx, 32
    4c01c0          add  rax, r8
    480305d0ffffff  add  rax, [ahead]
    31d2            xor  edx, edx
    b900ca9a3b      mov  ecx, 1000000000
    48f7f1          div  rcx                  rax: seconds, rdx: nanoseconds
    c3              ret
"""
_CLOCK_GETTIME = """
    b8e4000000      mov  eax, 228             edi: the clock, rsi: the answer
    0f05            syscall
    85c0            test eax, eax
    750e            jnz  done
    85ff            test edi, edi             CLOCK_REALTIME
    740b            je   wall
    83ff05          cmp  edi, 5               CLOCK_REALTIME_COARSE
    7406            je   wall
    83ff0b          cmp  edi, 11              CLOCK_TAI
    7401            je   wall
    c3              done: ret
    48690600ca9a3b  wall: imul rax, [rsi], 1000000000
    48034608        add  rax, [rsi + 8]
    e8abffffff      call adjust
    488906          mov  [rsi], rax
    48895608        mov  [rsi + 8], rdx
    31c0            xor  eax, eax
    c3              ret
"""
_GETTIMEOFDAY = """
    b860000000      mov  eax, 96              rdi: the answer, in microseconds
    0f05            syscall
    85c0            test eax, eax
    7532            jnz  done
    4885ff          test rdi, rdi
    742d            je   done
    48690700ca9a3b  imul rax, [rdi], 1000000000
    48694f08e8030000 imul rcx, [rdi + 8], 1000
    4801c8          add  rax, rcx
    e87affffff      call adjust
    488907          mov  [rdi], rax
    4889d0          mov  rax, rdx
    31d2            xor  edx, edx
    b9e8030000      mov  ecx, 1000
    48f7f1          div  rcx
    48894708        mov  [rdi + 8], rax
    31c0            xor  eax, eax
    c3              done: ret
"""
_TIME = """
    4989f9          mov  r9, rdi              rdi: where else to put the seconds, or 0
    4883ec18        sub  rsp, 24
    bf05000000      mov  edi, 5
    4889e6          mov  rsi, rsp
    b8e4000000      mov  eax, 228
    0f05            syscall
    4869042400ca9a3b imul rax, [rsp], 1000000000
    4803442408      add  rax, [rsp + 8]
    e83bffffff      call adjust
    4883c418        add  rsp, 24
    4d85c9          test r9, r9
    7403            je   done
    498901          mov  [r9], rax
    c3              done: ret
"""


def _assemble(listing: str) -> bytes:
    """The bytes that each line of a listing begins with."""
    return b"".join(bytes.fromhex(line.split()[0]) for line in listing.strip().splitlines())


def numbers(*, since_ns: int, ahead_ns: int, rate: float) -> bytes:
    """The three numbers at the beginning of the code."""
    return _NUMBERS.pack(since_ns, ahead_ns, round(rate * _RATE_UNIT))


_PARTS = {
    "adjust": _assemble(_ADJUST),
    "__vdso_clock_gettime": _assemble(_CLOCK_GETTIME),
    "__vdso_gettimeofday": _assemble(_GETTIMEOFDAY),
    "__vdso_time": _assemble(_TIME),
}
CODE = _NUMBERS.pack(0, 0, 0) + b"".join(_PARTS.values())


def _starts() -> dict[str, int]:
    starts = {}
    at = _NUMBERS.size
    for name, part in _PARTS.items():
        starts[name] = at
        at += len(part)
    del starts["adjust"]
    return starts


FUNCTIONS = _starts()
"""The functions of the vDSO that it replaces, and where each begins in the code."""
