"""Run the famous cases of examples/faults and their twins many times, and keep a table.

    scripts/cases [NAME …] [--runs N] [--only] [--calm LOAD] [--into FOLDER]
    scripts/cases --table

A NAME is a case, and its twin comes with it unless --only is given; without names all run. Run n
has the seed n. Each run is a row of docs/famous-cases.csv as soon as it is over, whatever came out,
and the table in docs/famous-cases.md is written anew; with --table, only that. What has a row is
not run again until the experiment changes, so the command can be stopped and repeated.
Folders of runs that went as declared are removed.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from streambed.record import read_json
from streambed.record.history import worst
from streambed.record.statistics import share_interval
from streambed.results.runs import Run, every

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples" / "faults"
CSV = ROOT / "docs" / "famous-cases.csv"
PAGE = ROOT / "docs" / "famous-cases.md"
BEGIN, END = "<!-- table -->", "<!-- end of table -->"
LOOK_S = 5.0
SAYS_MAX = 400
"""How much of a verdict a row keeps, in characters."""


class Pair(NamedTuple):
    """A case, which shows a danger, and its twin, which must be safe."""

    number: int
    case: str
    twin: str


PAIRS = (
    Pair(1, "acks_1", "acks_all"),
    Pair(2, "unclean_election", "clean_election"),
    Pair(3, "power", "power_synced"),
    Pair(4, "forgetful_broker", "forgetful_broker_elr"),
    Pair(4, "forgetful_broker_alone", "forgetful_broker_elr"),
    Pair(5, "commit_first", "commit_last"),
    Pair(6, "zombie_consumer", "zombie_sink"),
    Pair(7, "doubled_batch", "doubled_batch_guarded"),
    Pair(8, "kafka_sink", "kafka_sink_deduped"),
    Pair(9, "checkpoint_lost_latest", "checkpoint_kept"),
    Pair(9, "checkpoint_lost_earliest", "checkpoint_kept"),
    Pair(10, "silent_skip", "loud_skip"),
    Pair(11, "bad_clock", "bad_clock_bounded"),
    Pair(12, "torn_transaction", "torn_transaction_bumped"),
    Pair(13, "retries", "retries_idempotent"),
    Pair(14, "two_drivers", "two_drivers_guarded"),
    Pair(15, "hung_transaction", "hung_transaction_timeout"),
    Pair(16, "late_town", "late_town_patient"),
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One run."""

    began: str
    """UTC."""
    experiment: str
    seed: int
    answer: str
    """The worst of its verdicts; `broken` if the run could not be made."""
    fidelity: str
    """Whether its links were as declared: believed or doubtful."""
    seconds: int
    says: str
    machine: str
    kafka: str
    spark: str
    librdkafka: str
    commit: str
    digest: str
    """Of the experiment's file and the programs beside it; rows of other versions do not count."""


def parser() -> argparse.ArgumentParser:
    """The command line of scripts/cases."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("names", nargs="*", metavar="NAME")
    arguments.add_argument("--runs", type=int, default=5, help="how often each is run")
    arguments.add_argument("--only", action="store_true", help="without the twins")
    arguments.add_argument("--into", type=Path, default=ROOT / "runs", help="where runs are kept")
    arguments.add_argument(
        "--calm", type=float, help="before each run, wait until the load average is below this"
    )
    arguments.add_argument("--table", action="store_true", help="only write the table")
    return arguments


def main() -> int:
    """Run what has no row yet; write the table."""
    options = parser().parse_args()
    if not options.table:
        chosen = experiments(options.names, twins=not options.only)
        for seed in range(1, options.runs + 1):
            for name in chosen:
                run_unless_done(name, seed, options.into, calm=options.calm)
    write_table(rows_of(CSV))
    return 0


def experiments(names: Iterable[str], *, twins: bool) -> list[str]:
    """The experiments that belong to names; without names, all."""
    wanted = set(names)
    known = {name for pair in PAIRS for name in (pair.case, pair.twin)}
    if wanted - known:
        raise SystemExit(f"no case is called {', '.join(sorted(wanted - known))}")
    chosen: list[str] = []
    for pair in PAIRS:
        if not wanted or pair.case in wanted:
            chosen += [pair.case, pair.twin] if twins else [pair.case]
        elif pair.twin in wanted:
            chosen.append(pair.twin)
    return list(dict.fromkeys(chosen))


def run_unless_done(name: str, seed: int, into: Path, *, calm: float | None) -> None:
    """Run an experiment once with a seed, and write its row."""
    file = FOLDER / f"{name}.yaml"
    digest = digest_of(file)
    done = {(row.experiment, row.seed, row.digest) for row in rows_of(CSV)}
    if (name, seed, digest) in done:
        return
    wait_for_calm(calm)
    print(f"{name}, seed {seed}", flush=True)
    row, run = one_run(file, seed, into / f"cases-{name}-{seed}", digest)
    append(CSV, row)
    write_table(rows_of(CSV))
    print(f"  {row.answer} after {row.seconds} s: {row.says[:160]}", flush=True)
    if run and row.answer == "holds":
        shutil.rmtree(run.directory.parents[1])


def wait_for_calm(load: float | None) -> None:
    """Wait until the machine has less to do than `load`: what else runs there must not decide."""
    while load is not None and os.getloadavg()[0] >= load:
        time.sleep(LOOK_S)


def one_run(file: Path, seed: int, into: Path, digest: str) -> tuple[Row, Run | None]:
    """Run it as a user does; its row, and the run if there is one."""
    shutil.rmtree(into, ignore_errors=True)
    words = ["run", str(file), "--seed", str(seed), "--into", str(into), "--no-report"]
    began, began_s = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()), time.monotonic()
    command = [sys.executable, "-m", "streambed", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    run = next(iter(every(into)), None)
    verdicts = run.verdicts() if run else []
    says = " | ".join(f"{verdict.check}: {verdict.says}" for verdict in verdicts)
    broken = not run or run.state != "finished"
    versions = versions_of(run)
    row = Row(
        began=began,
        experiment=file.stem,
        seed=seed,
        answer="broken" if broken else worst(verdicts) or "unknown",
        fidelity="" if broken or not run else fidelity_of(run),
        seconds=round(time.monotonic() - began_s),
        says=(last_words(done) if broken else says)[:SAYS_MAX],
        machine=f"{cpu()}, Linux {platform.release()}",
        kafka=versions.get("kafka", ""),
        spark=versions.get("pyspark", ""),
        librdkafka=versions.get("confluent-kafka", ""),
        commit=commit(),
        digest=digest,
    )
    return row, run


def fidelity_of(run: Run) -> str:
    """Whether the emulation was on time."""
    return "believed" if run.fidelity().believable else "doubtful"


def last_words(done: subprocess.CompletedProcess[str]) -> str:
    """Why a run could not be made."""
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    failed = [line for line in lines if line.startswith("failed")]
    return (failed or lines[-1:] or [f"status {done.returncode}"])[0]


def versions_of(run: Run | None) -> dict[str, str]:
    """The versions of what took part."""
    return {} if run is None else dict(read_json(run.directory / "versions.json") or {})


def cpu() -> str:
    """The processor and how many of it there are."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(models)} × {models[0]}" if models else platform.machine()


