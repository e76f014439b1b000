"""How many mutations of correct runs the judge detects, and how many it reports as something else.

    scripts/bench mutants [--quick] [--mutants N] [RUN TOPIC]

Half of the correct runs are generated from seeds, the others are a recorded run of real brokers and
clients (tests/judge/recorded_run). With RUN, all are one topic of a real, correct run whose
partitions all begin at offset 0. Each mutation names the anomalies that it must and may cause
(tests/support/judge/mutations.py). `missed` is how many were not found, `invented` how many others
were. `false_alarms` counts correct runs in which something was found. The last line is one JSON
object. `--quick`: 200 mutants.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from random import Random

from benchmarks._arguments import parser
from streambed.results.runs import Run
from tests.support.judge.correct_runs import correct_run, recorded_run, with_brokers
from tests.support.judge.judged_stories import counts
from tests.support.judge.mutations import COUNTED_ONLY, MUTATIONS
from tests.support.judge.stories import Story, story_of

RECORDED = recorded_run()


def main(mutants: int, real: Story | None) -> None:
    """Mutate one run after another."""
    tally: Counter[str] = Counter()
    by_mutation: Counter[str] = Counter()
    seed = 0
    while tally["mutants"] < mutants:
        run = real or (RECORDED if seed % 2 else correct_run(seed))
        tally["runs"] += 1
        tally["false_alarms"] += bool(set(counts(run)) - COUNTED_ONLY)
        for mutation in MUTATIONS:
            mutant = mutation.apply(run, Random(seed))
            if mutant is None:
                continue
            names = set(counts(mutant))
            tally["mutants"] += 1
            tally["missed"] += bool(mutation.must - names)
            tally["invented"] += bool(names - mutation.must - mutation.may - COUNTED_ONLY)
            by_mutation[mutation.name] += 1
            if wrong := mutation.wrong_answer(names):
                print(f"seed {seed}, {mutation.name}: {wrong}", file=sys.stderr)
        seed += 1
        if seed % 50 == 0:
            print(f"{tally['mutants']:,} mutants", file=sys.stderr)
    figures = {"runs": tally["runs"], "mutants": tally["mutants"], "missed": tally["missed"]}
    figures |= {"invented": tally["invented"], "false_alarms": tally["false_alarms"]}
    print(f"by mutation: {dict(by_mutation)}", file=sys.stderr)
    print(json.dumps({"bench": "mutants", **figures}))


if __name__ == "__main__":
    words = parser(__doc__, quick="200 mutants")
    words.add_argument("--mutants", type=int, default=10_000)
    words.add_argument("run", nargs="?", type=Path, help="the folder of a correct run")
    words.add_argument("topic", nargs="?", default="", help="a topic of it")
    asked = words.parse_args()
    recorded = with_brokers(story_of(Run(asked.run).ledger(), asked.topic)) if asked.run else None
    main(200 if asked.quick else asked.mutants, recorded)
