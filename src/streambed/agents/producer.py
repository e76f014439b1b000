"""Producer agent: every record has the time at which it is due, and is sent then, whatever became of the others."""

from __future__ import annotations

import json
import os
import random
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from streambed.agents.agent import Agent
from streambed.record import now_ns
from streambed.tables import SENT

IDENTITY = "sb"
"""The header that carries producer/sequence."""
PLACEHOLDER = re.compile(rb"\{(record|topic|n)(?::([0-9]+))?\}")
POLL_S_MAX = 0.05
STOP_S = 2.0
Record = tuple[bytes | None, bytes]


def contents_of(path: Path, content: str) -> list[bytes]:
    """What there is to send: the lines of a file, the file as a whole, or the files of a folder in the order of their names."""
    if content == "folder":
        found = [file.read_bytes() for file in sorted(path.iterdir()) if file.is_file()]
    else:
        found = [path.read_bytes()] if content == "whole" else path.read_bytes().splitlines()
    if not found:
        raise SystemExit(f"{path} has nothing to send")
    return found


def repeated(contents: list[bytes], key: str) -> Callable[[int], Record]:
    """The n-th record is the n-th content, over and over."""

    def of(sequence: int) -> Record:
        found = contents[sequence % len(contents)]
        before, tab, after = found.partition(b"\t")
        return (before, after) if key == "tab" and tab else (None, found)

    return of


def worded(record_of: Callable[[int], Record], text: str, topic: str) -> Callable[[int], Record]:
    """Records that say `text`, in which {record}, {n}, {n:6} (with zeros, six digits) and {topic} are filled in; other braces stay."""

    def of(sequence: int) -> Record:
        key, value = record_of(sequence)

        def filled(found: re.Match[bytes]) -> bytes:
            number = f"{sequence + 1:0{int(found[2] or 0)}}".encode()
            return {b"record": value, b"topic": topic.encode(), b"n": number}[found[1]]

        return key, PLACEHOLDER.sub(filled, text.encode())

    return of


def made_up_records(*, size: int, keys: int, spread: str, seed: str) -> Callable[[int], Record]:
    """Records of `size` bytes; the same seed gives the same record for the same sequence number."""
    body = random.Random(seed).randbytes(size)

    def key_of(sequence: int) -> bytes | None:
        if not keys:
            return None
        draw = random.Random(f"{seed} {sequence}").random()
        return b"%d" % int(keys**draw - 1 if spread == "zipf" else keys * draw)  # keys**u is log-uniform: Zipf with exponent 1.

    return lambda sequence: (key_of(sequence), body)


class Sending:
    """The records under way, and the ledger of those that were decided."""

    def __init__(self, agent: Agent, order: dict[str, Any]) -> None:
        self.agent = agent
        self.order = order
        self.client = Producer({**order["client"], "log_level": 4}, logger=None)
        self.table = agent.table("sent", SENT)
        self.open: dict[int, tuple[int, int]] = {}
        self.sent = self.acked = self.failed = 0

    def send(self, sequence: int, due: int, record: Record) -> None:
        """Hand one record to the client; a full buffer holds up the next ones, whose due times stay."""
        identity = f"{self.order['producer']}/{sequence}".encode()
        while not self.agent.stopping:
            try:
                self.open[sequence] = (due, now_ns())
                self.client.produce(
                    self.order["topic"],
                    record[1],
                    record[0],
                    headers=[(IDENTITY, identity)],
                    on_delivery=lambda error, message: self.decided(sequence, error, message),
                )
                self.sent += 1
                return
            except BufferError:
                self.poll(POLL_S_MAX)
        self.open.pop(sequence, None)

    def decided(self, sequence: int, error: KafkaError | None, message: Message) -> None:
        """Kafka acknowledged the record, or the client gave up."""
        due, sent = self.open.pop(sequence)
        self.acked += error is None
        self.failed += error is not None
        where = (message.partition(), message.offset()) if error is None else (None, None)
        acked = now_ns() if error is None else None
        self.table.append(self.order["producer"], sequence, self.order["topic"], *where, due, sent, acked, str(error) if error else None)

    def poll(self, wait_s: float) -> None:
        """Serve callbacks, the ledger and the gauge."""
        self.client.poll(max(0.0, min(wait_s, POLL_S_MAX)))
        self.table.flush_if_due()
        if self.agent.report_is_due():
            self.report()

    def report(self, done: bool = False) -> None:
        """The gauge."""
        self.agent.report(ready=True, done=done, sent=self.sent, acked=self.acked, failed=self.failed, open=len(self.open))

    def finish(self) -> None:
        """Wait for every record to be decided; told to stop, note the rest as undecided."""
        while self.open and not self.agent.stopping:
            self.poll(POLL_S_MAX)
        if self.open:
            self.client.flush(STOP_S)
        for sequence, (due, sent) in self.open.items():
            self.table.append(
                self.order["producer"], sequence, self.order["topic"], None, None, due, sent, None, "undecided when the run stopped"
            )
        self.table.close()
        self.report(done=True)


