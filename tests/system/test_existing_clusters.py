"""The word count example and the gateways' pipeline on a broker and a Spark cluster that exist
already: plain processes of this machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from streambed import Run, artifacts
from streambed.artifacts.one_shot import free_ports
from streambed.record.events import Note, ProcessStarted
from streambed.runner.spark_history import event_logs
from tests.support.lone_broker import LoneBroker, lone_broker
from tests.support.running import ROOT, end_now, streambed, wait_for

pytestmark = [pytest.mark.system, pytest.mark.together(100)]
EXAMPLE = ROOT / "examples" / "word_count" / "experiment.yaml"
START_S = 120
QUICK = "settings={spark.executor.extraJavaOptions: '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'}"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoneBroker]:
    """Kafka, as others run it."""
    with lone_broker(tmp_path_factory.mktemp("broker")) as broker:
        yield broker


@pytest.fixture(scope="module")
def spark_master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A master and a worker by Spark's own launcher."""
    folder = tmp_path_factory.mktemp("spark")
    home, java = artifacts.find_pyspark(), artifacts.find_java()
    if not (java.path.parents[1] / "jmods" / "jdk.incubator.vector.jmod").exists():
        pytest.skip("Spark's own launcher needs a Java with jdk.incubator.vector")
    port, page, other = free_ports(3)
    master = f"spark://127.0.0.1:{port}"
    classes = {
        "master.Master": ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page)],
        "worker.Worker": [
            "--host",
            "127.0.0.1",
            "--webui-port",
            str(other),
            "--cores",
            "4",
            "--memory",
            "2G",
            "--work-dir",
            str(folder),
            master,
        ],
    }
    env = {
        **os.environ,
        "SPARK_HOME": str(home),
        "JAVA_HOME": str(java.path.parents[1]),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with ExitStack() as stack, (folder / "log").open("wb") as log:
        for name, words in classes.items():
            command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *words]
            process = subprocess.Popen(
                command, env=env, stdout=log, stderr=log, text=True, start_new_session=True
            )
            stack.callback(end_now, process)
        wait_for(
            lambda: "ALIVE" in _said(f"http://127.0.0.1:{page}/json/workers"), START_S, "a worker"
        )
        yield master


def _said(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


@pytest.fixture(scope="module")
def run(broker: LoneBroker, spark_master: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run for all tests here."""
    folder = tmp_path_factory.mktemp("outside")
    slow = (
        "duration=5s",
        "drain=3min",
        "components.poet.rate=100/s",
        "checks.1.p99=5min",
        "checks.2.p99=5min",
    )
    changes = (*slow, f"components.counter.{QUICK}", f"components.averager.{QUICK}")
    clusters = ("--bootstrap", broker.bootstrap, "--spark-master", spark_master)
    done = streambed(
        "run",
        EXAMPLE,
        *clusters,
        *(word for change in changes for word in ("--set", change)),
        cwd=folder,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return Run(folder / "runs" / "word-count" / "latest")


def test_checks_hold_and_the_ledger_has_every_record(run: Run) -> None:
    assert all(verdict.holds for verdict in run.check())
    assert run.ledger().sent.height == 5 * 100


def test_jobs_ran_on_the_given_cluster_and_left_event_logs(run: Run, spark_master: str) -> None:
    logs = event_logs(run.directory)

    assert len(logs) == 2
    assert all(spark_master in log.read_text() for log in logs)


def test_no_broker_was_started_and_a_note_tells_what_was_left_out(run: Run) -> None:
    started = {event.component for event in run.history().of(ProcessStarted)}
    notes = [event.says for event in run.history().of(Note)]

    assert "kafka" not in started
    assert any("the 5 links are not emulated" in says for says in notes), notes
    assert run.fidelity().says.endswith("no link was emulated")


def test_topics_that_have_held_records_are_refused(
    run: Run, broker: LoneBroker, tmp_path: Path
) -> None:
    done = streambed("run", EXAMPLE, "--bootstrap", broker.bootstrap, "--no-report", cwd=tmp_path)

    assert done.returncode == 3
    assert "the topic 'lines' has held 500 records already" in done.stderr


def test_the_pipeline_of_the_gateways_runs_on_the_given_clusters(
    broker: LoneBroker, spark_master: str, tmp_path: Path
) -> None:
    clusters = ("--bootstrap", broker.bootstrap, "--spark-master", spark_master)
    load = (
        "--gateways",
        "20",
        "--days",
        "0.05",
        "--rate",
        "300",
        "--folder",
        str(tmp_path / "run"),
    )
    quick = "spark.executor.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    jars = f"spark.jars={','.join(map(str, artifacts.jars('spark_job')))}"
    settings = [
        word
        for setting in (jars, quick, "spark.ui.enabled=false")
        for word in ("--setting", setting)
    ]
    command = [
        sys.executable,
        "-m",
        "gateway_traffic",
        "run",
        "--target",
        "cluster",
        *clusters,
        *load,
        *settings,
    ]

    env = {
        **os.environ,
        "JAVA_HOME": str(artifacts.find_java().path.parents[1]),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=280, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"job on {spark_master}" in done.stdout
    assert "the store equals the exact answer for " in done.stdout
