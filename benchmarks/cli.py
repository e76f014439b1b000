"""Start-up time of the command line, compared with Python's.

    scripts/bench cli [--quick] [ROUNDS]

It measures the wall time of whole processes, one after another: `python -c pass`, `streambed
--help`, and `streambed plan` of the README's example, in turn, so that a busy second affects all of
them. Python may cache bytecode, as pip does when it installs a package, regardless of the caller's
environment. `help_ratio` and `plan_ratio` are medians divided by that of `python -c pass`; they
should stay below 8 and 20. The last line is one JSON object. `--quick`: two rounds.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks._arguments import parser

ROOT = Path(__file__).parents[1]
HELP_RATIO_MAX, PLAN_RATIO_MAX = 8, 20


def example() -> str:
    """The experiment in the README."""
    pattern = r"<!-- file: leader\.yaml -->\n```yaml\n(.*?)```"
    match = re.search(pattern, (ROOT / "README.md").read_text(), re.DOTALL)
    assert match, "the README shows no leader.yaml"
    return match[1]


def commands(folder: Path) -> dict[str, list[str]]:
    """The measured commands, by name."""
    (folder / "leader.yaml").write_text(example())
    streambed = [sys.executable, "-m", "streambed"]
    return {
        "python": [sys.executable, "-c", "pass"],
        "help": [*streambed, "--help"],
        "plan": [*streambed, "plan", "leader.yaml"],
    }


def environment(folder: Path) -> dict[str, str]:
    """The caller's environment, with bytecode cached in `folder`; otherwise each start compiles
    all.
    """
    variables = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return variables


def wall_s(command: list[str], folder: Path) -> float:
    began = time.perf_counter()
    subprocess.run(
        command, cwd=folder, env=environment(folder), stdout=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - began


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        timed = commands(folder)
        for command in timed.values():  # Once unmeasured, to fill the bytecode cache.
            wall_s(command, folder)
        walls = {name: [] for name in timed}
        for _ in range(rounds):
            for name, command in timed.items():
                walls[name].append(wall_s(command, folder))
    medians = {name: statistics.median(times) for name, times in walls.items()}
    print(", ".join(f"{name} {median * 1000:.0f} ms" for name, median in medians.items()))
    ratios = {name: round(medians[name] / medians["python"], 2) for name in ("help", "plan")}
    figures = {f"{name}_ms": round(median * 1000, 1) for name, median in medians.items()}
    figures |= {f"{name}_ratio": ratio for name, ratio in ratios.items()}
    kept = ratios["help"] <= HELP_RATIO_MAX and ratios["plan"] <= PLAN_RATIO_MAX
    print(json.dumps({"bench": "cli", "rounds": rounds, **figures, "within_limits": kept}))


if __name__ == "__main__":
    words = parser(__doc__, quick="two rounds")
    words.add_argument("rounds", nargs="?", type=int, default=15)
    asked = words.parse_args()
    main(2 if asked.quick else asked.rounds)
