"""Time of a trial of a study besides its load, compared with the fixed sleeps of stream2gym.

    scripts/bench study [--quick] [TRIALS]

Runs trials of the delay sweep as a user would (`streambed study`). Everything but the load counts:
start, readiness, drain, stop, judging, results. stream2gym sleeps 65 s in each run before its load
starts, on any machine. The last line is one JSON object. `--quick`: one trial with a
load of three seconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks._arguments import parser
from streambed.declare import reading

ROOT = Path(__file__).parents[1]
SWEEP = ROOT / "studies" / "delay_sweep"
ANCESTOR_SLEEPS_S = 65.0
SHORT_LOAD_S = 3.0


def main(trials: int, *, quick: bool) -> None:
    """Run one study with the given number of trials."""
    load_s = (
        SHORT_LOAD_S if quick else reading.read(SWEEP / "experiment.yaml").experiment.duration.s
    )
    changes = f"{{duration: {load_s:g}s, components.second.after: 1s}}" if quick else "{}"
    delays = ", ".join(f"{10 + 10 * number}ms" for number in range(trials))
    study = f"""
version: 1
name: bench-study
experiment: {SWEEP}/experiment.yaml
set: {changes}
vary: {{topology.links.1.delay: [{delays}]}}
measures: {{end_to_end: {{latency: reader, statistic: mean}}}}
"""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "study.yaml").write_text(study)
        print(f"{trials} trials with a load of {load_s:g} s each", file=sys.stderr)
        began = time.monotonic()
        command = [
            str(ROOT / ".venv" / "bin" / "streambed"),
            "study",
            "study.yaml",
            "--into",
            "runs",
            "--json",
        ]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        took_s = time.monotonic() - began
    if done.returncode:
        raise SystemExit(
            f"the study ended with status {done.returncode}: {done.stdout}{done.stderr}"
        )
    overhead_s = took_s / trials - load_s
    measured = {
        "trials": trials,
        "load_s": load_s,
        "overhead_s_per_trial": round(overhead_s, 2),
        "ancestor_sleeps_s": ANCESTOR_SLEEPS_S,
    }
    print(
        json.dumps(
            {"bench": "study", **measured, "ratio": round(overhead_s / ANCESTOR_SLEEPS_S, 3)}
        )
    )


if __name__ == "__main__":
    words = parser(__doc__, quick="one trial with a short load")
    words.add_argument("trials", nargs="?", type=int)
    asked = words.parse_args()
    main(asked.trials or (1 if asked.quick else 4), quick=asked.quick)
