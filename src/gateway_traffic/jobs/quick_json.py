"""Read JSON of the usual form without a parser: Spark's allocates 8 KiB for every record.

The usual form is what `codecs.encode` writes: no spaces, the fields in their order, no exponents
and no escapes. It has exactly one comma between two fields, so the record is cut at commas and
every field is at a known position. Other forms are left to Spark's parser.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from gateway_traffic.records import GATEWAY_ID

_WHOLE = "(?:0|[1-9][0-9]{{0,{}}}+)".format
_NUMBER = rf"{_WHOLE(15)}(?:\.[0-9]{{1,15}}+)?+"
_STARTS = ('{"gateway_id":"', '"date":', '"ipTx":', '"ipRx":', '"restarts":')
_ENDS = ('"', "", "", "", "}")
_FORMS = (f"{GATEWAY_ID.pattern}+", _WHOLE(17), _NUMBER, _NUMBER, f"-?+{_WHOLE(8)}")
_TYPES = ("string", "long", "double", "double", "int")
_NAMES = ("gateway_id", "date", "ipTx", "ipRx", "restarts")
USUAL = (
    r"\A"
    + ",".join(
        rf"\Q{start}\E{form}\Q{end}\E"
        for start, form, end in zip(_STARTS, _FORMS, _ENDS, strict=True)
    )
    + r"\z"
)
"""A pattern in Java's syntax."""


def pieces(text: Column) -> Column:
    """The record cut at its commas, null if its form is not the usual one."""
    return F.when(text.rlike(USUAL), F.split(text, ","))


def record(column: str) -> Column:
    """The record from a column of pieces, as `from_json` returns it; null without pieces."""
    fields = zip(_STARTS, _ENDS, _TYPES, _NAMES, strict=True)
    values = [
        _between(F.col(column)[position], start, end).cast(kind).alias(name)
        for position, (start, end, kind, name) in enumerate(fields)
    ]
    return F.when(F.col(column).isNotNull(), F.struct(*values))


def _between(piece: Column, start: str, end: str) -> Column:
    """Count in bytes: to count characters, Spark looks at each."""
    length = F.octet_length(piece) - (len(start) + len(end))
    return piece.cast("binary").substr(F.lit(len(start) + 1), length).cast("string")
