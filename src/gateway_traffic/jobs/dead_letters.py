"""Dead letters: what cannot be read goes to a topic of its own, at least once.

Spark counts the flaws of each batch while it computes the traffic; only a batch that has some is
read a second time. Everything before `settled`, a position in each partition, has its letters. The
position is kept beside the checkpoint from time to time: what lies between it and where a new start
goes on is read again.
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
"""How PySpark spells that there is no position."""
NOT_THERE = "PATH_NOT_FOUND"
EARLIEST = -2
"""How Kafka's source spells the beginning of a partition."""
Offsets = dict[str, dict[str, int]]
"""Topic, partition, the next offset."""


class DeadLetters(StreamingQueryListener):
    """Listens to Spark, which tells of each batch in a thread of its own; what is to be done waits
    until `follow` is called.
    """

    def __init__(self, spark: SparkSession, job: JobOptions, *, query: str) -> None:
        self._spark = spark
        self._job = job
        self._query = query
        self._folder = f"{job.checkpoint}/letters"
        self._settled = self._kept()
        self._kept_at = time.monotonic()
        self._heard: queue.SimpleQueue[Progress | str] = queue.SimpleQueue()

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Nothing to do."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """A batch is done."""
        if event.progress.name == self._query:
            self._heard.put(event.progress)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Nothing to do."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """No more will be heard of this run."""
        self._heard.put(str(event.runId))

    def follow(self) -> None:
        """See to the letters of the batches that were heard of."""
        while not self._heard.empty():
            self._settle(self._heard.get())

    def finish(self, run: str) -> None:
        """The same for all batches of a run that has ended. What is not heard of in time is left to
        the next start.
        """
        with contextlib.suppress(queue.Empty):
            while (heard := self._heard.get(timeout=END_S)) != run:
                self._settle(heard)

    def keep(self) -> None:
        """Write down the position, for the next start."""
        # Not from a list of Python's: Spark would start a worker of Python's for it, beside its
        # batches.
        written = (
            self._spark.range(1).coalesce(1).select(F.lit(json.dumps(self._settled)).alias("value"))
        )
        written.write.mode("overwrite").text(self._folder)
        self._kept_at = time.monotonic()

    def _settle(self, heard: Progress | str) -> None:
        if isinstance(heard, str) or not (end := _offsets(heard.sources[0].endOffset)):
            return
        flaws = heard.observedMetrics[FLAWS][FLAWS] if heard.numInputRows else 0
        if wanted := flaws or _offsets(heard.sources[0].startOffset) != self._settled:
            self._send(self._settled, end)
        self._settled = end
        if wanted or time.monotonic() > self._kept_at + KEEP_S:
            self.keep()

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
        written = decoding.dead_letters(
            decoding.decoded(rows, self._job.version, self._job.encodings)
        ).write.format("kafka")
        written.option("kafka.bootstrap.servers", self._job.bootstrap).option(
            "topic", self._job.dead_letter_topic
        ).save()

    def _kept(self) -> Offsets:
        try:
            rows = self._spark.read.text(self._folder).collect()
        except AnalysisException as error:
            if error.getCondition() == NOT_THERE:
                return {}
            raise
        return _offsets(rows[0][0]) if rows else {}


def _offsets(text: str) -> Offsets:
    found: Offsets = json.loads(text) if text != NOWHERE else {}
    return found
