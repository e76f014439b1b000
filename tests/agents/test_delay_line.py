"""The judgement of the delay line, with a list in place of the kernel."""

from __future__ import annotations

import struct
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from streambed.agents.delay_line.chance import Chance
from streambed.agents.delay_line.channel import Verdicts
from streambed.agents.delay_line.copies import COPIER, neighbour
from streambed.agents.delay_line.gauge import KEPT, Gauge
from streambed.agents.delay_line.queue import NEVER_NS, PLAIN, Queue, needs_single, needs_whole
from streambed.agents.delay_line.wakeup_estimate import LONGEST_NS, LatencyEstimate
from streambed.record.gauges import read_delay_line_gauges

MS = 1_000_000
VERDICT, VERDICT_UP_TO = 0x301, 0x303
DROP, ACCEPT = 0, 1
PACKET = bytes([0x45, *range(1, 40)])


class Channel(list[tuple[int, int, int]]):
    """Keeps every verdict as (message, judgement, packet), and the content of those that change
    it.
    """

    def __init__(self) -> None:
        self.treated: list[tuple[bool, bool]] = []
        self.mangled: dict[int, bytes] = {}

    def send(self, messages: list[bytes]) -> None:
        for message in messages:
            _, kind = struct.unpack_from("=IH", message)
            judgement, packet = struct.unpack_from("!II", message, 24)
            self.append((kind, judgement, packet))
            if len(message) > 32:
                self.mangled[packet] = message[36:]

    def treat(self, number: int, whole: bool, single: bool) -> None:
        self.treated.append((whole, single))


def queue_of(channel: Channel, gauge: Gauge | None = None, **declared: Any) -> Queue:
    return Queue(channel, {"number": 1, **declared}, seed=7, gauge=gauge or Gauge())


def content() -> tuple[bytes, bytes]:
    return b"\x02\0\x0a\0\0\1", PACKET


def take(queue: Queue, packet: int, arrived_ns: int = 0) -> int:
    return queue.take(packet, arrived_ns, content)


def let_go(channel: Channel) -> list[int]:
    return [packet for _, judgement, packet in channel if judgement == ACCEPT]


def test_a_packet_is_due_after_the_delay() -> None:
    assert take(queue_of(Channel(), delay_ns=10 * MS), 1, 5) == 5 + 10 * MS


def test_one_verdict_lets_go_all_that_are_due() -> None:
    channel, gauge = Channel(), Gauge()
    queue = queue_of(channel, gauge, delay_ns=MS)
    due = [take(queue, packet, arrived) for packet, arrived in ((1, 1), (2, 2), (3, 2), (4, 9))]

    assert queue.release(due[2]) == 3
    assert queue.head_ns == due[3]
    assert channel == [(VERDICT_UP_TO, ACCEPT, 3)]
    assert gauge.packets == 3


def test_jitter_lets_packets_overtake_each_other() -> None:
    channel = Channel()
    queue = queue_of(channel, delay_ns=10 * MS, jitter_ns=5 * MS)
    for packet in range(20):
        take(queue, packet)

    assert queue.release(20 * MS) == 20
    assert sorted(let_go(channel)) == list(range(20)) != let_go(channel)
    assert {kind for kind, _, _ in channel} == {VERDICT}


def test_jitter_in_order_never_does() -> None:
    queue = queue_of(Channel(), delay_ns=10 * MS, jitter_ns=5 * MS, in_order=True)
    due = [take(queue, packet, packet) for packet in range(50)]

    assert due == sorted(due)
    assert len(set(due)) > 1


def test_jitter_is_drawn_from_a_table_if_there_is_one() -> None:
    queue = queue_of(Channel(), delay_ns=10 * MS, jitter_ns=MS, table=[-8192, 16384])

    assert Counter(take(queue, packet) for packet in range(100)).keys() == {9 * MS, 12 * MS}


def test_a_drawn_delay_is_never_negative() -> None:
    assert take(queue_of(Channel(), delay_ns=MS, jitter_ns=MS, table=[-32768]), 1, 5) == 5


def test_a_share_of_packets_is_sent_at_once() -> None:
    queue = queue_of(Channel(), delay_ns=MS, reorder=0.25)

    assert 30 <= sum(take(queue, packet) == 0 for packet in range(200)) <= 70


def test_a_cut_queue_drops_every_packet_until_it_is_mended() -> None:
    channel, gauge = Channel(), Gauge()
    queue = queue_of(channel, gauge)
    queue.change({"loss": 1, "enter": 0.5})

    assert [take(queue, packet) for packet in range(100)] == [NEVER_NS] * 100
    queue.change({"loss": 0})
    assert take(queue, 100) == 0
    assert channel == [(VERDICT, DROP, packet) for packet in range(100)]
    assert gauge.dropped == 100


def test_after_a_change_packets_that_wait_keep_their_time_and_may_be_overtaken() -> None:
    channel = Channel()
    queue = queue_of(channel, delay_ns=30 * MS)
    slow, _ = (take(queue, packet) for packet in (1, 2))
    queue.change({"delay_ns": 5 * MS})
    quick = take(queue, 3)

    assert queue.release(quick) == 1
    assert queue.head_ns == slow
    assert channel[-1] == (VERDICT, ACCEPT, 3)
    queue.release(slow)
    queue.release(take(queue, 4, slow))
    assert channel[-2:] == [(VERDICT_UP_TO, ACCEPT, 2), (VERDICT_UP_TO, ACCEPT, 4)]


def test_after_a_change_nothing_overtakes_where_order_is_kept() -> None:
    queue = queue_of(Channel(), delay_ns=30 * MS, in_order=True)
    slow = take(queue, 1)
    queue.change({"delay_ns": 5 * MS, "in_order": True})

    assert take(queue, 2) == slow


