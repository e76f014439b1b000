"""Bad input gets one clear message, a status that says whose fault it is, and leaves nothing
running.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from streambed import Run, artifacts
from streambed.record.events import ProcessEnded
from tests.support.running import STREAMBED, streambed

pytestmark = [pytest.mark.system, pytest.mark.together(15)]
SMALL = """
version: 1
name: small
duration: 3s
topology:
  links: [{ends: [left, right], delay: 5ms}]
components:
  one: {kind: command, node: left, argv: %s}
"""
KAFKA = """
version: 1
name: kafka
duration: 3s
topology:
  switches: [core]
  links: [{ends: [broker, core]}, {ends: [engine, core], delay: 2ms}]
components:
  kafka: {kind: kafka, nodes: [broker], topics: {lines: {}}}
  job: {kind: spark_job, node: engine, job: job.py, reads: lines}
"""

NO_QUORUM = """
version: 1
name: quorum
duration: 3s
ready: 8s
topology:
  links: [{ends: [broker, other]}]
components:
  kafka:
    {kind: kafka, nodes: [broker],
     settings: {controller.quorum.voters: "1@broker:9093,2@other:9093,3@other:9094"}}
"""
CLUSTER = """
version: 1
name: cluster
duration: 20s
topology:
  links: [{ends: [left, right]}]
components:
  spark: {kind: spark_cluster, master: left, workers: [right]}
  assassin: {kind: command, node: right, starts: load, on_exit: record,
             argv: ["{run.python}", end_master.py, "{run.directory}"]}
"""
END_MASTER = """
import json, os, pathlib, signal, sys
file = pathlib.Path(sys.argv[1]) / "history" / "events.jsonl"
events = map(json.loads, file.read_text().splitlines())
pids = [event["pid"] for event in events if event.get("process") == "spark/left"]
os.kill(pids[0], signal.SIGKILL)
"""


def run_in_user_namespace(script: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a shell script as root of a user namespace with separate mounts."""
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )


def test_a_job_that_crashes_at_import_ends_the_run_with_its_traceback(tmp_path):
    (tmp_path / "experiment.yaml").write_text(KAFKA)
    (tmp_path / "job.py").write_text("import no_such_module\n")

    done = streambed("run", "experiment.yaml", "--no-report", cwd=tmp_path)

    assert done.returncode == 3
    assert "job on engine ended with status 1" in done.stderr
    assert "No module named 'no_such_module'" in done.stderr
    assert "needs the Python module 'no_such_module'" in done.stderr
    assert "`python_path`" in done.stderr
    assert Run(tmp_path / "runs" / "kafka" / "latest").history().of(ProcessEnded)


def test_a_controller_that_cannot_be_elected_ends_the_run_with_the_reason(tmp_path):
    (tmp_path / "experiment.yaml").write_text(NO_QUORUM)

    done = streambed("run", "experiment.yaml", "--no-report", cwd=tmp_path)

    assert done.returncode == 3
    assert (
        "kafka was not ready within 8 s: 0 of 1 brokers answer; no controller has been elected"
        in done.stderr
    )
    assert "\n  | " in done.stderr, "the last lines of its log are missing"
    assert "Traceback" not in done.stderr
    ended = Run(tmp_path / "runs" / "quorum" / "latest").history().of(ProcessEnded)
    assert [event.process for event in ended] == ["kafka/broker"]


def test_a_spark_master_that_dies_ends_the_run_with_its_last_lines(tmp_path):
    (tmp_path / "experiment.yaml").write_text(CLUSTER)
    (tmp_path / "end_master.py").write_text(END_MASTER)

    done = streambed("run", "experiment.yaml", "--no-report", cwd=tmp_path)

    assert done.returncode == 3
    assert "spark/left on left was killed by signal 9. Its last lines" in done.stderr
    assert "Registering worker" in done.stderr


def test_a_corrupted_jar_is_named_with_the_command_that_mends_it(tmp_path):
    shutil.copytree(artifacts.cache() / "jars", tmp_path / "cache" / "jars")
    victim = next((tmp_path / "cache" / "jars").glob("kafka-clients-4*.jar"))
    victim.write_bytes(victim.read_bytes()[:-1] + b"?")
    (tmp_path / "experiment.yaml").write_text(KAFKA)
    (tmp_path / "job.py").touch()

    done = streambed(
        "run", "experiment.yaml", cwd=tmp_path, env={"STREAMBED_CACHE": str(tmp_path / "cache")}
    )

    assert done.returncode == 3
    assert "org.apache.kafka:kafka-clients" in done.stderr
    assert "streambed fetch kafka" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_without_user_namespaces_the_message_says_how_to_allow_them(tmp_path):
    (tmp_path / "experiment.yaml").write_text(SMALL % "[sleep, '1']")
    command = " ".join([*STREAMBED, "run", "experiment.yaml"])

    done = run_in_user_namespace(
        f"echo 0 > /proc/sys/user/max_user_namespaces; STREAMBED_CACHE=$PWD/cache {command}",
        tmp_path,
    )

    assert done.returncode == 3, done.stdout + done.stderr
    assert "namespaces" in done.stderr
    assert "sysctl" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("size", "argv"),
    [("30m", "[sleep, '1000']"), ("80m", '[sh, -c, "head -c 200m /dev/zero > fill; sleep 1000"]')],
    ids=["before", "during"],
)
def test_a_full_disk_is_said_before_a_run_or_during_it(tmp_path, size, argv):
    (tmp_path / "experiment.yaml").write_text(
        SMALL % argv.replace("fill", str(tmp_path / "runs" / "fill"))
    )
    (tmp_path / "runs").mkdir()
    command = " ".join([*STREAMBED, "run", "experiment.yaml", "--no-report"])

    done = run_in_user_namespace(f"mount -t tmpfs -o size={size} none runs && {command}", tmp_path)

    assert done.returncode == 3, done.stdout + done.stderr
    assert "is full" in done.stderr
    assert "--into" in done.stderr
    assert "Traceback" not in done.stderr


def test_all_mistakes_of_a_file_are_reported_at_once_with_their_places(tmp_path):
    (tmp_path / "experiment.yaml").write_text(
        KAFKA.replace("delay: 2ms", "delya: 2").replace("reads: lines", "reads: lines, acks: all")
    )

    done = subprocess.run(
        [sys.executable, "-m", "streambed", "plan", "experiment.yaml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 64
    assert "experiment.yaml:7:" in done.stderr
    assert "Did you mean 'delay'?" in done.stderr
    assert "experiment.yaml:10:" in done.stderr


def test_a_folder_that_cannot_be_written_is_reported(tmp_path):
    (tmp_path / "experiment.yaml").write_text(SMALL % "[sleep, '1']")

    done = streambed("run", "experiment.yaml", "--into", "/proc/nowhere", cwd=tmp_path)

    assert done.returncode == 3
    assert "cannot be made" in done.stderr
