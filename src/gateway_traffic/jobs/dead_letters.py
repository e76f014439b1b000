"""Dead letters: records that cannot be read go to a separate topic, at least once.

Spark counts the flaws of each batch while it computes the traffic; only a batch with flaws is read
a second time. `settled` is a position in each partition: all dead letters before it are written. It
is saved beside the checkpoint from time to time; after a restart, what lies between it and the
checkpoint is read again.
"""

from __future__ import annotations

import contextlib
import json
import queue
import time

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)
from pyspark.sql.streaming.listener import StreamingQueryProgress as Progress

from gateway_traffic.jobs import decoding
from gateway_traffic.jobs.decoding import FLAWS
from gateway_traffic.jobs.source import JobOptions, source_options

KEEP_S = 30.0
END_S = 30.0
NOWHERE = "None"
"""PySpark's text for no position."""
NOT_THERE = "PATH_NOT_FOUND"
EARLIEST = -2
"""The beginning of a partition, for Spark's Kafka source."""
Offsets = dict[str, dict[str, int]]
"""Topic, partition, the next offset."""


class DeadLetters(StreamingQueryListener):
    """Writes the dead letters of batches.

    Spark calls the listener in another thread, so the work waits until `follow` is called.
    """

    def __init__(self, spark: SparkSession, job: JobOptions, *, query: str) -> None:
        self._spark = spark
        self._job = job
        self._query = query
        self._folder = f"{job.checkpoint}/letters"
        self._settled = self._saved_position()
        self._saved_at = time.monotonic()
        self._reported: queue.SimpleQueue[Progress | str] = queue.SimpleQueue()

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Do nothing; Spark requires the method."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Queue a finished batch of our query."""
        if event.progress.name == self._query:
            self._reported.put(event.progress)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Do nothing; Spark requires the method."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Queue the id of an ended run, as the end of its batches."""
        self._reported.put(str(event.runId))

    def follow(self) -> None:
        """Write the dead letters of the batches reported so far."""
        while not self._reported.empty():
            self._settle(self._reported.get())

    def finish(self, run: str) -> None:
        """Write those of all batches of an ended run; batches not reported in time are left to the
        next start.
        """
        with contextlib.suppress(queue.Empty):
            while (reported := self._reported.get(timeout=END_S)) != run:
                self._settle(reported)

    def save_position(self) -> None:
        """Save the position for the next start."""
        # Not from a Python list: Spark would start a Python worker for it.
        text = F.lit(json.dumps(self._settled)).alias("value")
        row = self._spark.range(1).coalesce(1).select(text)
        row.write.mode("overwrite").text(self._folder)
        self._saved_at = time.monotonic()

    def _settle(self, reported: Progress | str) -> None:
        if isinstance(reported, str) or not (end := _offsets(reported.sources[0].endOffset)):
            return
        flaws = reported.observedMetrics[FLAWS][FLAWS] if reported.numInputRows else 0
        skipped = _offsets(reported.sources[0].startOffset) != self._settled
        if flaws or skipped:
            self._send(self._settled, end)
        self._settled = end
        if flaws or skipped or time.monotonic() > self._saved_at + KEEP_S:
            self.save_position()

    def _send(self, begin: Offsets, end: Offsets) -> None:
        starts = {
            topic: {part: begin.get(topic, {}).get(part, EARLIEST) for part in parts}
            for topic, parts in end.items()
        }
        spans = {
            "startingOffsets": json.dumps(starts),
            "endingOffsets": json.dumps(end),
            "failOnDataLoss": "false",
        }
        rows = self._spark.read.format("kafka").options(**source_options(self._job) | spans).load()
        decoded = decoding.decode_rows(rows, self._job.version, self._job.encodings)
        writer = decoding.dead_letters(decoded).write.format("kafka")
        writer = writer.option("kafka.bootstrap.servers", self._job.bootstrap)
        writer.option("topic", self._job.dead_letter_topic).save()

    def _saved_position(self) -> Offsets:
        try:
            rows = self._spark.read.text(self._folder).collect()
        except AnalysisException as error:
            if error.getCondition() == NOT_THERE:
                return {}
            raise
        return _offsets(rows[0][0]) if rows else {}


def _offsets(text: str) -> Offsets:
    offsets: Offsets = json.loads(text) if text != NOWHERE else {}
    return offsets
