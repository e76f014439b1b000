"""Logs and outputs of jobs for the checks of contents."""

from dataclasses import replace

from streambed.kinds.checks import LateAsDeclared, SameAs
from tests.support.histories import (
    batch,
    history_of,
    kept,
    seen,
)
from tests.support.pipelines import PIPELINE, declared


def log(topic, *values, key=""):
    """A topic as the witness read it back, with values and one key."""
    lines = []
    for offset, value in enumerate(values):
        name, _, content = value.rpartition(":")
        own = name or key
        lines.append(seen(topic, f"a={offset}", by="witness", at=1000, key=own))
        lines.append(kept(topic, content, offset=offset, key=own))
    return lines


TWO_JOBS = {
    **PIPELINE,
    "kafka": {"kind": "kafka", "nodes": ["broker"], "topics": {"lines": {}, "one": {}, "two": {}}},
    "shout": {**PIPELINE["shout"], "writes": ["one"]},
    "other": {**PIPELINE["shout"], "writes": ["two"]},
}


def same(*lines):
    check = SameAs(topic="one", other="two")
    assert check.problems(declared(TWO_JOBS)) == []
    return check.judge(history_of(*lines, components=TWO_JOBS))


EPOCH = "to_timestamp(value::integer)"


def timed(number, offsets, *, watermark, late):
    """A batch with a watermark, in seconds, that dropped late rows."""
    told = batch("shout", number + 1, number + 2, lines=offsets)
    return replace(told, batch=number, watermark_ns=watermark * 10**9, late_rows=late)


def late(*batches, values=("100", "95", "80", "101"), **keys):
    check = LateAsDeclared(of="shout", event_time=EPOCH, delay="10s", **keys)
    assert check.problems(declared(PIPELINE)) == []
    return check.judge(history_of(log("lines", *values), *batches, components=PIPELINE))


FIRST = timed(0, (0, 1), watermark=0, late=0)
