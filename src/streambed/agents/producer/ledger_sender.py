"""Sender with a ledger: every record has a name, and a row once it is decided."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
from confluent_kafka import KafkaError, KafkaException

from streambed.agents.agent import Agent
from streambed.agents.producer.bulk_client import AT_ONCE, BulkClient, Reports, Values
from streambed.agents.producer.client_sender import ASK_S, QUIET, STOP_S, why
from streambed.agents.producer.due_times import Due
from streambed.agents.producer.in_flight import Numbers, UnderWay
from streambed.agents.producer.record_names import RecordNames
from streambed.agents.producer.record_source import Record, Source
from streambed.agents.producer.sent_rows import Acked, SentRows
from streambed.agents.record_identity import IDENTITY
from streambed.record import now_ns

PLACE_BITS = 32
"""The mark of a record has its place among those under way, and above it the number of its topic.
"""
PLACES = (1 << PLACE_BITS) - 1
MAKING_NS = 200_000
"""Records are made for so long before they are handed over together: nobody waits for what takes
longer to make.
"""
MANY = 8
"""From so many records on it takes less time to hand them over together."""


class NotingSender:
    """One producer that notes what became of every record."""

    def __init__(
        self, name: str, agent: Agent, source: Source, client: Mapping[str, str], rows: SentRows
    ) -> None:
        self.name = name
        self.agent = agent
        self.source = source
        self.client = BulkClient({**client, **QUIET}, source.topics, name_header=IDENTITY)
        self.sent = self.failed = self.acked = 0
        self._rows = rows
        self._number = rows.number(name)
        self._topics = {topic: number for number, topic in enumerate(source.topics)}
        self._topic_numbers = np.array([rows.number(topic) for topic in source.topics])
        self._names = RecordNames(name)
        self._under_way = UnderWay()

    @property
    def open(self) -> int:
        """How many records are not decided yet."""
        return self.sent - self.acked - self.failed

    def send_all(self, due: Due) -> int:
        """What takes long to make is handed over before the next is made."""
        made = self._made(due.sequences[:AT_ONCE])
        return self._send(due.sequences[: len(made)], due.times, made)

    def _made(self, sequences: range) -> list[Record]:
        """The first of these records, at least one, as far as their names are held together."""
        names = self._names
        if not names.first <= sequences[0] < names.past:
            names.turn_to(sequences[0])
        sequences = sequences[: names.past - sequences[0]]
        if self.source.same:
            return [self.source.same] * len(sequences)
        end_ns = now_ns() + MAKING_NS
        made = [self.source.record_of(sequences[0])]
        while len(made) < len(sequences) and now_ns() < end_ns:
            made += map(self.source.record_of, sequences[len(made) : 2 * len(made)])
        return made

    def _send(self, sequences: range, dues: list[int], made: list[Record]) -> int:
        """Hand over records; how many the client took."""
        keys, values, headers = zip(*made, strict=True)
        taken = (
            self._send_many(sequences, dues, keys, values)
            if len(made) >= MANY and not any(headers)
            else 0
        )
        # One by one it is found out why the client did not take one, too.
        while taken < len(made) and self._send_one(sequences[taken], dues[taken], made[taken]):
            taken += 1
        return taken

    def _send_one(self, sequence: int, due: int, record: Record) -> bool:
        """Hand over one record; whether the client took it."""
        topic = self._topics[self.source.topic_of(sequence)]
        place = self._under_way.add_one(sequence, due, now_ns())
        name = self._names.place_of(sequence)
        try:
            self.client.produce(record, topic=topic, mark=place | topic << PLACE_BITS, name=name)
        except BufferError:
            self._under_way.take(np.array([place]))
            return False
        except KafkaException as trouble:
            raise SystemExit(
                f"the client does not take record {sequence} of {self.name}: "
                f"{trouble.args[0].str()}"
            ) from trouble
        self.sent += 1
        return True

    def _send_many(self, sequences: range, dues: list[int], keys: Values, values: Values) -> int:
        """Hand over all together; how many the client took before one that it did not."""
        known = np.empty((len(values), 3), np.int64)
        known[:, 0] = np.arange(sequences.start, sequences.stop)
        # Times come in order: where the first is the last, they are all the same, as in a burst.
        known[:, 1] = dues[0] if dues[0] == dues[-1] else dues[: len(values)]
        known[:, 2] = now_ns()
        places = self._under_way.add(known)
        topics = self._topics_of(sequences)
        names = self._names.places_of(known[:, 0])
        taken = self.client.produce_many(
            keys, values, topics=topics, marks=places | topics << PLACE_BITS, names=names
        )
        if taken < len(values):
            self._under_way.take(places[taken:])
        self.sent += taken
        return taken

    def _topics_of(self, sequences: range) -> Numbers | int:
        """The number of each record's topic; if there is one, that is 0."""
        if len(self._topics) == 1:
            return 0
        return np.array([self._topics[self.source.topic_of(sequence)] for sequence in sequences])

    def poll(self, wait_s: float) -> None:
        """Note what the client reports."""
        for reports in self.client.reports(wait_s):
            self._note(reports)

    def _note(self, reports: Reports) -> None:
        """Kafka acknowledged records, or the client gave up."""
        known = self._under_way.take(reports.marks & PLACES)
        topics = self._topic_numbers[reports.marks >> PLACE_BITS]
        records = Acked(
            known[:, 0], topics, reports.partitions, reports.offsets, known[:, 1], known[:, 2]
        )
        failed = reports.errors != 0
        if failed.any():
            self._note_failed(
                Acked(*(column[failed] for column in records)), reports.errors[failed].tolist()
            )
            records = Acked(*(column[~failed] for column in records))
        self._rows.acked(self._number, records, at_ns=reports.at_ns)
        self.acked += len(records.sequence)

    def _note_failed(self, records: Acked, codes: list[int]) -> None:
        reasons = {code: why(KafkaError(code)) for code in set(codes)}
        columns = (
            column.tolist()
            for column in (records.sequence, records.topic, records.due, records.sent)
        )
        for sequence, topic, due, sent, code in zip(*columns, codes, strict=True):
            self._rows.lost(self._number, sequence, topic, due, sent, reasons[code])
        self.failed += len(codes)

    def prepare(self) -> None:
        """Learn of the topics' partitions."""
        while not self.agent.stopping and not self.client.knows_topics(ASK_S):
            pass

    def settle(self) -> None:
        """Nothing is held back."""

    def give_up(self) -> None:
        """Wait a little, then purge what the client still holds: its reports say so."""
        self._wait_for_the_last()
        self.client.purge()
        self._wait_for_the_last()

    def _wait_for_the_last(self) -> None:
        end = time.monotonic() + STOP_S
        while self.open and time.monotonic() < end:
            self.client.hurry()
            self.poll(0)
