"""Traces: what many gateways measured and sent, generated from a seed and stored as Parquet.

A trace has one row for each record that is sent, ordered by `due`:

| column | |
|---|---|
| gateway_id, date | the record's identity; date in milliseconds since 1970, UTC |
| due | when it is sent, in ms since 1970: within 2 s of date, or minutes later if late |
| since | date of the gateway's record before this one; its own date for the first |
| tx, rx | the truth: whole bytes since the gateway's last record; 0 for the first |
| counter_tx, counter_rx | the gateway's counters at date, as *cumulative* has them |
| restarts | how often the gateway has started again |
| copy | this row repeats an earlier one |

Traffic between a gateway's last record and a restart is never measured and not part of the truth.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gateway_traffic.errors import UsageError
from gateway_traffic.records import DAY_MS, MAXIMUM, Version

Floats = NDArray[np.float64]

LINE_RX, LINE_TX = 1.25e8, 6.25e7
"""Capacity of a home's line in bytes per second: 1 Gbit/s down, half of it up."""
GAP_MAX_S = 3600.0
"""With the line's rate this keeps every interval below half of MAXIMUM, so that even schema 1 tells
wraps from restarts.
"""
HOURS = (
    *(0.6, 0.4, 0.25, 0.18, 0.15, 0.18, 0.3, 0.5, 0.7, 0.75, 0.8, 0.85),
    *(0.95, 0.95, 0.9, 0.95, 1.1, 1.3, 1.6, 1.9, 2.1, 2.2, 1.8, 1.1),
)
"""How busy homes are at each hour of the day."""
COLUMNS = (
    "gateway_id",
    "date",
    "due",
    "since",
    "tx",
    "rx",
    "counter_tx",
    "counter_rx",
    "restarts",
    "copy",
)


@dataclass(frozen=True, kw_only=True)
class Homes:
    """The parameters of a trace. The same values give the same trace, and a gateway's rows do not
    depend on the number of gateways.
    """

    gateways: int = 200
    days: float = 1.0
    seed: int = 1
    start: str = "2024-01-01"
    """First day, UTC. It is a Monday."""
    interval_s: float = 60.0
    """Usual time between two records of a gateway."""
    gaps_per_day: float = 1.0
    """Silences of a gateway of up to an hour, while its home still has traffic."""
    restarts_per_day: float = 0.2
    late: float = 0.01
    """Share of records that are sent minutes too late, after newer ones."""
    duplicates: float = 0.005
    """Share of records that are sent twice."""
    wraps: float = 0.1
    """Share of gateways whose counter wraps within the trace, unless a restart comes first."""

    def __post_init__(self) -> None:
        if self.gateways < 1 or self.days <= 0 or self.interval_s < 1 or self.seed < 0:
            raise UsageError(
                "a trace needs a gateway, some time, intervals of a second or more and a seed "
                f"from 0 on; asked for: {self}"
            )
        for name in ("late", "duplicates", "wraps"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(
                    f"{name} is a share, between 0 and 1; asked for: {getattr(self, name)}"
                )
        if min(self.gaps_per_day, self.restarts_per_day) < 0:
            raise UsageError("gaps_per_day and restarts_per_day must be 0 or more")
        _midnight_ms(self.start)


def generate(homes: Homes) -> pl.DataFrame:
    """Generate the trace of these homes."""
    start_ms = _midnight_ms(homes.start)
    frames = [_gateway(homes, number, start_ms) for number in range(homes.gateways)]
    return pl.concat(frames).sort("due", "gateway_id", "date", "copy").select(COLUMNS)


def write(trace: pl.DataFrame, path: Path, homes: Homes) -> None:
    """Write a trace as Parquet, with its parameters as metadata."""
    trace.write_parquet(path, metadata={"homes": json.dumps(asdict(homes))})


def read(path: Path) -> pl.DataFrame:
    """Read a trace; UsageError if the file is none."""
    try:
        trace = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UsageError(f"{path} cannot be read as a trace: {error}") from None
    if missing := [name for name in COLUMNS if name not in trace.columns]:
        raise UsageError(
            f"{path} is no trace: it has no column {', '.join(missing)}. Make one: gateway-traffic "
            "trace FILE"
        )
    return trace.select(COLUMNS)


def records_of(trace: pl.DataFrame, version: Version) -> pl.DataFrame:
    """The records that the gateways send in this version, in the trace's order, each with `due`."""
    seconds = (pl.col("date") - pl.col("since")) / 1000
    values = {
        Version.CUMULATIVE: (pl.col("counter_tx"), pl.col("counter_rx")),
        Version.COUNTER: (pl.col("tx"), pl.col("rx")),
        Version.RATE: (_mean_rate("tx", seconds), _mean_rate("rx", seconds)),
    }
    sent, received = values[version]
    return trace.select(
        "gateway_id", "date", sent.alias("ipTx"), received.alias("ipRx"), "restarts", "due"
    )


def _mean_rate(name: str, seconds: pl.Expr) -> pl.Expr:
    return pl.when(seconds > 0).then(pl.col(name) / seconds).otherwise(0.0)


def _midnight_ms(day: str) -> int:
    try:
        return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000)
    except ValueError:
        raise UsageError(f"start is a day such as 2024-01-01; asked for: {day!r}") from None


