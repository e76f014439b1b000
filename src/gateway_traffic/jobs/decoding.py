"""Kafka's records as gateways' records, and as letters for those that cannot be read: none is lost
silently.
"""

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


def decoded(
    rows: DataFrame, version: Version, encodings: Iterable[str] = tuple(ENCODINGS)
) -> DataFrame:
    """Each of Kafka's rows with its record's fields, and `flaw`: why it cannot be read, null if it
    can.
    """
    chosen = [ENCODINGS[name] for name in encodings]
    named = rows.select(*KAFKA, _said("headers", SCHEMA_HEADER).cast("string").alias("encoding"))
    # Selects of their own: Spark would otherwise cut and parse a row again for each of its fields.
    cut = named.select(
        "*", F.when(F.col("encoding") == USUAL, quick_json.pieces(_text())).alias("pieces")
    )
    parsed = cut.select("*", F.coalesce(*map(_parsed, chosen)).alias("record"))
    fields = [F.col("record")[name].alias(name) for name in RECORD[:-1]]
    usual = F.col("pieces").isNotNull().alias("usual")
    known = parsed.select(*KAFKA, "encoding", *fields, _restarts().alias("restarts"), usual)
    return known.withColumn("flaw", _flaw(version, [encoding.name for encoding in chosen])).drop(
        "usual"
    )


def counted(rows: DataFrame) -> DataFrame:
    """Decoded rows without Kafka's part, of which Spark counts those with a flaw as they pass by.

    What asks for the flaw after this does not make Spark parse every row a second time.
    """
    return rows.select(*RECORD, "flaw").observe(FLAWS, F.count("flaw").alias(FLAWS))


def readable(rows: DataFrame) -> DataFrame:
    """The gateways' records."""
    return rows.where(F.col("flaw").isNull()).select(*RECORD)


def dead_letters(rows: DataFrame) -> DataFrame:
    """What goes to the topic of dead letters: key, value and headers as they came, then the reason
    and where the row stood.
    """
    place = F.concat_ws("/", "topic", "partition", "offset")
    added = F.array(_header("reason", F.col("flaw")), _header("place", place))
    headers = F.concat(
        F.coalesce("headers", F.array().cast("array<struct<key:string,value:binary>>")), added
    )
    return rows.where(F.col("flaw").isNotNull()).select("key", "value", headers.alias("headers"))


def _said(headers: str, name: str) -> Column:
    """The value of the first header with a name, null if there is none. It is most often the first
    of all: a search takes longer.
    """
    first = F.get(headers, F.lit(0))
    place = F.array_position(f"{headers}.key", name).cast("int")
    return F.when(first["key"] == name, first["value"]).otherwise(
        F.get(headers, place - 1)["value"]
    )


def _text() -> Column:
    return F.col("value").cast("string")


def _parsed(encoding: Encoding) -> Column:
    """The record as the newest schema has it, null if the row is in another encoding."""
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
    """A writer of the first schema does not know of them."""
    record, old = F.col("record"), Encoding(Serialisation.JSON, 1).name
    return F.when(record.isNotNull() & (F.col("encoding") == old), RESTARTS_UNKNOWN).otherwise(
        record["restarts"]
    )


def _flaw(version: Version, encodings: list[str]) -> Column:
    """The first thing that is wrong. A date far ahead would close days for everybody, so it is
    compared with Kafka's own clock.

    Whoever found the form usual has looked at the gateway's name already.
    """
    missing = F.greatest(*[F.col(name).isNull() for name in RECORD])
    identity = F.col("usual") | F.col("gateway_id").rlike(f"^(?:{GATEWAY_ID.pattern})$")
    possible = [F.col(name).between(0.0, HIGHEST[version]) for name in ("ipTx", "ipRx")]
    ahead = F.col("date") > F.unix_millis("timestamp") + DAY_MS
    return (
        F.when(F.col("encoding").isNull(), "no header tells the encoding")
        .when(
            ~F.col("encoding").isin(encodings),
            F.concat(F.lit("unknown encoding "), F.substring("encoding", 1, 40)),
        )
        .when(missing, F.concat(F.lit("this is not "), "encoding"))
        .when(~identity, "gateway_id is not 1 to 64 letters, digits or . _ : -")
        .when(
            ~(possible[0] & possible[1]),
            f"ipTx and ipRx are not both between 0 and {HIGHEST[version]:.0f}",
        )
        .when(
            (F.col("restarts") < RESTARTS_UNKNOWN) | (F.col("date") < 0) | ahead,
            "an impossible date or number of restarts",
        )
    )


def _header(name: str, text: Column) -> Column:
    return F.struct(F.lit(name).alias("key"), F.encode(text, "utf-8").alias("value"))
