"""Dead letters: what cannot be read goes to a topic of its own, at least once.

Spark counts the flaws of each batch while it computes the traffic; only a batch that has some is read a second time. Everything before
`settled`, a position in each partition, has its letters. The position is kept beside the checkpoint from time to time: what lies between it
and where a new start goes on is read again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from gateway_traffic.jobs import decoding
from gateway_traffic.jobs.decoding import FLAWS
from gateway_traffic.jobs.source import Job, source_options

KEEP_S = 30.0
EARLIEST = -2
"""How Kafka's source spells the beginning of a partition."""
Offsets = dict[str, dict[str, int]]
"""Topic, partition, the next offset."""


class Letters:
    """Follows the query of the traffic batch by batch."""

    def __init__(self, spark: SparkSession, job: Job) -> None:
        self._spark = spark
        self._job = job
        self._folder = f"{job.checkpoint}/letters"
        self._settled = self._kept()
        self._kept_at = time.monotonic()
        self._seen = ""

    def follow(self, progress: Sequence[dict[str, Any]]) -> None:
        """See to the letters of the batches that are new among these."""
        for each in progress:
            (source,) = each["sources"]
            if each["timestamp"] > self._seen and source["endOffset"]:
                flaws = each["observedMetrics"][FLAWS][FLAWS] if source["numInputRows"] else 0
                self._settle(_offsets(source["startOffset"]), _offsets(source["endOffset"]), flaws)
                self._seen = each["timestamp"]

    def keep(self) -> None:
        """Write down the position, for the next start."""
        written = self._spark.createDataFrame([(json.dumps(self._settled),)], "value string")
        written.coalesce(1).write.mode("overwrite").text(self._folder)
        self._kept_at = time.monotonic()

    def _settle(self, begin: Offsets, end: Offsets, flaws: int) -> None:
        unseen = begin != self._settled
        if flaws or unseen:
            self._send(self._settled, end)
        self._settled = end
        if flaws or unseen or time.monotonic() > self._kept_at + KEEP_S:
            self.keep()

    def _send(self, begin: Offsets, end: Offsets) -> None:
        starts = {topic: {part: begin.get(topic, {}).get(part, EARLIEST) for part in parts} for topic, parts in end.items()}
        spans = {"startingOffsets": json.dumps(starts), "endingOffsets": json.dumps(end), "failOnDataLoss": "false"}
        rows = self._spark.read.format("kafka").options(**source_options(self._job) | spans).load()
        written = decoding.letters(decoding.decoded(rows, self._job.version, self._job.encodings)).write.format("kafka")
        written.option("kafka.bootstrap.servers", self._job.bootstrap).option("topic", self._job.buries).save()

    def _kept(self) -> Offsets:
        try:
            rows = self._spark.read.text(self._folder).collect()
        except (PySparkException, Py4JJavaError):  # There is none yet.
            return {}
        return _offsets(rows[0][0]) if rows else {}


def _offsets(text: str | None) -> Offsets:
    found: Offsets = json.loads(text) if text else {}
    return found
