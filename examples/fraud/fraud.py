"""Streaming job: score every payment by the newest model, and raise alerts."""

from __future__ import annotations

from pathlib import Path

from dead_letters import accepted, dead_letters
from models import Newest
from profiles import Twin, profiled
from pyspark.sql import DataFrame, SparkSession
from streams import parameters, records_from, run, send
from transforms import (
    alert_records,
    judged_payments,
    newest_profiles,
    score_records,
    scores,
    with_features,
)


def main() -> None:
    """Write a score or a reason for each payment."""
    options = parameters("Find fraud.", "models", "twin", "alerts", "dead_letters")
    spark = SparkSession.builder.appName("fraud").getOrCreate()
    models = Newest(Path(options.models))
    models.load(models.wait())
    twin = Twin(options.twin)
    records = records_from(spark, bootstrap=options.bootstrap, topic=options.reads)

    def write(payments: DataFrame, batch: int) -> None:
        payments.persist()
        version = twin.model_of(batch, models.version())
        features = payments.transform(accepted).transform(with_features)
        scored = models.load(version).transform(features).transform(scores, version)
        topics = {
            options.writes: scored.transform(score_records),
            options.alerts: scored.transform(alert_records),
            options.dead_letters: payments.transform(dead_letters),
        }
        send(topics, bootstrap=options.bootstrap)
        twin.write(features.transform(newest_profiles))
        payments.unpersist()

    payments = records.transform(judged_payments).transform(profiled)
    writer = payments.writeStream.foreachBatch(write)
    run(writer, checkpoint=options.checkpoint, trigger=options.trigger, mode="update")


if __name__ == "__main__":
    main()