@pytest.mark.parametrize(
    ("shape", "single", "whole"),
    [
        ({}, False, False),
        ({"loss": 0.01}, True, False),
        ({"loss": 1}, False, False),
        ({"enter": 0.1}, True, False),
        ({"jitter_ns": 5}, True, False),
        ({"reorder": 0.1}, True, False),
        ({"duplicate": 0.1}, True, True),
        ({"corrupt": 0.1}, True, True),
    ],
)
def test_segments_come_one_by_one_and_whole_only_where_they_must(
    shape: dict[str, float], single: bool, whole: bool
) -> None:
    assert (needs_single(PLAIN | shape), needs_whole(PLAIN | shape)) == (single, whole)


def test_bundling_is_turned_off_where_packets_must_arrive_whole() -> None:
    channel = Channel()
    queue_of(channel).change({"corrupt": 0.5})

    assert channel.treated == [(True, True)]


def test_the_same_seed_loses_the_same_packets() -> None:
    def lost() -> list[int]:
        queue = queue_of(Channel(), loss=0.3)
        return [packet for packet in range(100) if take(queue, packet) == NEVER_NS]

    assert lost() == lost()
    assert 15 <= len(lost()) <= 45


def test_loss_in_bursts_comes_in_bursts_of_the_declared_length() -> None:
    chance, shape = Chance("7"), PLAIN | {"enter": 0.05, "leave": 0.25, "bad": 1.0, "good": 0.0}
    lost = [chance.loses(shape) for _ in range(20_000)]

    bursts = [len(list(run)) for is_lost, run in groupby(lost) if is_lost]
    assert 0.14 < sum(lost) / len(lost) < 0.20  # 0.05 / (0.05 + 0.25)
    assert 3.5 < sum(bursts) / len(bursts) < 4.5


def test_a_corrupted_packet_differs_in_one_bit_behind_its_ip_header() -> None:
    channel = Channel()
    queue = queue_of(channel, corrupt=1.0)
    take(queue, 1)
    queue.release(0)

    changed = [
        (place, before ^ after)
        for place, (before, after) in enumerate(zip(PACKET, channel.mangled[1], strict=True))
        if before != after
    ]
    assert len(changed) == 1
    assert changed[0][0] >= 20 and changed[0][1].bit_count() == 1


class Outlet:
    """Keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def send(self, copies: list[bytes]) -> None:
        self.sent += copies


def test_a_doubled_packet_is_let_go_and_its_copy_sent() -> None:
    channel, outlet = Channel(), Outlet()
    queue = queue_of(channel, delay_ns=MS, duplicate=1.0)
    queue._outlet = outlet  # type: ignore[assignment]
    due = take(queue, 1)

    assert queue.release(due) == 2
    assert channel == [(VERDICT, ACCEPT, 1)]
    assert outlet.sent == [PACKET]


def test_a_copy_that_comes_back_through_the_queue_does_not_wait_again() -> None:
    channel = Channel()
    queue = queue_of(channel, delay_ns=MS, duplicate=1.0)

    assert queue.take(1, 0, lambda: (COPIER, PACKET)) == NEVER_NS
    assert channel == [(VERDICT, ACCEPT, 1)]


def test_the_other_end_of_an_interface_is_found_among_the_neighbours() -> None:
    table = """IP address       HW type     Flags       HW address            Mask     Device
10.0.0.9         0x1         0x6         02:00:0a:00:00:09     *        eth0
10.0.0.2         0x1         0x6         02:00:0a:00:00:02     *        eth1
"""
    assert neighbour(table, "eth1") == b"\x02\0\x0a\0\0\2"


def test_a_verdict_with_another_content_carries_all_of_it() -> None:
    message = Verdicts(3).accept(9, b"abcdef")

    assert struct.unpack_from("=I", message)[0] == len(message)
    assert b"abcdef" in message


def test_lateness_begins_anew_when_it_was_read_but_packets_add_up() -> None:
    gauge = Gauge()
    gauge.add(10, 3)
    gauge.add(2 * MS)

    expected = {
        "packets": 4,
        "dropped": 0,
        "late_mean_ns": 500_007,
        "late_max_ns": 2 * MS,
        "late_packets": 1,
    }
    assert gauge.read() == expected
    assert gauge.read() == expected | {"late_mean_ns": 0, "late_max_ns": 0, "late_packets": 0}


def test_a_gauge_that_nobody_saw_is_still_there_when_the_next_is_written(tmp_path: Path) -> None:
    gauge, path = Gauge(), tmp_path / "gauge.json"
    for packets in range(1, KEPT + 2):
        gauge.add(packets * MS)
        gauge.write(str(path))

    gauges = read_delay_line_gauges(path)

    assert [gauge.packets for gauge in gauges] == [2, 3, 4]
    assert [gauge.late_max_ns for gauge in gauges] == [2 * MS, 3 * MS, 4 * MS]
    times = [gauge.written_ns for gauge in gauges]
    assert times == sorted(times)


def test_the_delay_line_has_no_gauges_before_it_writes_the_first(tmp_path: Path) -> None:
    assert read_delay_line_gauges(tmp_path / "gauge") == ()


def test_what_usually_passes_is_learned_for_a_rest_of_that_length_and_for_longer_ones() -> None:
    wakes = LatencyEstimate(50_000)
    for _ in range(100):
        wakes.learn(MS, 20_000)
        wakes.learn(100 * MS, 10 * LONGEST_NS)

    assert abs(wakes.usual_ns(MS) - 20_000) < 100
    assert abs(wakes.usual_ns(10 * MS) - 20_000) < 100
    assert abs(wakes.usual_ns(1000 * MS) - LONGEST_NS) < 100
    assert wakes.usual_ns(1000) == 50_000
