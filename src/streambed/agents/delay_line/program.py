"""The main program of the delay line."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import struct
import threading
from typing import Any

from streambed.agents.delay_line.channel import Channel, libc, stamp_packets
from streambed.agents.delay_line.engine import STDOUT, Engine
from streambed.agents.delay_line.gauge import Gauge
from streambed.agents.delay_line.queue import PLAIN, Queue, needs_single, needs_whole

REALTIME_PRIORITY = 10
SLICE_NS = 100_000
IN_REAL_TIME = "in real time"
PR_SET_TIMERSLACK = 29
SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}


def open_queues(declared: dict[str, Any], gauge: Gauge) -> tuple[list[Channel], list[Queue]]:
    """Open one socket for each namespace and bind all queues."""
    channels: dict[int, Channel] = {}
    queues = []
    for one in declared["queues"]:
        if one["namespace"] not in channels:
            channels[one["namespace"]] = Channel(one["namespace"])
        channel = channels[one["namespace"]]
        shape = {**PLAIN, **one}
        channel.bind(one["number"], needs_whole(shape), needs_single(shape))
        queues.append(Queue(channel, one, declared["seed"], gauge))
    return list(channels.values()), queues


def request_prompt_scheduling() -> str:
    """Ask for prompt wake-ups: real-time scheduling if allowed, else short slices; exact timers and
    no garbage collection. Returns what was granted.
    """
    libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    gc.disable()
    # Our parent may have got it before it entered the box, where it is refused.
    if os.sched_getscheduler(0) == os.SCHED_FIFO:
        return IN_REAL_TIME
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REALTIME_PRIORITY))
        return IN_REAL_TIME
    except PermissionError:
        wish = ctypes.create_string_buffer(struct.pack("=IIQiIQQQ", 48, 0, 0, 0, 0, SLICE_NS, 0, 0))
        refused = libc.syscall(SCHED_SETATTR.get(os.uname().machine, -1), 0, wish, 0)
        return "as any process" if refused else "with short slices"


def main(path: str) -> None:
    """Serve the queues declared in a file."""
    with open(path) as file:
        declared = json.load(file)
    gauge = Gauge()
    stamps = stamp_packets()
    channels, queues = open_queues(declared, gauge)
    # Before the thread, which inherits it: a slow thread would make us wait for Python's lock.
    scheduled = request_prompt_scheduling()
    threading.Thread(target=gauge.keep, args=(declared["gauge"],), daemon=True).start()
    engine = Engine(channels, queues, in_real_time=scheduled == IN_REAL_TIME)
    os.write(STDOUT, f"ready {scheduled}\n".encode())
    with stamps:
        engine.run()
