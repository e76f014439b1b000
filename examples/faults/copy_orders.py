"""Copy orders to bills, 30 ms for each, in batches of 400 at most.

Values name the source, headers are passed on.

copy_orders.py BOOTSTRAP CHECKPOINT
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

# Rows are sent one by one: a function in Python would hold back a hundred.
SLEEP = "substring(coalesce(java_method('java.lang.Thread', 'sleep', 30L), ''), 1, 0)"

bootstrap, checkpoint = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
source = source.option("subscribe", "orders").option("includeHeaders", "true")
orders = source.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 400).load()
place = F.struct(
    F.col("partition").alias("source_partition"), F.col("offset").alias("source_offset")
)
bills = orders.select(F.concat(F.to_json(place), F.expr(SLEEP)).alias("value"), "headers")
sink = bills.writeStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
sink = sink.option("topic", "bills").option("checkpointLocation", checkpoint)
sink.start().awaitTermination()