def commit() -> str:
    """The commit of this tree; with a + if anything was changed since."""
    head = _git("rev-parse", "--short=10", "HEAD")
    changed = _git("status", "--porcelain", "src", "examples")
    return f"{head}+" if changed else head


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def digest_of(file: Path) -> str:
    """Changes if the experiment, or a program beside it that it names, changes."""
    text = file.read_text()
    named = [path for path in sorted(file.parent.glob("*.py")) if path.stem in text]
    parts = [text, *(path.read_text() for path in named)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def rows_of(file: Path) -> list[Row]:
    """All rows so far."""
    if not file.exists():
        return []
    with file.open(newline="") as lines:
        return [_row(cells) for cells in csv.DictReader(lines)]


def _row(cells: dict[str, Any]) -> Row:
    return Row(**{**cells, "seed": int(cells["seed"]), "seconds": int(cells["seconds"])})


def append(file: Path, row: Row) -> None:
    """Add a row at once: the next run may be stopped."""
    is_new = not file.exists()
    with file.open("a", newline="") as lines:
        writer = csv.DictWriter(lines, [field.name for field in fields(Row)], lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(asdict(row))


def write_table(rows: list[Row]) -> None:
    """Replace the table of the page."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    table = "\n".join(table_lines(rows))
    PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")


def table_lines(rows: list[Row]) -> Iterator[str]:
    """The table: one line for each experiment, every run counted."""
    yield "| # | experiment | as declared | 95 % interval | not so | unknown | broken | median |"
    yield "|---|---|---|---|---|---|---|---|"
    current = [row for row in rows if row.digest == digest_of(FOLDER / f"{row.experiment}.yaml")]
    for number, name in numbered():
        own = [row for row in current if row.experiment == name]
        yield _line(number, name, own)
    yield ""
    for label, values in (
        ("Machine", {row.machine for row in current}),
        ("Kafka", {row.kafka for row in current}),
        ("Spark", {row.spark for row in current}),
        ("confluent-kafka", {row.librdkafka for row in current}),
        ("Commits", {row.commit for row in current}),
    ):
        yield f"- {label}: {', '.join(sorted(values - {''})) or 'no run yet'}"


def numbered() -> list[tuple[int, str]]:
    """Every experiment once, with the number of its case."""
    found: dict[str, int] = {}
    for pair in PAIRS:
        found.setdefault(pair.case, pair.number)
        found.setdefault(pair.twin, pair.number)
    return [(number, name) for name, number in found.items()]


def _line(number: int, name: str, rows: list[Row]) -> str:
    link = f"[{name}](../examples/faults/{name}.yaml)"
    if not rows:
        return f"| {number} | {link} | no run yet | | | | | |"
    counts = {answer: 0 for answer in ("holds", "fails", "unknown", "broken")}
    for row in rows:
        counts[row.answer] += 1
    low, high = share_interval(counts["holds"], len(rows))
    cells = [
        str(number),
        link,
        f"{counts['holds']} of {len(rows)}",
        f"{low:.0%} to {high:.0%}",
        str(counts["fails"]),
        str(counts["unknown"]),
        str(counts["broken"]),
        f"{median(row.seconds for row in rows):.0f} s",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
