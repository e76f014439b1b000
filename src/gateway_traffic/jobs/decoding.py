"""Decode Kafka's records; unreadable ones become dead letters, so none is lost silently."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from gateway_traffic.codecs import schema_text
from gateway_traffic.jobs import quick_json
from gateway_traffic.records import (
    DAY_MS,
    ENCODINGS,
    GATEWAY_ID,
    HIGHEST,
    NEWEST_SCHEMA,
    RESTARTS_UNKNOWN,
    SCHEMA_HEADER,
    Encoding,
    Serialisation,
    Version,
)

JSON_SCHEMA = "gateway_id string, date long, ipTx double, ipRx double, restarts int"
USUAL = Encoding(Serialisation.JSON).name
KAFKA = ("key", "value", "headers", "topic", "partition", "offset", "timestamp")
FLAWS = "flaws"
RECORD = ("gateway_id", "date", "ipTx", "ipRx", "restarts")


def decode_rows(
    rows: DataFrame, version: Version, encodings: Iterable[str] = tuple(ENCODINGS)
) -> DataFrame:
    """Kafka's rows with their record's fields and `flaw`: why a row cannot be read, else null."""
    chosen = [ENCODINGS[name] for name in encodings]
    encoding_name = _header_value("headers", SCHEMA_HEADER).cast("string")
    named = rows.select(*KAFKA, encoding_name.alias("encoding"))
    # Separate selects: in one, Spark would cut and parse a row again for each field.
    pieces = F.when(F.col("encoding") == USUAL, quick_json.pieces(_text()))
    cut = named.select("*", pieces.alias("pieces"))
    parsed = cut.select("*", F.coalesce(*map(_parse, chosen)).alias("record"))
    fields = [F.col("record")[name].alias(name) for name in RECORD[:-1]]
    usual = F.col("pieces").isNotNull().alias("usual")
    known = parsed.select(*KAFKA, "encoding", *fields, _restarts().alias("restarts"), usual)
    flaw = _flaw(version, [encoding.name for encoding in chosen])
    return known.withColumn("flaw", flaw).drop("usual")


def count_flaws(rows: DataFrame) -> DataFrame:
    """Decoded rows without Kafka's columns; Spark counts those with a flaw as an observed metric.

    A later use of `flaw` does not make Spark parse every row a second time.
    """
    return rows.select(*RECORD, "flaw").observe(FLAWS, F.count("flaw").alias(FLAWS))


def readable(rows: DataFrame) -> DataFrame:
    """The records of the rows without a flaw."""
    return rows.where(F.col("flaw").isNull()).select(*RECORD)


def dead_letters(rows: DataFrame) -> DataFrame:
    """Rows for the topic of dead letters: the original key, value and headers, then the headers
    `reason` and `place`.
    """
    place = F.concat_ws("/", "topic", "partition", "offset")
    added = F.array(_header("reason", F.col("flaw")), _header("place", place))
    none = F.array().cast("array<struct<key:string,value:binary>>")
    headers = F.concat(F.coalesce("headers", none), added)
    return rows.where(F.col("flaw").isNotNull()).select("key", "value", headers.alias("headers"))


def _header_value(headers: str, name: str) -> Column:
    """The value of the first header with this name, else null.

    It is mostly the very first header: a search takes longer.
    """
    first = F.get(headers, F.lit(0))
    position = F.array_position(f"{headers}.key", name).cast("int")
    searched = F.get(headers, position - 1)["value"]
    return F.when(first["key"] == name, first["value"]).otherwise(searched)


def _text() -> Column:
    return F.col("value").cast("string")


def _parse(encoding: Encoding) -> Column:
    """The record in the newest schema, null if the row is in another encoding."""
    if encoding.serialisation is Serialisation.JSON:
        record = F.coalesce(quick_json.record("pieces"), F.from_json(_text(), JSON_SCHEMA))
    else:
        record = from_avro(
            "value",
            schema_text(encoding.schema),
            {"mode": "PERMISSIVE", "avroSchema": schema_text(NEWEST_SCHEMA)},
        )
    return F.when(F.col("encoding") == encoding.name, record)


def _restarts() -> Column:
    """The first schema in JSON has no `restarts`: they are unknown."""
    record, old = F.col("record"), Encoding(Serialisation.JSON, 1).name
    lacks_restarts = record.isNotNull() & (F.col("encoding") == old)
    return F.when(lacks_restarts, RESTARTS_UNKNOWN).otherwise(record["restarts"])


def _flaw(version: Version, encodings: list[str]) -> Column:
    """The first flaw of a row, else null.

    For `usual` rows quick_json has checked the gateway_id already.
    """
    encoding = F.col("encoding")
    missing = F.greatest(*[F.col(name).isNull() for name in RECORD])
    identity = F.col("usual") | F.col("gateway_id").rlike(f"^(?:{GATEWAY_ID.pattern})$")
    highest = HIGHEST[version]
    in_range = F.col("ipTx").between(0.0, highest) & F.col("ipRx").between(0.0, highest)
    unknown = F.concat(F.lit("unknown encoding "), F.substring("encoding", 1, 40))
    return (
        F.when(encoding.isNull(), "no header tells the encoding")
        .when(~encoding.isin(encodings), unknown)
        .when(missing, F.concat(F.lit("this is not "), "encoding"))
        .when(~identity, "gateway_id is not 1 to 64 letters, digits or . _ : -")
        .when(~in_range, f"ipTx and ipRx are not both between 0 and {highest:.0f}")
        .when(_impossible(), "an impossible date or number of restarts")
    )


def _impossible() -> Column:
    """Whether the date or the number of restarts of a row is impossible.

    A date far ahead would close days for all gateways, so it is compared with Kafka's timestamp.
    """
    date = F.col("date")
    ahead = date > F.unix_millis("timestamp") + DAY_MS
    return (F.col("restarts") < RESTARTS_UNKNOWN) | (date < 0) | ahead


def _header(name: str, text: Column) -> Column:
    return F.struct(F.lit(name).alias("key"), F.encode(text, "utf-8").alias("value"))
