"""What a process sees of the wall clock, and back."""

from __future__ import annotations

import time

from streambed.net.tampering import clock_code
from streambed.net.tampering.clocks import SessionClock, Shown, Skew, total
from streambed.net.tampering.vdso import Image

S = 10**9


def test_a_drift_grows_and_a_jump_does_not():
    skews = [Skew(ahead_ns=-5 * S, rate=0.0, since_ns=0), Skew(ahead_ns=0, rate=0.1, since_ns=0)]

    assert total(skews, 20 * S) == (-3 * S, 0.1)


def test_what_was_shown_leads_back_to_the_true_time():
    shown = Shown(begin_ns=0, since_ns=100 * S, ahead_ns=7 * S, rate=0.5)

    assert shown.true_ns(100 * S + 7 * S + 15 * S) == 110 * S


def test_a_clock_that_was_never_skewed_showed_the_truth():
    now_ns = time.time_ns()

    assert SessionClock(list).true_ns(now_ns) == now_ns


def test_a_hook_jumps_from_a_function_to_its_stand_in_and_changes_no_more_than_five_bytes():
    functions = dict.fromkeys(clock_code.FUNCTIONS, 16)
    image = Image(content=bytes(range(64)), functions=functions, room=1024)

    hook = image.hook("__vdso_clock_gettime")

    start = int.from_bytes(hook[1:5], "little") + 16 + 5
    assert hook[0] == 0xE9 and start == 1024 + clock_code.FUNCTIONS["__vdso_clock_gettime"]
    assert hook[5:] == bytes([21, 22, 23])