def know_the_topic(sending: Sending) -> None:
    """Wait until the client knows the topic's partitions, so that the first record does not pay for it."""
    while not sending.agent.stopping:
        try:
            if sending.client.list_topics(sending.order["topic"], timeout=1).topics[sending.order["topic"]].partitions:
                return
        except KafkaException:
            continue


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """When each record is due: every `step_ns`, all at once if that is 0, or without it whenever the client takes one."""

    start_ns: int
    end_ns: int
    step_ns: float | None
    last: int | None

    def due(self, sequence: int) -> int | None:
        """The time at which a record is due; None if there is none any more."""
        if self.last is not None and sequence >= self.last:
            return None
        if self.step_ns is None:
            now = max(self.start_ns, now_ns())
            return now if now < self.end_ns else None
        return self.start_ns + int(sequence * self.step_ns)

    def first(self, incarnation: int) -> int:
        """The first record to send. Started again: what was due meanwhile is not sent, and no number is used twice."""
        if incarnation == 1:
            return 0
        if self.step_ns == 0:
            return self.last or 0
        return max(0, int((now_ns() - self.start_ns) / (self.step_ns or 1)) + 1)


def schedule_of(order: dict[str, Any], *, held: int, start_ns: int) -> Schedule:
    """The schedule of an order; `held` is how much content its file has."""
    wanted = order["rounds"] * held if order["rounds"] else order["count"]
    end_ns = start_ns + order["duration_ns"]
    if order["rate"] is None:
        return Schedule(start_ns=start_ns, end_ns=end_ns, step_ns=None if wanted is None else 0.0, last=wanted)
    step_ns = 1e9 / order["rate"]
    within = int(order["duration_ns"] / step_ns)
    return Schedule(start_ns=start_ns, end_ns=end_ns, step_ns=step_ns, last=within if wanted is None else min(wanted, within))


def records_of(order: dict[str, Any]) -> tuple[Callable[[int], Record], int]:
    """The records of an order by their sequence number, and how much content its file has."""
    contents = contents_of(Path(order["file"]), order["content"]) if order["file"] else []
    seed = f"{os.environ['STREAMBED_SEED']} {order['producer']}"
    made_up = made_up_records(size=order["size"], keys=order["keys"], spread=order["spread"], seed=seed)
    record_of = repeated(contents, order["key"]) if contents else made_up
    return (worded(record_of, order["text"], order["topic"]) if order["text"] else record_of), len(contents)


def send_all(sending: Sending, schedule: Schedule, record_of: Callable[[int], Record]) -> None:
    """Send each record when it is due."""
    sequence = schedule.first(sending.agent.incarnation)
    while (due := schedule.due(sequence)) is not None and not sending.agent.stopping:
        while (wait_ns := due - now_ns()) > 0 and not sending.agent.stopping:
            sending.poll(wait_ns / 1e9)
        sending.send(sequence, due, record_of(sequence))
        if sequence % 64 == 0:
            sending.poll(0)
        sequence += 1


def main(order: dict[str, Any]) -> None:
    """Wait for the load to begin, send, wait for the answers."""
    agent = Agent()
    record_of, held = records_of(order)
    agent.gate("servers")
    sending = Sending(agent, order)
    know_the_topic(sending)
    sending.report()
    start_ns = agent.gate("load").get("start_ns", 0) + order["after_ns"]
    send_all(sending, schedule_of(order, held=held, start_ns=start_ns), record_of)
    sending.finish()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
