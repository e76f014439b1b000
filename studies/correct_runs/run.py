"""Run the correct pipeline with the faults of each seed, and count what the judge says.

python -m studies.correct_runs.run [--seeds 100] [--page]

Every run is a row of results/runs.csv, written when it ends; seeds that are there are not run
again. `--page` only writes README.md again.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from ruamel.yaml import YAML

from studies.correct_runs.draw import faults_of, name_of

HERE = Path(__file__).parent
EXPERIMENT = HERE / "experiment.yaml"
TABLE = HERE / "results" / "runs.csv"
PAGE = HERE / "README.md"
SEEDS = 100
DATA_CHECKS = ("log", "no_loss", "at_least_once", "exactly_once")
CONFIDENCE = 0.95
HEAD = f"""# How often does the judge err?

A pipeline that keeps every promise (`acks: all`, two replicas in sync, idempotent and transactional
producers, no unclean election, an idempotent sink) runs with faults drawn by its seed. Seeds and
faults (`draw.py`) were fixed before the first run, and every run counts. A verdict of a data check
that fails is a false alarm.

    python -m studies.correct_runs.run    # resumes, up to seed {SEEDS}
"""


@dataclass(frozen=True)
class Row:
    """What became of one run."""

    seed: int
    commit: str
    faults: str
    state: str
    """`finished`, or why the run could not be made."""
    holds: int = 0
    fails: int = 0
    unknown: int = 0
    """Verdicts of the data checks."""
    reasons: str = ""
    """What the verdicts say that do not hold."""


def run_seed(seed: int) -> Row:
    """Make one run and judge it."""
    faults = faults_of(seed)
    declared = YAML(typ="safe").load(EXPERIMENT)
    declared |= {"seed": seed, "faults": faults}
    names = "; ".join(f"{fault['at']} {name_of(fault)} {fault['lasts']}" for fault in faults)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "experiment.yaml"
        file.write_text(json.dumps(declared, indent=1))  # JSON is YAML.
        done = subprocess.run(
            ["streambed", "run", str(file), "--into", folder, "--no-report", "-q"],
            capture_output=True,
            text=True,
            env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        )
        verdicts = Path(folder) / "correct" / "latest" / "verdicts.json"
        if done.returncode > 2 or not verdicts.exists():
            state = (done.stdout + done.stderr).strip().splitlines()[-1:] or ["no output"]
            return Row(seed=seed, commit=commit(), faults=names, state=state[0])
        return row_of(seed, names, json.loads(verdicts.read_text())["verdicts"])


def row_of(seed: int, faults: str, verdicts: list[dict[str, str]]) -> Row:
    """Count the verdicts of a run."""
    judged = [verdict for verdict in verdicts if verdict["check"] in DATA_CHECKS]
    answers = Counter(verdict["answer"] for verdict in judged)
    others = [verdict for verdict in judged if verdict["answer"] != "holds"]
    return Row(
        seed=seed,
        commit=commit(),
        faults=faults,
        state="finished",
        holds=answers["holds"],
        fails=answers["fails"],
        unknown=answers["unknown"],
        reasons=" | ".join(f"{one['check']} {one['answer']}: {one['says']}" for one in others),
    )


def commit() -> str:
    """The commit that is run."""
    asked = ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def rows_in(table: Path) -> list[Row]:
    """The rows of a table; none if it is not there."""
    if not table.exists():
        return []
    with table.open(newline="") as file:
        return [
            Row(**{key: int(text) if text.isdigit() else text for key, text in row.items()})  # type: ignore[arg-type]
            for row in csv.DictReader(file)
        ]


def collect(table: Path, seeds: int, run: Callable[[int], Row]) -> None:
    """Run the seeds that are not in the table yet; each row is on disk before the next run."""
    known = {row.seed for row in rows_in(table)}
    names = [field.name for field in fields(Row)]
    for seed in range(1, seeds + 1):
        if seed in known:
            continue
        row = run(seed)
        begins = not table.exists()
        with table.open("a", newline="") as file:
            writer = csv.DictWriter(file, names)
            if begins:
                writer.writeheader()
            writer.writerow(asdict(row))
            file.flush()
            os.fsync(file.fileno())
        print(f"{seed}: {row.state}, {row.holds} hold, {row.fails} fail, {row.unknown} unknown")


def largest_share(runs: int) -> float:
    """The largest share of false alarms with which none in `runs` runs is still likely: 5 %."""
    return 1 - (1 - CONFIDENCE) ** (1 / runs)


def page_of(rows: list[Row]) -> str:
    """README.md."""
    finished = [row for row in rows if row.state == "finished"]
    alarms = [row for row in finished if row.fails]
    verdicts = sum(row.holds + row.fails + row.unknown for row in finished)
    unknown = sum(row.unknown for row in finished)
    share = f"{100 * unknown / verdicts:.2g} %" if verdicts else "none"
    bound = f"below {100 * largest_share(len(finished)):.3g} %" if finished else "not known"
    lines = [
        HEAD,
        "| | |",
        "|---|---|",
        f"| runs | {len(rows)} of {SEEDS}, {len(rows) - len(finished)} of them could not be made |",
        f"| runs with a false alarm | {len(alarms)} |",
        f"| share of runs with a false alarm, 95 % | {bound if not alarms else 'see the table'} |",
        f"| verdicts of data checks | {verdicts} |",
        f"| unknown | {unknown} ({share}) |",
        "",
    ]
    if len(rows) < SEEDS:
        lines += [f"Only {len(rows)} of {SEEDS} runs have been made so far.", ""]
    odd = [row for row in rows if row.state != "finished" or row.fails or row.unknown]
    if odd:
        lines += ["| seed | faults | what was not as it should be |", "|---|---|---|"]
        lines += [f"| {row.seed} | {row.faults} | {row.reasons or row.state} |" for row in odd]
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Collect what is missing and write the page."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--seeds", type=int, default=SEEDS, help="run seeds 1 to this")
    words.add_argument("--page", action="store_true", help="only write README.md again")
    asked = words.parse_args()
    TABLE.parent.mkdir(exist_ok=True)
    if not asked.page:
        collect(TABLE, asked.seeds, run_seed)
    PAGE.write_text(page_of(rows_in(TABLE)))


if __name__ == "__main__":
    main()