def _gateway(homes: Homes, number: int, start_ms: int) -> pl.DataFrame:
    random = np.random.default_rng([homes.seed, number])
    dates_s = _dates(homes, random)
    count = len(dates_s)
    since_s = np.concatenate([dates_s[:1], dates_s[:-1]])
    passed_s = dates_s - since_s
    boots = _boots(homes, random, passed_s)
    share_up = np.where(boots, random.random(count), 1.0)
    rx, tx = _traffic(random, start_ms / 1000 + dates_s, share_up * passed_s)
    wraps = random.random() < homes.wraps
    # The order of the draws determines the trace of a seed.
    counter_tx = _counter(random, tx, boots, wraps)
    counter_rx = _counter(random, rx, boots, wraps)
    restarts_before = random.integers(0, 20, dtype=np.int32)
    rows = {
        "date": start_ms + _whole_ms(dates_s),
        "since": start_ms + _whole_ms(since_s),
        "tx": tx,
        "rx": rx,
        "counter_tx": counter_tx,
        "counter_rx": counter_rx,
        "restarts": restarts_before + np.cumsum(boots).astype(np.int32),
    }
    frame = pl.DataFrame(rows).with_columns(gateway_id=pl.lit(f"gw-{number:06d}"))
    return _add_due_times(homes, random, frame)


def _boots(homes: Homes, random: np.random.Generator, passed_s: Floats) -> NDArray[np.bool_]:
    """Whether the gateway restarted since its last record, for each record."""
    boots = random.random(len(passed_s)) < homes.restarts_per_day * passed_s / 86_400
    boots[0] = False
    return boots


def _whole_ms(times_s: Floats) -> NDArray[np.int64]:
    return np.round(times_s * 1000).astype(np.int64)


def _dates(homes: Homes, random: np.random.Generator) -> Floats:
    """Times of a gateway's records, in seconds since the start: about `interval_s` apart, with
    a few gaps.
    """
    count = int(homes.days * 86_400 / homes.interval_s * 1.2) + 10
    steps = homes.interval_s * np.maximum(0.05, random.normal(1.0, 0.05, count))
    gaps = random.random(count) < homes.gaps_per_day * homes.interval_s / 86_400
    lengths = np.minimum(random.exponential(900.0, count), GAP_MAX_S - homes.interval_s)
    steps += np.where(gaps, lengths, 0.0)
    dates = random.uniform(0, homes.interval_s) + np.cumsum(steps)
    inside = dates[dates < homes.days * 86_400]
    return inside if len(inside) else dates[:1]


def _traffic(
    random: np.random.Generator, times_s: Floats, seconds: Floats
) -> tuple[Floats, Floats]:
    """Bytes received and sent in each interval. Homes differ by orders of magnitude, evenings are
    busy, downloads are large.
    """
    count = len(times_s)
    usual = random.lognormal(np.log(8e9 / 86_400), 1.2)
    noise = random.lognormal(-0.5, 1.0, count)
    downloads = np.where(random.random(count) < 0.03, 10 * (1 + random.pareto(1.3, count)), 0.0)
    rate = usual * busyness(times_s) * (noise + downloads)
    upward = random.lognormal(np.log(0.1), 0.6, count)
    received = np.minimum(rate, LINE_RX) * seconds
    sent = np.minimum(rate * upward, LINE_TX) * seconds
    return np.floor(received), np.floor(sent)


def busyness(times_s: Floats) -> Floats:
    """How busy homes are at these times (seconds since 1970, UTC): about 1 on average, 2 in the
    evening, a sixth at night.
    """
    weekday = times_s // 86_400 % 7  # 0 is Thursday, the day of 1970-01-01.
    daily = np.interp(times_s / 3600 % 24, np.arange(24), HOURS, period=24)
    weekend = np.where((weekday == 2) | (weekday == 3), 1.3, 0.9)
    return np.asarray(daily * weekend, dtype=np.float64)


def _counter(
    random: np.random.Generator, traffic: Floats, boots: NDArray[np.bool_], wraps: bool
) -> Floats:
    """The cumulative counter: it starts at a random base and at zero after each boot, and wraps at
    MAXIMUM.
    """
    total = np.cumsum(traffic)
    if wraps:
        base = np.floor(MAXIMUM - random.random() * total[-1])
    else:
        base = np.floor(random.uniform(0, MAXIMUM))
    began = np.where(boots, total - traffic, -base)  # What to subtract from here on.
    latest = np.maximum.accumulate(np.where(boots, np.arange(len(boots)), 0))
    return np.asarray((total - began[latest]) % MAXIMUM, dtype=np.float64)


def _add_due_times(homes: Homes, random: np.random.Generator, frame: pl.DataFrame) -> pl.DataFrame:
    """Add when each record is sent, and the records that are sent twice."""
    count = len(frame)
    is_late = random.random(count) < homes.late
    lateness_ms = 1000 * (homes.interval_s * 1.5 + random.exponential(300.0, count))
    late_ms = np.where(is_late, lateness_ms, 0.0)
    delay_ms = random.uniform(0, 2000, count) + late_ms
    due = frame["date"].to_numpy() + delay_ms.astype(np.int64)
    first = frame.with_columns(due=pl.Series(due), copy=pl.lit(False))
    return pl.concat([first, _copies(homes, random, first)])


def _copies(homes: Homes, random: np.random.Generator, first: pl.DataFrame) -> pl.DataFrame:
    """The records that are sent a second time, each a while after the first time."""
    again = random.random(len(first)) < homes.duplicates
    delay_ms = (1000 + random.exponential(30_000.0, len(first))).astype(np.int64)
    delayed = first.with_columns(due=pl.col("due") + pl.Series(delay_ms), copy=pl.lit(True))
    return delayed.filter(pl.Series(again))


def span_days(trace: pl.DataFrame) -> float:
    """The time from the first to the last due record of a trace, in days."""
    last, first = trace["due"].max(), trace["due"].min()
    return (int(last) - int(first)) / DAY_MS if len(trace) else 0.0  # type: ignore[arg-type]
