"""Spark cluster: a master and workers, whose executors run the tasks of jobs."""

from __future__ import annotations

import http.client
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, cast

from pydantic import Field

from streambed import artifacts
from streambed.errors import Problem, suggestion
from streambed.kinds.components.component import ComponentBase, ExistingCluster, Needs
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.plan_context import PlanContext
from streambed.kinds.components.spark.secret_settings import secret_files, without_secrets
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import Name, Setting, declared, setting_text
from streambed.plan import OnExit, PlannedFile, ProcessSpec
from streambed.record import now_ns
from streambed.units import Size
from streambed.world import Missing, Process, World

if TYPE_CHECKING:
    from streambed.kinds.components.spark.job import SparkJob

MASTER_PORT, MASTER_PAGE, WORKER_PORT, WORKER_PAGE = 7077, 8080, 7078, 8081
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
OWN_HEAP = Size(192 << 20)
"""The heap of a master or worker itself; executors have their own."""
ANSWER_LIMIT_S = 1.0
ASK_EVERY_NS = 100_000_000
"""A master that has just started is slow to answer, and asking often slows down its start."""
Quickness = Literal["quick", "steady"]
FEW_COMPILED = tuple(
    f"-XX:Tier4{name}Threshold={10 * usual}"
    for name, usual in {
        "Invocation": 5_000,
        "MinInvocation": 600,
        "Compile": 15_000,
        "BackEdge": 40_000,
    }.items()
)
"""Raise C2's thresholds tenfold; otherwise it uses a fifth of the CPU in the first minute."""


@declared
class SparkCluster(ComponentBase):
    """A standalone Spark cluster. Jobs name it with `cluster`; their drivers stay on their own
    hosts.
    """

    needs: ClassVar[Needs] = ("spark_job",)

    kind: Literal["spark_cluster"] = "spark_cluster"
    name: Name
    master: str
    """The host of the master."""
    workers: Annotated[tuple[str, ...], Field(min_length=1)]
    """The hosts of the workers."""
    cores: Annotated[int, Field(ge=1, le=1024)] = 2
    """How many tasks each worker runs at once, of all jobs."""
    memory: Size = Size(1 << 30)
    """What each worker lends to executors in all: a job takes its `executor_memory` of it."""
    start: Quickness = "quick"
    """quick: executors compile lightly and start soon; steady: they compile fully, for long runs at
    high rates.
    """
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of Spark's settings of masters and workers."""
    limits: Limits | None = None
    """What each of its processes may use of the machine; a worker's executors count as part of it.
    """
    on_exit: OnExit = "auto"
    takes_existing: ClassVar[tuple[ExistingCluster, ...]] = ("spark_master",)
    box_reason: ClassVar[str] = (
        "a spark_cluster needs emulated hosts, and there is no box here: name one with "
        "--spark-master"
    )

    def on_existing(self, cluster: ExistingCluster, address: str) -> SparkCluster | None:
        """An existing master replaces it."""
        return None if cluster == "spark_master" else self

    @property
    def places(self) -> dict[str, str]:
        """The key that names each node."""
        return {
            "master": self.master,
            **{f"workers.{number}": node for number, node in enumerate(self.workers)},
        }

    @property
    def server(self) -> bool:
        """Jobs start once it is ready."""
        return True

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports of masters and workers."""
        return (MASTER_PORT, MASTER_PAGE, WORKER_PORT, WORKER_PAGE)

    def problems(self, others: Components, base: Path) -> list[Problem]:
        """Each host runs one process, and all jobs must fit, because they start together."""
        problems = []
        if len(set(self.workers)) < len(self.workers):
            says = "a node is named twice: give one worker more `cores` and `memory` instead"
            problems.append(Problem(key="workers", says=says))
        if self.master in self.workers:
            says = (
                f"'{self.master}' is a worker too, and faults could not tell the two apart: "
                "give the master a separate host"
            )
            problems.append(Problem(key="master", says=says))
        jobs = _jobs_on(self.name, others)
        requested = sum(job.cores for job in jobs)
        available = self.cores * len(self.workers)
        if requested > available:
            says = (
                f"its jobs ask for {requested} cores ({_job_names(jobs)}), "
                f"but its workers have {available}: give it more, or the jobs fewer"
            )
            problems.append(Problem(key="cores", says=says))
        return problems

    def answers(self, data: Path) -> dict[str, str]:
        """{NAME.url}."""
        return {"url": self.url}

    @property
    def url(self) -> str:
        """Where jobs find the master."""
        return f"spark://{self.master}:{MASTER_PORT}"

    def processes(self, context: PlanContext) -> list[ProcessSpec]:
        """The master, then the workers."""
        here = ["--host", self.master, "--port", str(MASTER_PORT), "--webui-port", str(MASTER_PAGE)]
        master = self._process(
            context, self.master, ["org.apache.spark.deploy.master.Master", *here], lends=0
        )
        return [master, *(self._worker(context, node) for node in self.workers)]

    def _worker(self, context: PlanContext, node: str) -> ProcessSpec:
        here = ["--host", node, "--port", str(WORKER_PORT), "--webui-port", str(WORKER_PAGE)]
        lends = [
            "--cores",
            str(self.cores),
            "--memory",
            f"{self.memory.bytes >> 20}M",
            "--work-dir",
            f"{context.data(self.name)}/{node}/work",
        ]
        main = ["org.apache.spark.deploy.worker.Worker", *here, *lends, self.url]
        worker = self._process(context, node, main, lends=self.memory.bytes)
        awaiting = (
            context.machine.python,
            "-m",
            "streambed.agents.spark_worker",
            self.master,
            str(MASTER_PAGE),
        )
        return replace(worker, argv=(*awaiting, *worker.argv))

    def _process(
        self, context: PlanContext, node: str, main: list[str], *, lends: int
    ) -> ProcessSpec:
        home = context.data(self.name) / node
        pyspark = artifacts.find_pyspark()
        asked: dict[str, Setting] = {"spark.local.dir": f"{home}/local", **self.settings}
        settings = {key: setting_text(setting) for key, setting in asked.items()}
        secrets = secret_files(settings, f"{home}/secret.properties")
        shown = [f"-D{key}={value}" for key, value in without_secrets(settings).items()]
        flags = [*flags_for("quick", OWN_HEAP), *shown]
        for file in secrets:
            main = [*main, "--properties-file", file.path]
        command = artifacts.spark_command(
            context.java, pyspark_home=pyspark, flags=flags, main=main
        )
        return ProcessSpec(
            name=f"{self.name}/{node}",
            component=self.name,
            node=node,
            argv=tuple(command),
            env={
                **context.variables(self.name, node, context.bootstrap_for()),
                **artifacts.spark_variables(pyspark),
                "JAVA_HOME": f"{home}/java",
            },
            cwd=str(home),
            files=(self._executor_java(context, home), *secrets),
            on_exit=self.on_exit,
            heap_bytes=OWN_HEAP.bytes + lends,
        )

    def _executor_java(self, context: PlanContext, home: Path) -> PlannedFile:
        """The script that workers run as `java` to start executors."""
        flags = flags_for(self.start, OWN_HEAP)
        command = artifacts.spark_command(
            context.java, pyspark_home=artifacts.find_pyspark(), flags=flags, main=()
        )
        text = artifacts.executor_java(command)
        return PlannedFile(path=f"{home}/java/bin/java", text=text, program=True)

    def readiness(self, world: World) -> Missing:
        """Ready when the master's page says that every worker is alive."""
        found, next_ns = "", 0

        def missing() -> str:
            nonlocal found, next_ns
            if now_ns() >= next_ns:
                found = self._missing(world)
                next_ns = now_ns() + ASK_EVERY_NS
            return found

        return missing

    def _missing(self, world: World) -> str:
        try:
            alive = world.call(self.master, lambda: workers_alive(self.master))
        except (OSError, http.client.HTTPException, ValueError) as error:
            return f"its master does not answer yet ({error})"
        lacking = [node for node in self.workers if node not in alive]
        return f"its master has not heard of {', '.join(lacking)}" if lacking else ""


