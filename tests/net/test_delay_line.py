"""The judgement of the delay line, with a list in place of the kernel."""

from __future__ import annotations

import struct
from typing import Any, cast

import pytest

from streambed.agents.delay_line import GSO_FLAG, NEVER_NS, OVERHEAD_NS, Lateness, Queue, bundling

MS = 1_000_000
VERDICT, VERDICT_UP_TO = 0x301, 0x303
DROP, ACCEPT = 0, 1


class Channel(list[tuple[int, int, int]]):
    """Keeps every verdict as (message, judgement, packet)."""

    def send(self, messages: bytes) -> None:
        while messages:
            length, kind = struct.unpack_from("=IH", messages)
            self.append((kind, *struct.unpack_from("!II", messages, length - 8)))
            messages = messages[length:]


def queue_of(channel: Channel, **declared: Any) -> Queue:
    return Queue(cast("Any", channel), {"number": 1, "delay_ns": 0, "jitter_ns": 0, "loss": 0.0, **declared}, seed=7)


def test_a_packet_is_due_after_the_delay_less_what_a_pass_costs() -> None:
    assert queue_of(Channel(), delay_ns=10 * MS).take(1, 5) == 5 + 10 * MS - OVERHEAD_NS


def test_a_delay_is_never_negative() -> None:
    assert queue_of(Channel()).take(1, 5) == 5


def test_one_verdict_lets_go_all_that_are_due() -> None:
    channel = Channel()
    queue = queue_of(channel, delay_ns=MS)
    due = [queue.take(packet, packet) for packet in (1, 2, 3)]

    assert queue.release(due[1], Lateness()) == due[2]
    assert channel == [(VERDICT_UP_TO, ACCEPT, 2)]


def test_jitter_lets_packets_overtake_each_other() -> None:
    channel = Channel()
    queue = queue_of(channel, delay_ns=10 * MS, jitter_ns=5 * MS)
    for packet in range(20):
        queue.take(packet, 0)

    assert queue.release(20 * MS, Lateness()) == NEVER_NS
    let_go = [packet for _, _, packet in channel]
    assert sorted(let_go) == list(range(20)) != let_go
    assert {kind for kind, _, _ in channel} == {VERDICT}


def test_a_cut_queue_drops_every_packet_until_it_is_mended() -> None:
    channel = Channel()
    queue = queue_of(channel)
    queue.change({"delay_ns": 0, "jitter_ns": 0, "loss": 1})

    assert [queue.take(packet, 0) for packet in range(100)] == [NEVER_NS] * 100
    queue.change({"delay_ns": 0, "jitter_ns": 0, "loss": 0})
    assert queue.take(100, 0) == 0
    assert [verdict for verdict in channel if verdict[0] == VERDICT] == [(VERDICT, DROP, packet) for packet in range(100)]


def test_after_a_change_packets_that_wait_keep_their_time_and_may_be_overtaken() -> None:
    channel = Channel()
    queue = queue_of(channel, delay_ns=30 * MS)
    slow = queue.take(1, 0)
    queue.change({"delay_ns": 5 * MS, "jitter_ns": 0, "loss": 0})
    quick = queue.take(2, 0)

    assert queue.release(quick, Lateness()) == slow
    assert channel[-1] == (VERDICT, ACCEPT, 2)
    queue.release(slow, Lateness())
    queue.release(queue.take(3, slow), Lateness())
    assert channel[-2:] == [(VERDICT, ACCEPT, 1), (VERDICT_UP_TO, ACCEPT, 3)]


@pytest.mark.parametrize(("loss", "bundles"), [(0.0, True), (0.01, False), (1.0, True)])
def test_segments_come_one_by_one_only_where_some_are_lost(loss: float, bundles: bool) -> None:
    assert bundling(loss)[1].endswith(struct.pack("!I", GSO_FLAG if bundles else 0))


def test_the_same_seed_loses_the_same_packets() -> None:
    def lost() -> list[int]:
        queue = queue_of(Channel(), loss=0.3)
        return [packet for packet in range(100) if queue.take(packet, 0) == NEVER_NS]

    assert lost() == lost()
    assert 15 <= len(lost()) <= 45


def test_lateness_begins_anew_when_it_was_read_but_packets_add_up() -> None:
    lateness = Lateness()
    lateness.add(10)
    lateness.add(30)

    assert lateness.read() == {"packets": 2, "dropped": 0, "late_mean_ns": 20, "late_max_ns": 30}
    assert lateness.read() == {"packets": 2, "dropped": 0, "late_mean_ns": 0, "late_max_ns": 0}
