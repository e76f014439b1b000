"""The whole pipeline against an existing Kafka and Spark, with server, job and client as processes.

    trace ── client ── server ── Kafka (given) ── job on Spark (local or given) ── store ── audit

A box runs the same commands on emulated hosts. All processes end with the pipeline, unless it is
killed by SIGKILL.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from gateway_traffic import auditing, traces
from gateway_traffic.errors import NoStoreError, ServiceError, UsageError
from gateway_traffic.ingest.forwarder import make_topics
from gateway_traffic.records import Version, topic_of
from gateway_traffic.stores.opening import open_store

COMMAND = (sys.executable, "-m", "gateway_traffic")
STEP_S = 0.25
STOP_S = 20.0
BATCH_DONE = "batch "
"""How the job's line for each batch that it has written begins. What these commands print is a
protocol between programs: the first word of a line says what happened.
"""
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """The options of one run, as the command line gives them."""

    bootstrap: str
    spark_master: str
    store: str
    folder: Path
    """For the trace, the ledger and logs; must be empty, because each run has its own."""
    checkpoint: str
    """A path that all of Spark's hosts can write to."""
    homes: traces.Homes
    version: Version
    rate: float
    partitions: int
    prefix: str
    settings: tuple[str, ...]
    drain_s: float
    """Time limit for the job to start, and to catch up after the load."""

    @property
    def trace(self) -> Path:
        """The file of what is sent."""
        return self.folder / "trace.parquet"

    @property
    def ledger(self) -> Path:
        """The client's ledger: what became of each record."""
        return self.folder / "ledger.parquet"


def carry_out(pipeline: Pipeline, say: Say) -> auditing.Audit:
    """Run the pipeline once, from the trace to the comparison with the exact answer."""
    folder = pipeline.folder
    trace = _prepare(pipeline)
    with ExitStack() as stack:
        server = stack.enter_context(piece("server", folder, _server(pipeline)))
        job = stack.enter_context(piece("job", folder, _job(pipeline)))
        url = server.wait_for_line("ready ", within_s=pipeline.drain_s)
        say(
            f"server at {url}, job on {pipeline.spark_master}; sending {len(trace):,} records at "
            f"{pipeline.rate:g} a second"
        )
        client = stack.enter_context(piece("client", folder, _client(pipeline, url)))
        _wait_until(
            lambda: client.ended,
            [server, job],
            within_s=len(trace) / pipeline.rate + pipeline.drain_s,
            what="the client to end",
        )
        ledger = auditing.read_ledgers([pipeline.ledger])
        say(f"{ledger['acked'].count():,} acknowledged; waiting for the job to catch up")
        _wait_for_store(pipeline, ledger, server, job)
        return _audit(pipeline, trace, ledger)


def _wait_for_store(pipeline: Pipeline, ledger: pl.DataFrame, server: Piece, job: Piece) -> None:
    """Wait until the store holds every acknowledged record once."""
    acked = ledger.filter(pl.col("acked").is_not_null())
    distinct = acked.unique(["gateway_id", "date"]).height
    store = StoreWatch(pipeline.store, written=lambda: job.has_printed(BATCH_DONE))
    _wait_until(
        lambda: store.holds(distinct),
        [server, job],
        within_s=pipeline.drain_s,
        what=f"the store to hold {distinct:,} records",
        why=lambda: store.trouble,
    )


def _prepare(pipeline: Pipeline) -> pl.DataFrame:
    """Make the folder, the trace and the topics. Returns the trace."""
    folder = pipeline.folder
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise UsageError(f"the folder {folder} is not empty: name another, each run has its own")
    trace = traces.generate(pipeline.homes)
    traces.write(trace, pipeline.trace, pipeline.homes)
    topics = [topic_of(version, pipeline.prefix) for version in Version]
    make_topics(
        pipeline.bootstrap, topics, partitions=pipeline.partitions, replicas=1, within_s=30.0
    )
    return trace


def _audit(pipeline: Pipeline, trace: pl.DataFrame, ledger: pl.DataFrame) -> auditing.Audit:
    with closing(open_store(pipeline.store, read_only=True)) as store:
        return auditing.audit(trace, ledger, store, pipeline.version)