def executors_of(cluster: str, events: Path, world: World) -> list[Process]:
    """The executors of a job, which has its event logs in the folder `events`: one log for each
    application, named by its id.
    """
    applications = [log.name.partition(".")[0] for log in events.glob("app-*")]
    declared = cast("SparkCluster", world.components[cluster])
    workers = [world.find(f"{cluster}/{node}") for node in declared.workers]
    return [
        executor
        for worker in workers
        for application in applications
        for executor in worker.children((EXECUTOR, application))
    ]


def workers_alive(master: str) -> set[str]:
    """The hosts of the workers that a master counts on; called where the master can be reached."""
    connection = http.client.HTTPConnection(master, MASTER_PAGE, timeout=ANSWER_LIMIT_S)
    try:
        connection.request("GET", "/json/")
        return {
            worker["host"]
            for worker in json.load(connection.getresponse())["workers"]
            if worker["state"] == "ALIVE"
        }
    finally:
        connection.close()


def flags_for(start: Quickness, heap: Size) -> list[str]:
    """JVM flags for Spark. A steady JVM takes its whole heap at once, half of it for short-lived
    objects such as rows.
    """
    most = f"{heap.bytes >> 20}m"
    if start == "quick":
        return [*artifacts.SPARK_FLAGS, f"-Xmx{most}"]
    light = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel")
    kept = [flag for flag in artifacts.SPARK_FLAGS if not flag.startswith(light)]
    return [
        *kept,
        "-XX:+UseParallelGC",
        "-XX:NewRatio=1",
        f"-Xms{most}",
        f"-Xmx{most}",
        *FEW_COMPILED,
    ]


def cluster_problems(job: SparkJob, others: Components) -> list[Problem]:
    """Why a job would wait forever for the cluster that it names."""
    clusters = [name for name, other in others.items() if other.kind == "spark_cluster"]
    if job.cluster not in clusters:
        says = f"there is no spark_cluster '{job.cluster}'. {suggestion(job.cluster, clusters)}"
        return [Problem(key="cluster", says=says, about=frozenset({job.cluster}))]
    lent = cast("SparkCluster", others[job.cluster]).memory
    jobs = _jobs_on(job.cluster, others)
    requested = Size(sum(other.executor_memory.bytes for other in jobs))
    if requested.bytes > lent.bytes:
        says = (
            f"executors of {_job_names(jobs)} ask for {requested} on each worker, "
            f"but {job.cluster} lends {lent}: raise its `memory`"
        )
        return [Problem(key="executor_memory", says=says)]
    return []


def _jobs_on(cluster: str, components: Components) -> list[SparkJob]:
    jobs = [
        cast("SparkJob", component)
        for component in components.values()
        if component.kind == "spark_job"
    ]
    return [job for job in jobs if job.cluster == cluster]


def _job_names(jobs: list[SparkJob]) -> str:
    return ", ".join(job.name for job in jobs)
