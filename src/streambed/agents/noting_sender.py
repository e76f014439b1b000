"""Sender with a ledger: every record has a name, and a row once it is decided."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from confluent_kafka import KafkaError, KafkaException

from streambed.agents.agent import Agent
from streambed.agents.bulk_client import BulkClient, Reports
from streambed.agents.record_names import RecordNames
from streambed.agents.record_source import Source
from streambed.agents.sender import ASK_S, IDENTITY, QUIET, STOP_S, why
from streambed.agents.sent_rows import Acked, SentRows
from streambed.record import now_ns

ROOM_AT_FIRST = 4096
PLACE_BITS = 32


class UnderWay:
    """What is known of each record that is under way, by a place of its own; places are used again."""

    def __init__(self) -> None:
        self._known = np.empty((3, 0), np.int64)
        self.free: list[int] = []
        self.grow()

    def grow(self) -> None:
        """Make more places; the client's own limit on records under way is the limit here."""
        held = self._known.shape[1]
        wanted = 2 * held or ROOM_AT_FIRST
        self._known = np.concatenate([self._known, np.zeros((3, wanted - held), np.int64)], axis=1)
        self.free += range(wanted - 1, held - 1, -1)
        self.sequence, self.due, self.sent = map(memoryview, self._known)

    def take(self, places: Any) -> Any:
        """Sequence, due and sent of records that are decided; their places are free again."""
        self.free += places.tolist()
        return self._known[:, places]


class NotingSender:
    """One producer that notes what became of every record."""

    def __init__(self, name: str, agent: Agent, source: Source, client: dict[str, Any], rows: SentRows) -> None:
        self.name = name
        self.agent = agent
        self.source = source
        self.client = BulkClient({**client, **QUIET}, source.topics, name_header=IDENTITY)
        self.sent = self.failed = self.acked = 0
        self._rows = rows
        self._number = rows.number(name)
        self._topics = {topic: number for number, topic in enumerate(source.topics)}
        self._topic_numbers = np.array([rows.number(topic) for topic in source.topics])
        self._topic = ""
        self._topic_bits = 0
        self._names = RecordNames(name)
        self.client.set_name_width(self._names.width)
        self._under_way = UnderWay()

    @property
    def open(self) -> int:
        """As of a sender."""
        return self.sent - self.acked - self.failed

    def send(self, sequence: int, due: int) -> None:
        """As of a sender."""
        topic = self.source.topic_of(sequence)
        if topic is not self._topic:
            self._turn_to(topic)
        names = self._names
        if not names.first <= sequence < names.past:
            names.turn_to(sequence)
            self.client.set_name_width(names.width)
        under_way = self._under_way
        if not under_way.free:
            under_way.grow()
        place = under_way.free.pop()
        under_way.sequence[place] = sequence
        under_way.due[place] = due
        under_way.sent[place] = now_ns()
        key, value, headers = self.source.record_of(sequence)
        name = names.address + (sequence - names.first) * names.width
        try:
            self.client.produce(key, value, headers, place + self._topic_bits, name)
        except BufferError:
            under_way.free.append(place)
            raise
        except KafkaException as trouble:
            raise SystemExit(f"the client does not take record {sequence} of {self.name}: {trouble.args[0].str()}") from trouble
        self.sent += 1

    def _turn_to(self, topic: str) -> None:
        self._topic = topic
        number = self._topics[topic]
        self.client.set_topic(number)
        self._topic_bits = number << PLACE_BITS

    def poll(self, wait_s: float) -> None:
        """As of a sender."""
        for reports in self.client.reports(wait_s):
            self._note(reports)

    def _note(self, reports: Reports) -> None:
        """Kafka acknowledged records, or the client gave up."""
        sequence, due, sent = self._under_way.take(reports.marks & ((1 << PLACE_BITS) - 1))
        topic = self._topic_numbers[reports.marks >> PLACE_BITS]
        records = Acked(sequence, topic, reports.partitions, reports.offsets, due, sent)
        failed = reports.errors != 0
        if failed.any():
            self._note_failed(Acked(*(column[failed] for column in records)), reports.errors[failed].tolist())
            records = Acked(*(column[~failed] for column in records))
        self._rows.acked(self._number, records, at_ns=reports.at_ns)
        self.acked += len(records.sequence)

    def _note_failed(self, records: Acked, codes: list[int]) -> None:
        reasons = {code: why(KafkaError(code)) for code in set(codes)}
        columns = (column.tolist() for column in (records.sequence, records.topic, records.due, records.sent))
        for sequence, topic, due, sent, code in zip(*columns, codes, strict=True):
            self._rows.lost(self._number, sequence, topic, due, sent, reasons[code])
        self.failed += len(codes)

    def know_the_topics(self) -> None:
        """As of a sender."""
        while not self.agent.stopping and not self.client.knows_topics(ASK_S):
            pass

    def settle(self) -> None:
        """As of a sender."""

    def give_up(self) -> None:
        """As of a sender."""
        self._wait_for_the_last()
        self.client.purge()
        self._wait_for_the_last()

    def _wait_for_the_last(self) -> None:
        end = time.monotonic() + STOP_S
        while self.open and time.monotonic() < end:
            self.client.hurry()
            self.poll(0)
