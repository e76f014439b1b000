"""Splits every postcard into its words. Like most jobs of its kind it knows its broker by
address.
"""

import tempfile

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

BROKER = "10.0.0.2:9092"

spark = SparkSession.builder.appName("split words").getOrCreate()
postcards = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKER)
    .option("subscribe", "postcards")
    .load()
)
words = postcards.select(
    F.explode(F.split(F.lower(postcards.value.cast("string")), r"\s+")).alias("value")
)
sink = (
    words.writeStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKER)
    .option("topic", "words")
)
sink.option("checkpointLocation", tempfile.mkdtemp()).start().awaitTermination()
