"""Batch jobs of checks: run on Spark over the topics of a recorded run, once for each run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from streambed.artifacts.java import find_java
from streambed.kinds.checks.check import Check, batch_jobs
from streambed.kinds.evidence.outputs.contents import contents_of
from streambed.record.codec import write_message
from streambed.record.history import History
from streambed.record.ledger.stored_rows import BatchJob, path_of
from streambed.record.orders import BatchJobOrder, Refusal

LIMIT_S = 600.0


def run_batch_jobs(
    directory: Path, history: History, checks: Sequence[Check], *, base: Path, master: str = ""
) -> bool:
    """Run the jobs that have no recorded answer, or failed; with a `master`, all of them, there.

    Returns whether any ran: then the history must be read again.
    """
    wanted = dict.fromkeys(job for check in checks for job in batch_jobs(check, history.components))
    answered = {name for name, result in history.rows.items() if result.rows is not None}
    pending = [job for job in wanted if master or job.name not in answered]
    for job in pending:
        _run(directory, history, job, base / job.file, master)
    return bool(pending)


def _run(directory: Path, history: History, job: BatchJob, file: Path, master: str) -> None:
    answer = path_of(directory, job)
    for stale in (answer, answer.with_suffix(".json")):
        stale.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="batch-", dir=directory) as folder:
        tables = {}
        for topic in job.topics:
            tables[topic] = str(Path(folder) / f"{topic}.arrow")
            contents_of(history, topic).write_ipc(tables[topic])
        order = Path(folder) / "order.json"
        content = BatchJobOrder(
            file=str(file), function=job.function, tables=tables, answer=str(answer), master=master
        )
        write_message(order, content)
        start_agent(order, directory / "logs" / f"{job.name}.log", answer)


def start_agent(order: Path, log: Path, answer: Path) -> None:
    """Run the agent until it ends; if it wrote no answer, write the reason instead."""
    java = find_java()
    environment = {**os.environ, "JAVA_HOME": str(java.path.parent.parent)}
    command = [sys.executable, "-m", "streambed.agents.checks.batch_job", str(order)]
    log.parent.mkdir(exist_ok=True)
    with log.open("w") as output:
        try:
            done = subprocess.run(
                command,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                timeout=LIMIT_S,
                check=False,
            )
            says = f"the batch job ended with status {done.returncode}"
        except subprocess.TimeoutExpired:
            says = f"the batch job did not end within {LIMIT_S:g} s"
    if not answer.exists() and not answer.with_suffix(".json").exists():
        answer.parent.mkdir(parents=True, exist_ok=True)
        refusal = Refusal(says=f"{says}: see logs/{log.name}")
        write_message(answer.with_suffix(".json"), refusal)
