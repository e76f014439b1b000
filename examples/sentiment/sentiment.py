"""Streaming job: what each message says of its author's mood, by two readers of the same text."""

from __future__ import annotations

from pathlib import Path

from dead_letters import dead_letters
from models import Newest
from pyspark.sql import DataFrame, SparkSession
from streams import parameters, records_from, run, send
from tables import upsert
from transforms import (
    SOURCE,
    judged_messages,
    sentiment_records,
    sentiment_rows,
    with_label,
    with_polarity,
)


def main() -> None:
    """Write an opinion or a reason for each message."""
    options = parameters("Read moods.", "models", "store", "dead_letters")
    spark = SparkSession.builder.appName("sentiment").getOrCreate()
    models = Newest(Path(options.models))
    model = models.load(models.wait())
    messages = records_from(spark, bootstrap=options.bootstrap, topic=options.reads)
    judged = messages.transform(judged_messages)
    opinions = judged.transform(with_label, model).transform(with_polarity)

    def write(batch: DataFrame, _: int) -> None:
        batch.persist()
        upsert(batch.transform(sentiment_rows), options.store, "sentiments", key=SOURCE)
        sentiments, letters = batch.transform(sentiment_records), batch.transform(dead_letters)
        topics = {options.writes: sentiments, options.dead_letters: letters}
        send(topics, bootstrap=options.bootstrap)
        batch.unpersist()

    writer = opinions.writeStream.foreachBatch(write)
    run(writer, checkpoint=options.checkpoint, trigger=options.trigger)


if __name__ == "__main__":
    main()