class StoreWatch:
    """Checks how many records a store holds; `trouble` says why there are too few.

    A store that does not answer, or that the job has not created yet, may be there the next time.
    Raised is what waiting does not solve: a wrong address, tables of another program, and a missing
    store although the job has written a batch.
    """

    def __init__(self, address: str, *, written: Callable[[], bool]) -> None:
        self._address = address
        self._written = written
        self.trouble = ""

    def holds(self, records: int) -> bool:
        """Whether it holds at least this many records."""
        written = self._written()
        try:
            with closing(open_store(self._address, read_only=True)) as store:
                held = sum(day.records for day in store.days())
        except NoStoreError as error:
            if written:
                raise
            self.trouble = str(error)
            return False
        except ServiceError as error:
            self.trouble = str(error)
            return False
        self.trouble = f"it holds {held:,}"
        return held >= records


def _server(pipeline: Pipeline) -> list[str]:
    return ["serve", "--bootstrap", pipeline.bootstrap, "--port", "0", "--prefix", pipeline.prefix]


def _job(pipeline: Pipeline) -> list[str]:
    words = ["job", "--bootstrap", pipeline.bootstrap, "--version", pipeline.version]
    words += ["--topic", topic_of(pipeline.version, pipeline.prefix)]
    words += ["--checkpoint", pipeline.checkpoint, "--store", pipeline.store]
    words += ["--spark-master", pipeline.spark_master]
    for setting in pipeline.settings:
        words += ["--setting", setting]
    return words


def _client(pipeline: Pipeline, url: str) -> list[str]:
    words = ["send", str(pipeline.trace), "--url", url, "--version", pipeline.version]
    return [*words, "--rate", str(pipeline.rate), "--ledger", str(pipeline.ledger)]


class Piece:
    """One of our commands as a process; its output is in a log."""

    def __init__(self, name: str, log: Path, process: subprocess.Popen[bytes]) -> None:
        self.name = name
        self._log = log
        self._process = process

    @property
    def ended(self) -> bool:
        """Whether it has exited with status 0; ServiceError with its last lines if it failed."""
        status = self._process.poll()
        if status:
            lines = self._log.read_text(errors="replace").splitlines()[-12:]
            last = "".join(f"\n  | {line}" for line in lines)
            raise ServiceError(
                f"the {self.name} ended with status {status}. Its last lines (all in "
                f"{self._log}):{last}"
            )
        return status == 0

    def has_printed(self, begins: str) -> bool:
        """Whether a line of its output begins with this text."""
        return bool(self._lines(begins))

    def wait_for_line(self, begins: str, *, within_s: float) -> str:
        """Wait for a line that begins with this text and return the rest of it."""
        _wait_until(
            lambda: self.has_printed(begins),
            [self],
            within_s=within_s,
            what=f"the {self.name} to be ready",
        )
        return self._lines(begins)[0].removeprefix(begins).strip()

    def _lines(self, begins: str) -> list[str]:
        lines = self._log.read_text(errors="replace").splitlines()
        return [line for line in lines if line.startswith(begins)]


@contextmanager
def piece(name: str, folder: Path, words: Sequence[str]) -> Iterator[Piece]:
    """Start one of our commands; at the end of the block it is terminated, then killed."""
    log = folder / f"{name}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*COMMAND, *words], stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        )
    try:
        yield Piece(name, log, process)
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until(
    done: Callable[[], bool],
    living: Sequence[Piece],
    *,
    within_s: float,
    what: str,
    why: Callable[[], str] = lambda: "",
) -> None:
    """Wait for a condition; ServiceError if a process in `living` ends or the time is up.

    `why` says what is still missing when the time is up.
    """
    end, pause = time.monotonic() + within_s, threading.Event()
    while not done():
        if gone := [each.name for each in living if each.ended]:
            raise ServiceError(f"the {gone[0]} ended too early, while waiting for {what}")
        if time.monotonic() > end:
            cause = why()
            reason = f": {cause}" if cause else ""
            raise ServiceError(f"waited {within_s:.0f} s for {what}{reason}")
        pause.wait(STEP_S)
