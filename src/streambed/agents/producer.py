"""Producer agent: every record has the time at which it is due, and is sent then, whatever became of the others."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from streambed.agents.agent import Agent
from streambed.record import now_ns
from streambed.tables import SENT

IDENTITY = "sb"
"""The header that carries producer/sequence."""
POLL_S_MAX = 0.05
STOP_S = 2.0
Record = tuple[bytes | None, bytes]


def records_of_file(path: Path, key: str) -> Callable[[int], Record]:
    """The n-th record is the n-th line, over and over."""
    lines = path.read_bytes().splitlines()
    if not lines:
        raise SystemExit(f"{path} has no line to send")

    def of(sequence: int) -> Record:
        line = lines[sequence % len(lines)]
        before, tab, after = line.partition(b"\t")
        return (before, after) if key == "tab" and tab else (None, line)

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


def main(order: dict[str, Any]) -> None:
    """Wait for the load to begin, send, wait for the answers."""
    agent = Agent()
    made_up = {
        "size": order["size"],
        "keys": order["keys"],
        "spread": order["spread"],
        "seed": f"{os.environ['STREAMBED_SEED']} {order['producer']}",
    }
    record_of = records_of_file(Path(order["file"]), order["key"]) if order["file"] else made_up_records(**made_up)
    agent.gate("servers")
    sending = Sending(agent, order)
    know_the_topic(sending)
    sending.report()
    start_ns = agent.gate("load").get("start_ns", 0)
    step_ns = 1e9 / order["rate"]
    last = int(order["duration_ns"] / step_ns) if order["count"] is None else min(order["count"], int(order["duration_ns"] / step_ns))
    sequence = (
        max(0, int((now_ns() - start_ns) / step_ns) + 1) if agent.incarnation > 1 else 0
    )  # Started again: what was due meanwhile was not sent.
    while sequence < last and not agent.stopping:
        due = start_ns + int(sequence * step_ns)
        while (wait_ns := due - now_ns()) > 0 and not agent.stopping:
            sending.poll(wait_ns / 1e9)
        sending.send(sequence, due, record_of(sequence))
        if sequence % 64 == 0:
            sending.poll(0)
        sequence += 1
    sending.finish()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
