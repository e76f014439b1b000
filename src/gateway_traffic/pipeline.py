"""The whole pipeline against a Kafka and a Spark that are given: server, job and client as
processes of their own.

    trace ── client ── server ── Kafka (given) ── job on Spark (local or given) ── store ── audit

One target decides where; the pieces are the same commands that a box runs on emulated hosts. Pieces
end with it, unless it is killed without a word (kill -9).
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
"""How the job's line for each batch that it has written begins."""
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """What is to run, and where."""

    bootstrap: str
    spark_master: str
    store: str
    folder: Path
    """For the trace, the ledger and logs; empty, because each run has its own."""
    checkpoint: str
    """Where all of Spark's hosts can write."""
    homes: traces.Homes
    version: Version
    rate: float
    partitions: int
    prefix: str
    settings: tuple[str, ...]
    drain_s: float
    """How long the job may take to catch up after the load, and to begin."""

    @property
    def trace(self) -> Path:
        """What is sent."""
        return self.folder / "trace.parquet"

    @property
    def ledger(self) -> Path:
        """What became of it."""
        return self.folder / "ledger.parquet"


def carry_out(pipeline: Pipeline, say: Say) -> auditing.Audit:
    """Run it once, from the trace to the comparison with the exact answer."""
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
    with ExitStack() as stack:
        server = stack.enter_context(piece("server", folder, _server(pipeline)))
        job = stack.enter_context(piece("job", folder, _job(pipeline)))
        url = server.answer("ready ", within_s=pipeline.drain_s)
        say(
            f"server at {url}, job on {pipeline.spark_master}; sending {len(trace):,} records at "
            f"{pipeline.rate:g} a second"
        )
        client = stack.enter_context(piece("client", folder, _client(pipeline, url)))
        _until(
            lambda: client.ended,
            [server, job],
            within_s=len(trace) / pipeline.rate + pipeline.drain_s,
            what="the client to end",
        )
        ledger = auditing.read_ledgers([pipeline.ledger])
        say(f"{ledger['acked'].count():,} acknowledged; waiting for the job to catch up")
        acked = ledger.filter(pl.col("acked").is_not_null()).unique(["gateway_id", "date"]).height
        store = StoreWatch(pipeline.store, written=lambda: job.has_said(BATCH_DONE))
        what = f"the store to hold {acked:,} records"
        _until(
            lambda: store.holds(acked),
            [server, job],
            within_s=pipeline.drain_s,
            what=what,
            why=lambda: store.trouble,
        )
        return _audited(pipeline, trace, ledger)


def _audited(pipeline: Pipeline, trace: pl.DataFrame, ledger: pl.DataFrame) -> auditing.Audit:
    with closing(open_store(pipeline.store, read_only=True)) as store:
        return auditing.audit(trace, ledger, store, pipeline.version)


class StoreWatch:
    """Looks how many records a store holds, and remembers why there are too few.

    A store that does not answer, or that the job has not made yet, may be there the next time. What
    no waiting heals is raised: a wrong address, tables that are not a job's, and a store that is
    not there although the job has written a batch.
    """

    def __init__(self, address: str, *, written: Callable[[], bool]) -> None:
        self._address = address
        self._written = written
        self.trouble = ""

    def holds(self, records: int) -> bool:
        """Whether it holds as many records at least."""
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
    words = [
        "job",
        "--bootstrap",
        pipeline.bootstrap,
        "--version",
        pipeline.version,
        "--topic",
        topic_of(pipeline.version, pipeline.prefix),
    ]
    words += [
        "--checkpoint",
        pipeline.checkpoint,
        "--store",
        pipeline.store,
        "--spark-master",
        pipeline.spark_master,
    ]
    return [*words, *(word for setting in pipeline.settings for word in ("--setting", setting))]


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
        """Whether it came to its end; ServiceError with its last lines if that was a bad one."""
        status = self._process.poll()
        if status:
            last = "".join(
                f"\n  | {line}" for line in self._log.read_text(errors="replace").splitlines()[-12:]
            )
            raise ServiceError(
                f"the {self.name} ended with status {status}. Its last lines (all in "
                f"{self._log}):{last}"
            )
        return status == 0

    def has_said(self, begins: str) -> bool:
        """Whether a line of its output begins so."""
        return bool(self._lines(begins))

    def answer(self, begins: str, *, within_s: float) -> str:
        """The rest of the first line that begins so."""
        _until(
            lambda: self.has_said(begins),
            [self],
            within_s=within_s,
            what=f"the {self.name} to be ready",
        )
        return self._lines(begins)[0].removeprefix(begins).strip()

    def _lines(self, begins: str) -> list[str]:
        return [
            line
            for line in self._log.read_text(errors="replace").splitlines()
            if line.startswith(begins)
        ]


@contextmanager
def piece(name: str, folder: Path, words: Sequence[str]) -> Iterator[Piece]:
    """Start one of our commands; it is asked to end with the block, and made to if it does not."""
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


def _until(
    done: Callable[[], bool],
    living: Sequence[Piece],
    *,
    within_s: float,
    what: str,
    why: Callable[[], str] = lambda: "",
) -> None:
    """Wait for a condition while nobody may end who is needed. `why` tells what is still wrong when
    the time is up.
    """
    end, pause = time.monotonic() + within_s, threading.Event()
    while not done():
        if gone := [each.name for each in living if each.ended]:
            raise ServiceError(f"the {gone[0]} ended too early, while waiting for {what}")
        if time.monotonic() > end:
            cause = why()
            raise ServiceError(
                f"waited {within_s:.0f} s for {what}" + (f": {cause}" if cause else "")
            )
        pause.wait(STEP_S)
