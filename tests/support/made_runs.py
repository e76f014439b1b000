"""Run folders with a plan and a status, and nothing else."""

import os

from streambed import plan
from streambed.plan import Machine, Plan
from streambed.record.status import begin, conclude
from streambed.results import runs

NO_LOSS = {"kind": "no_loss", "topic": "lines", "by": []}


def make_run(into, name, time, state="finished", checks=(NO_LOSS,)):
    directory = into / name / time
    directory.mkdir(parents=True)
    (directory / "history").mkdir()
    nothing = Plan(
        name=name,
        seed=1,
        duration_ns=1,
        ready_limit_ns=1,
        drain_limit_ns=1,
        directory=str(directory),
        machine=Machine(),
        nodes=(),
        links=(),
        processes=(),
        declaration={"name": name, "components": {}, "checks": list(checks)},
    )
    plan.write(nothing, directory / "plan.json")
    begin(directory, os.getpid())
    if state != "running":
        conclude(directory, state, "")
    (directory.parent / "latest").unlink(missing_ok=True)
    (directory.parent / "latest").symlink_to(time)
    return runs.Run(directory)
