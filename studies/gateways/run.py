"""Run one experiment, or all, and write results/ and the README.

python -m studies.gateways.run NAME|all|readme [--quick] [--repetitions 5]
"""

from __future__ import annotations

import argparse
import importlib
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType

import polars as pl

from studies.gateways import harness, judging, results

HERE = Path(__file__).parent

NAMES = (
    "versions",
    "serialisation",
    "protocols",
    "partitions",
    "interval",
    "replicas",
    "leader_death",
    "dynamic",
    "memory",
    "ingest_servers",
)
HEAD = f"""# The thesis's experiments, on today's Spark

The thesis on home-gateway traffic measured its platform with Spark 1.6 and Kafka 0.8 on five
machines of two cores. Here are its five experiments and its open questions on Spark 4.1 and Kafka
4.3, all on one machine of two cores: what it claimed, what was measured, and what that says of the
claim. Rates go further than its 1,200 records/s.

    python -m studies.gateways.run versions        # one of them; `all`: about an hour in all
    python -m studies.gateways.run readme          # this page again, from results/

Batches are those of the real job (`gateway-traffic job`) with duplicates removed, into the embedded
store, in a warm JVM that all points share; records wait in Kafka and each batch takes as many as
would come in its interval. The first two batches of a query and a first round over all points are
not counted; of the other {harness.COUNTED} batches the median is.
Points are means over repetitions, with 95 % intervals (Student); `results/NAME.csv` has every
repetition. Experiments with replicas run `platform.yaml` on an emulated network.

Each part of a claim is a range for a number that every repetition measures. It **holds** if the
95 % interval of that number lies inside the range, does **not hold** if it lies outside, and
**cannot be told** if it reaches across an end of the range. "About" is within
{judging.share(judging.ABOUT)} of the number, "as long as" within {judging.share(judging.ALIKE)}.
What must be so in every repetition does not hold if it was not so in one. What follows "likely
because" was not measured.
"""


def load(name: str) -> ModuleType:
    """The module of one experiment."""
    return importlib.import_module(f"studies.gateways.experiments.{name}")


def measured(name: str, *, quick: bool, repetitions: int, into: Path) -> None:
    """Run one experiment; its results are written when it has ended."""
    experiment = load(name)
    began = time.monotonic()
    rows = []
    with (
        tempfile.TemporaryDirectory(prefix="study-") as folder,
        harness.bench(Path(folder), quick=quick) as bench,
    ):
        for row in experiment.rows(bench, repetitions):
            if row["repetition"] >= 0:
                rows.append(row)
            print(f"  {time.monotonic() - began:4.0f} s  {name}  {results.line(row)}", flush=True)
    measurements = pl.DataFrame(rows)
    results.keep(name, measurements, experiment.chart(measurements), into)
    print(
        f"{name}: {len(rows)} rows in {time.monotonic() - began:.0f} "
        f"s\n{experiment.table(measurements)}\n{experiment.verdict(measurements)}",
        flush=True,
    )


def readme(into: Path) -> str:
    """The page, made from the existing results."""
    parts = [HEAD]
    for name in NAMES:
        experiment = load(name)
        file = into / f"{name}.csv"
        parts.append(f"## {experiment.TITLE}\n\n> {experiment.CLAIM}\n")
        if not file.exists():
            parts.append("Not measured yet.\n")
            continue
        rows = pl.read_csv(file)
        parts += [
            f"![{experiment.TITLE}](results/{name}.svg)\n",
            results.markdown(experiment.table(rows)),
            f"{experiment.verdict(rows)}\n",
        ]
    return "\n".join(parts)


def each_by_itself(options: list[str]) -> int:
    """Run each experiment in a separate process, so that a failure does not affect the others;
    return how many failed.
    """
    failed, began = [], time.monotonic()
    for number, name in enumerate(NAMES, 1):
        print(
            f"{number} of {len(NAMES)}: {name}, after {(time.monotonic() - began) / 60:.1f} min",
            flush=True,
        )
        if ended([sys.executable, "-m", "studies.gateways.run", name, *options]):
            failed.append(name)
    done, minutes = len(NAMES) - len(failed), (time.monotonic() - began) / 60
    whole = f"all: {done} of {len(NAMES)} experiments in {minutes:.1f} min"
    print("; failed: ".join([whole, ", ".join(failed)]) if failed else whole, flush=True)
    return len(failed)


def ended(command: list[str]) -> int:
    """The exit status of a process; if this one is terminated, it terminates that one first."""
    process = subprocess.Popen(command)
    try:
        return process.wait()
    except SystemExit:
        process.terminate()
        raise
    finally:
        process.wait()


def main() -> int:
    """Run what the arguments name; return 1 if an experiment failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=[*NAMES, "all", "readme"])
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a small form that only shows that it works; nothing is written",
    )
    parser.add_argument("--repetitions", type=int, default=5)
    asked = parser.parse_args()
    signal.signal(
        signal.SIGTERM, lambda number, frame: sys.exit(128 + number)
    )  # So that broker and Spark end too.
    if asked.name == "all":
        return min(
            1,
            each_by_itself(
                ["--repetitions", str(asked.repetitions), *(["--quick"] if asked.quick else [])]
            ),
        )
    with tempfile.TemporaryDirectory() as scratch:
        into = Path(scratch) if asked.quick else results.RESULTS
        if asked.name != "readme":
            measured(
                asked.name,
                quick=asked.quick,
                repetitions=1 if asked.quick else asked.repetitions,
                into=into,
            )
        if not asked.quick:
            (HERE / "README.md").write_text(readme(into))
    return 0


if __name__ == "__main__":
    sys.exit(main())
