"""Kafka sender with a ledger: every record has a name, and a row once it is decided."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
from confluent_kafka import KafkaError, KafkaException

from streambed.agents.agent import Agent
from streambed.agents.producer.bulk_client import AT_ONCE, BulkClient, Reports, Values
from streambed.agents.producer.client_sender import ASK_S, QUIET, STOP_S, why
from streambed.agents.producer.in_flight import COLUMNS, InFlight, Numbers
from streambed.agents.producer.outcomes import acks_of, outcome_of_acked, outcome_of_failed
from streambed.agents.producer.record_names import RecordNames
from streambed.agents.producer.record_source import Record, Source
from streambed.agents.producer.sent_rows import Acked, SentRows
from streambed.agents.producer.timetable import Due
from streambed.agents.record_identity import IDENTITY
from streambed.record import now_ns
from streambed.record.tables import KeyHashes

SLOT_BITS = 32
"""The mark of a record: its slot in InFlight, and above it the number of its topic."""
SLOT_MASK = (1 << SLOT_BITS) - 1
MAKING_NS = 200_000
"""How long records are made before they are handed over: slow ones are not held up."""
MANY = 8
"""From this number on it is faster to hand records over in bulk."""


class LedgerSender:
    """One producer that writes the fate of every record to the ledger."""

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
        self._in_flight = InFlight()
        self._key_hashes = KeyHashes()
        self._acks = acks_of(client)

    @property
    def open(self) -> int:
        """Number of records that are not decided yet."""
        return self.sent - self.acked - self.failed

    def send_all(self, due: Due) -> int:
        """Make and hand over the first records; slow ones go before the next is made."""
        records = self._make_records(due.sequences[:AT_ONCE])
        return self._send(due.sequences[: len(records)], due.times, records)

    def _make_records(self, sequences: range) -> list[Record]:
        """Make the first of these records, at least one, as far as `_names` holds their names."""
        names = self._names
        if not names.first <= sequences[0] < names.past:
            names.hold(sequences[0])
        sequences = sequences[: names.past - sequences[0]]
        if self.source.same:
            return [self.source.same] * len(sequences)
        end_ns = now_ns() + MAKING_NS
        records = [self.source.record_of(sequences[0])]
        while len(records) < len(sequences) and now_ns() < end_ns:
            following = sequences[len(records) : 2 * len(records)]
            records += map(self.source.record_of, following)
        return records

    def _send(self, sequences: range, dues: list[int], records: list[Record]) -> int:
        """Hand over records. Returns how many the client took."""
        keys, values, headers = zip(*records, strict=True)
        taken = 0
        if len(records) >= MANY and not any(headers):
            taken = self._send_many(sequences, dues, keys, values)
        # Sending records one at a time also tells why one was refused.
        while taken < len(records):
            if not self._send_one(sequences[taken], dues[taken], records[taken]):
                break
            taken += 1
        return taken

    def _send_one(self, sequence: int, due: int, record: Record) -> bool:
        """Hand over one record. False: the client's queue is full."""
        topic = self._topics[self.source.topic_of(sequence)]
        slot = self._in_flight.add_one(sequence, due, now_ns(), self._key_hashes[record[0]])
        name = self._names.address_of(sequence)
        try:
            self.client.produce(record, topic=topic, mark=slot | topic << SLOT_BITS, name=name)
        except BufferError:
            self._in_flight.take(np.array([slot]))
            return False
        except KafkaException as trouble:
            raise SystemExit(
                f"the client does not take record {sequence} of {self.name}: "
                f"{trouble.args[0].str()}"
            ) from trouble
        self.sent += 1
        return True

    def _send_many(self, sequences: range, dues: list[int], keys: Values, values: Values) -> int:
        """Hand over records in bulk. Returns how many were taken before the first refused one."""
        known = np.empty((len(values), COLUMNS), np.int64)
        known[:, 0] = np.arange(sequences.start, sequences.stop)
        # Times are in order: if first and last are equal, all are, as in a burst.
        known[:, 1] = dues[0] if dues[0] == dues[-1] else dues[: len(values)]
        known[:, 2] = now_ns()
        known[:, 3] = self._hashes_of(keys)
        slots = self._in_flight.add(known)
        topics = self._topics_of(sequences)
        names = self._names.addresses_of(known[:, 0])
        taken = self.client.produce_many(
            keys, values, topics=topics, marks=slots | topics << SLOT_BITS, names=names
        )
        if taken < len(values):
            self._in_flight.take(slots[taken:])
        self.sent += taken
        return taken

    def _hashes_of(self, keys: Values) -> Numbers | int:
        """The hash of each key; one number if they are all the same."""
        if keys.count(keys[0]) == len(keys):
            return self._key_hashes[keys[0]]
        return np.fromiter(map(self._key_hashes.__getitem__, keys), np.int64, len(keys))

    def _topics_of(self, sequences: range) -> Numbers | int:
        """The number of each record's topic; 0 if there is only one topic."""
        if len(self._topics) == 1:
            return 0
        return np.array([self._topics[self.source.topic_of(sequence)] for sequence in sequences])

    def poll(self, wait_s: float) -> None:
        """Write the client's delivery reports to the ledger."""
        for reports in self.client.reports(wait_s):
            self._note(reports)

    def _note(self, reports: Reports) -> None:
        """Write rows for acknowledged and failed records."""
        known = self._in_flight.take(reports.marks & SLOT_MASK)
        topics = self._topic_numbers[reports.marks >> SLOT_BITS]
        sequences, dues, sent, keys = known.T
        records = Acked(sequences, topics, reports.partitions, reports.offsets, dues, sent, keys)
        failed = reports.errors != 0
        if failed.any():
            lost = Acked(*(column[failed] for column in records))
            codes, statuses = reports.errors[failed].tolist(), reports.statuses[failed].tolist()
            self._note_failed(lost, codes, statuses)
            records = Acked(*(column[~failed] for column in records))
        outcome = outcome_of_acked(self._acks)
        self._rows.acked(self._number, records, at_ns=reports.at_ns, outcome=outcome)
        self.acked += len(records.sequence)

    def _note_failed(self, records: Acked, codes: list[int], statuses: list[int]) -> None:
        reasons = {code: why(KafkaError(code)) for code in set(codes)}
        columns = (
            column.tolist()
            for column in (records.sequence, records.topic, records.due, records.sent, records.key)
        )
        records_and_reports = zip(*columns, codes, statuses, strict=True)
        for sequence, topic, due, sent, key, code, status in records_and_reports:
            self._rows.lost(
                self._number,
                sequence,
                topic,
                due=due,
                sent=sent,
                key=key,
                why=reasons[code],
                outcome=outcome_of_failed(code, status, self._acks),
            )
        self.failed += len(codes)

    def prepare(self) -> None:
        """Wait until the client knows the partitions of all topics."""
        while not self.agent.stopping and not self.client.knows_topics(ASK_S):
            pass

    def settle(self) -> None:
        """Do nothing: no record is held back."""

    def give_up(self) -> None:
        """Wait a little, then purge what the client still holds; its reports say so."""
        self._wait_for_reports()
        self.client.purge()
        self._wait_for_reports()

    def _wait_for_reports(self) -> None:
        end = time.monotonic() + STOP_S
        while self.open and time.monotonic() < end:
            self.client.hurry()
            self.poll(0)
