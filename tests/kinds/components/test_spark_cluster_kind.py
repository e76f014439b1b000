"""A Spark cluster as declared: its commands, what its jobs receive, and what is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from streambed.declare.yaml.reader import read
from streambed.errors import DeclarationError
from streambed.kinds.components import SparkCluster
from streambed.kinds.components.spark.cluster import flags_for
from streambed.plan import Machine, Plan, ProcessSpec
from streambed.planner.planner import plan_for
from streambed.record.orders import SparkDriverOrder
from streambed.units import Size
from tests.support.fakes import FakeWorld, order_of

FILE = """\
version: 1
name: cluster
duration: 5s
topology:
  switches: [core]
  links: [{ends: [m, core]}, {ends: [w1, core]}, {ends: [w2, core]}, {ends: [engine, core]}]
components:
  spark: {kind: spark_cluster, master: m, workers: [w1, w2], cores: 2, memory: 1GiB}
  one: {kind: spark_job, node: engine, job: job.py, cluster: spark, cores: 3, python_path: [lib]}
  two: {kind: spark_job, node: engine, job: job.py, cluster: spark, cores: 1}
"""


def write(folder: Path, text: str = FILE) -> Path:
    (folder / "job.py").touch()
    (folder / "lib").mkdir(exist_ok=True)
    (folder / "a.yaml").write_text(text)
    return folder / "a.yaml"


def plan_of(folder: Path) -> Plan:
    machine = Machine(java="/opt/java", java_version=21, python="/opt/python", means="netem")
    return plan_for(read(write(folder)), machine, base=folder, directory=Path("/run"))


def process(plan: Plan, name: str) -> ProcessSpec:
    return next(spec for spec in plan.processes if spec.name == name)


def complaint(folder: Path, old: str, new: str) -> str:
    assert FILE.count(old) == 1
    with pytest.raises(DeclarationError) as refused:
        read(write(folder, FILE.replace(old, new)))
    return str(refused.value)


def test_a_master_and_each_worker_are_separate_processes(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)

    assert process(plan, "spark/m").argv[-7] == "org.apache.spark.deploy.master.Master"
    worker = process(plan, "spark/w2")
    assert worker.node == "w2"
    assert worker.argv[:5] == ("/opt/python", "-m", "streambed.agents.spark_worker", "m", "8080")
    assert worker.argv[5] == "/opt/java"
    assert worker.argv[-1] == "spark://m:7077"
    assert "1024M" in worker.argv


def test_a_job_gets_its_cluster_its_share_and_the_path_of_its_modules(tmp_path: Path) -> None:
    settings = order_of(process(plan_of(tmp_path), "one"), SparkDriverOrder).settings

    assert settings["spark.master"] == "spark://m:7077"
    assert settings["spark.cores.max"] == "3"
    assert settings["spark.executor.memory"] == "512m"
    assert settings["spark.executorEnv.PYTHONPATH"].startswith(f"{tmp_path}:{tmp_path}/lib")


def test_secrets_among_settings_are_in_a_private_file_and_on_no_command_line(
    tmp_path: Path,
) -> None:
    secret = 'settings: {spark.authenticate.secret: "a\\\\b", spark.ui.port: 1}'
    text = FILE.replace("cores: 3,", f"cores: 3, {secret},")
    text = text.replace("memory: 1GiB", f"memory: 1GiB, {secret}")
    machine = Machine(java="/opt/java", java_version=21, python="/opt/python", means="netem")
    experiment = read(write(tmp_path, text))
    plan = plan_for(experiment, machine, base=tmp_path, directory=Path("/run"))

    order = order_of(process(plan, "one"), SparkDriverOrder)
    assert order.settings["spark.ui.port"] == "1"
    assert "spark.authenticate.secret" not in order.settings
    for name, path in [("one", order.secrets), ("spark/m", "/run/data/spark/m/secret.properties")]:
        spec = process(plan, name)
        (file,) = [file for file in spec.files if file.private]
        assert (file.path, file.text) == (path, "spark.authenticate.secret=a\\\\b\n")
        assert "spark.authenticate.secret" not in " ".join(spec.argv)
    assert process(plan, "spark/m").argv[-2:] == ("--properties-file", file.path)


def test_executors_are_started_without_the_module_that_the_wheels_java_lacks(
    tmp_path: Path,
) -> None:
    (file,) = process(plan_of(tmp_path), "spark/w1").files
    script = tmp_path / "java"
    script.write_text(file.text.replace("exec /opt/java", "exec echo"))

    words = [
        "-cp",
        "jars/*",
        "-Xmx512M",
        "--add-modules=jdk.incubator.vector",
        "Main",
        "--url",
        "a b",
    ]
    output = subprocess.run(
        ["sh", script, *words], capture_output=True, text=True, check=True
    ).stdout

    assert file.program
    assert output.endswith("-Xmx512M Main --url a b\n")
    assert "incubator" not in output
    assert "jars/*" not in output


def test_a_cluster_is_missing_until_its_master_answers() -> None:
    class NobodyThere(FakeWorld):
        def call(self, node, function):
            raise ConnectionRefusedError("refused")

    cluster = SparkCluster(name="spark", master="m", workers=("w1",))

    assert cluster.readiness(NobodyThere())() == "its master does not answer yet (refused)"


def test_a_worker_that_the_master_has_not_heard_of_is_missing() -> None:
    class Answers(FakeWorld):
        def call(self, node, function):
            return {"w1"}

    cluster = SparkCluster(name="spark", master="m", workers=("w1", "w2"))

    assert cluster.readiness(Answers())() == "its master has not heard of w2"


def test_a_cluster_that_is_not_there_is_refused(tmp_path: Path) -> None:
    message = complaint(tmp_path, "cluster: spark, cores: 1", "cluster: sparc, cores: 1")

    assert (
        "components.two.cluster: there is no spark_cluster 'sparc'. Did you mean 'spark'?"
        in message
    )


def test_jobs_that_would_wait_for_ever_are_refused(tmp_path: Path) -> None:
    assert "its jobs ask for 5 cores (one, two), but its workers have 4" in complaint(
        tmp_path, "cores: 3,", "cores: 4,"
    )
    assert "executors of one, two ask for" in complaint(tmp_path, "memory: 1GiB", "memory: 600MiB")


def test_a_master_has_its_own_host(tmp_path: Path) -> None:
    assert "components.spark.master: 'w1' is a worker too" in complaint(
        tmp_path, "master: m", "master: w1"
    )


def test_what_runs_long_has_the_full_compiler_and_its_heap_at_once():
    quick, steady = (flags_for(start, Size(2 << 30)) for start in ("quick", "steady"))

    assert "-XX:TieredStopAtLevel=1" in quick and "-Xmx2048m" in quick and "-Xms2048m" not in quick
    assert {
        "-XX:+UseParallelGC",
        "-Xms2048m",
        "-Xmx2048m",
        "-XX:Tier4CompileThreshold=150000",
    } <= set(steady)
    assert not {"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"} & set(steady)
