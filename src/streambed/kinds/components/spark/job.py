"""Spark job: an unchanged PySpark script. Its tasks run in the driver, or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from streambed import artifacts
from streambed.errors import Problem, UsageError
from streambed.kinds.components.broker import unknown_topics
from streambed.kinds.components.component import (
    ExistingCluster,
    Needs,
    OnOneNode,
    missing_file,
    missing_folder,
)
from streambed.kinds.components.engine import CoveredByBatches
from streambed.kinds.components.hdfs.files import Copies
from streambed.kinds.components.hdfs.hdfs import unknown_hdfs
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.placement_rule import Placed
from streambed.kinds.components.plan_context import PlanContext, reference_texts
from streambed.kinds.components.progress import DeclaredReader, Position, Progress
from streambed.kinds.components.spark.checkpoint import CheckpointLog
from streambed.kinds.components.spark.cluster import (
    Quickness,
    cluster_problems,
    executors_of,
    flags_for,
)
from streambed.kinds.components.spark.event_log import SparkLog
from streambed.kinds.components.spark.failure import failure_of, failure_text
from streambed.kinds.components.spark.secret_settings import secret_files, without_secrets
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import Name, Names, Setting, declared, setting_text
from streambed.plan import OnExit, ProcessSpec
from streambed.record.events import Batch
from streambed.record.events.of_batches import BatchStep
from streambed.record.orders import SparkDriverOrder
from streambed.units import Size
from streambed.world import Missing, Process, World

DRIVER = Path(__file__).parents[3] / "agents" / "spark_driver.py"
"""Run as a file, because the job's own interpreter may not have streambed."""


@declared
class SparkJob(OnOneNode, CoveredByBatches):
    """Runs the PySpark script `job` with `args`; the script need not know of streambed."""

    needs: ClassVar[Needs] = ("spark_job",)

    kind: Literal["spark_job"] = "spark_job"
    name: Name
    node: str = ""
    """The host."""
    place: Placed = None
    """How the host is chosen if `node` does not name it."""
    job: str
    """The script."""
    reads: Names = ()
    """The topics that it reads: the check of its latency follows them."""
    writes: Names = ()
    args: tuple[str, ...] = ()
    """May refer to the world: {kafka.bootstrap}, {self.checkpoint}, {edge.address}."""
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str = ""
    """The working directory; default: a separate one in the run's folder."""
    python: str = ""
    """Another Python interpreter that has pyspark."""
    python_path: tuple[str, ...] = ()
    """Folders with Python modules that it needs; the script's own folder is always looked in. Every
    host sees them.
    """
    cluster: str = ""
    """The spark_cluster whose workers run its tasks, or the URL of a master that exists already;
    default: the driver runs them itself.
    """
    cores: Annotated[int, Field(ge=1, le=1024)] = 2
    """How many tasks run at once: threads of local[n], or cores of the cluster; also the number of
    shuffle partitions.
    """
    memory: Size = Size(1 << 30)
    """Java heap of the driver."""
    executor_memory: Size = Size(512 << 20)
    """Java heap of each executor on a cluster: one on each worker that lends it cores."""
    checkpoint: str = ""
    """The hdfs in which {self.checkpoint} lies; default: the driver's disk, which is reached past
    the network.
    """
    event_log: str = ""
    """The hdfs in which Spark writes its event log; default: the driver's disk."""
    start: Quickness = "quick"
    """quick: compile lightly, start soon; steady: compile fully, take the whole heap at once, for
    long runs at high rates.
    """
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of Spark's settings."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "auto"
    takes_existing: ClassVar[tuple[ExistingCluster, ...]] = ("spark_master",)
    may_write_more: ClassVar[bool] = True
    box_reason: ClassVar[str] = ""

    @property
    def as_engine(self) -> SparkJob:
        """It runs a job that reads and writes topics."""
        return self

    @property
    def on_existing_master(self) -> bool:
        """Whether its tasks run on a cluster that is not declared here."""
        return "://" in self.cluster

    no_syncs: ClassVar[str] = "Spark does not sync its checkpoint: use fill_disk"
    power_failure_refusal: ClassVar[str] = (
        "Spark does not sync its checkpoint, so a power failure may leave any part of it: "
        "use `lose` or `corrupt`"
    )

    @property
    def readers(self) -> tuple[DeclaredReader, ...]:
        """One reader without a consumer group: Spark keeps the offsets itself."""
        if not self.reads:
            return ()
        return (DeclaredReader(name=self.name, topics=self.reads, group=False),)

    @property
    def topics_written(self) -> tuple[str, ...]:
        """The topics that it declares in `writes`."""
        return self.writes

    @property
    def state_places(self) -> dict[str, str]:
        """Its checkpoint and its event log."""
        return {"checkpoint": self.checkpoint, "event log": self.event_log}

    def batch_log(self, data: Path) -> Path | None:
        """Its checkpoint, unless that is in HDFS."""
        return None if self.checkpoint else data / "checkpoint"

    def executor_of(self, components: Components) -> str:
        """The declared cluster whose workers start its executors."""
        return self.cluster if self.cluster in components else ""

    def executors(self, world: World) -> Sequence[Process]:
        """The children of its cluster's workers that work for one of its applications."""
        return executors_of(self.cluster, world.directory / "data" / self.name / "events", world)

    @property
    def disks(self) -> dict[str, str]:
        """Its checkpoint, unless that is in HDFS."""
        return {} if self.checkpoint else {self.node: "checkpoint"}

    @property
    def own_python(self) -> str:
        """The interpreter in `python`."""
        return self.python

    @property
    def texts(self) -> dict[str, str]:
        """Its arguments and variables."""
        return reference_texts("args", self.args, self.env)

    def own_answers(self, data: Path, answers: Mapping[str, str]) -> dict[str, str]:
        """{self.checkpoint}, which may be in HDFS."""
        hdfs = answers.get(f"{self.checkpoint}.url")
        return {
            "checkpoint": f"{hdfs}/{self.name}/checkpoint" if hdfs else str(data / "checkpoint")
        }

    @property
    def existing_address(self) -> str:
        """The master that exists already."""
        return self.cluster if self.on_existing_master else ""

    def on_existing(self, cluster: ExistingCluster, address: str) -> SparkJob:
        """The same job with another master."""
        return replace(self, cluster=address) if cluster == "spark_master" else self

    def problems(self, others: Components, base: Path) -> list[Problem]:
        """Its files must exist; its topics, cluster and HDFS must be declared."""
        problems = missing_file(self.job, base, "job")
        if self.python:
            problems += missing_file(self.python, base, "python")
        if self.cwd:
            problems += missing_folder(self.cwd, base, "cwd")
        for index, folder in enumerate(self.python_path):
            problems += missing_folder(folder, base, f"python_path.{index}")
        if self.cluster and not self.on_existing_master:
            problems += cluster_problems(self, others)
        problems += unknown_hdfs(self, others)
        problems += unknown_topics(self.reads, others, "reads")
        problems += unknown_topics(self.writes, others, "writes")
        return problems

    def processes(self, context: PlanContext) -> list[ProcessSpec]:
        """The driver agent, which starts Spark's Java and then runs the script."""
        settings = self._settings(context)
        secrets = secret_files(settings, f"{context.data(self.name)}/secret.properties")
        home, flags = artifacts.find_pyspark(), flags_for(self.start, self.memory)
        java = artifacts.spark_command(context.java, pyspark_home=home, flags=flags)
        order = SparkDriverOrder(
            java=tuple(java),
            settings=without_secrets(settings),
            secrets=secrets[0].path if secrets else "",
            job=str(context.base / self.job),
            args=tuple(context.resolve(word, self.name) for word in self.args),
            folders=self._folders(context),
        )
        file = context.order(self.name, order)
        folder = context.base / self.cwd if self.cwd else context.data(self.name)
        return [
            ProcessSpec(
                name=self.name,
                component=self.name,
                node=self.node,
                argv=(self._interpreter(context), str(DRIVER), file.path),
                env=self._variables(context),
                cwd=str(folder),
                files=(file, *secrets),
                on_exit=self.on_exit,
                heap_bytes=self.memory.bytes,
            )
        ]

    def _variables(self, context: PlanContext) -> dict[str, str]:
        """The environment of the driver; the job's own `env` wins."""
        bootstrap = context.bootstrap_for((*self.reads, *self.writes))
        return {
            **context.variables(self.name, self.node, bootstrap),
            "PYTHONPATH": self._python_path(context),
            **_page_address(context),
            **{key: context.resolve(text, self.name) for key, text in self.env.items()},
        }

    def _interpreter(self, context: PlanContext) -> str:
        """The job's interpreter; UsageError if its pyspark does not fit the Kafka connector."""
        if not self.python:
            return context.machine.python
        path = str(context.base / self.python)
        version = context.machine.pysparks.get(path)
        ours = artifacts.connector_version()
        if version is None or not context.brokers or artifacts.same_release(version, ours):
            return path
        found = f"has pyspark {version}" if version else "has no pyspark"
        raise UsageError(
            f"components.{self.name}.python: {path} {found}; the Kafka connector here is for "
            f"{ours}: install pyspark=={ours} there, or name another interpreter"
        )

    def _folders(self, context: PlanContext) -> tuple[str, ...]:
        """The folders that must exist in HDFS before the job starts."""
        if not self.event_log:
            return ()
        return (context.resolve(f"{{{self.event_log}.page}}/webhdfs/v1{self._events}", self.name),)

    def _module_folders(self, context: PlanContext) -> list[Path]:
        """The folders of its modules, the script's own first."""
        return [(context.base / self.job).parent, *(context.base / f for f in self.python_path)]

    def _python_path(self, context: PlanContext) -> str:
        folders = [str(folder) for folder in self._module_folders(context)]
        if context.machine.python_path:
            folders.append(context.machine.python_path)
        return os.pathsep.join(folders)

    def _where(self, context: PlanContext) -> dict[str, Setting]:
        """Where its tasks run, and how executors find its modules."""
        if not self.cluster:
            return {"spark.master": f"local[{self.cores}]"}
        if self.on_existing_master:
            master = self.cluster
            modules = self._shipped_files(context)
        else:
            master = context.resolve(f"{{{self.cluster}.url}}", self.name)
            # All emulated hosts see the same files, so a path is enough.
            modules = {"spark.executorEnv.PYTHONPATH": self._python_path(context)}
        return {
            "spark.master": master,
            "spark.cores.max": self.cores,
            "spark.executor.memory": f"{self.executor_memory.bytes >> 20}m",
            **modules,
        }

    def _shipped_files(self, context: PlanContext) -> dict[str, Setting]:
        """Files that an existing cluster may lack: the connectors, and the job's modules."""
        modules = [
            str(module)
            for folder in self._module_folders(context)
            for module in sorted(folder.glob("*.py"))
            if module != context.base / self.job
        ]
        shipped = {
            "spark.jars": [str(jar) for jar in artifacts.jars("spark_job")],
            "spark.submit.pyFiles": modules,
        }
        return {key: ",".join(files) for key, files in shipped.items() if files}

    @property
    def _events(self) -> str:
        """The folder of its event logs in HDFS."""
        return f"/{self.name}/events"

    def _storage_settings(self, context: PlanContext) -> dict[str, Setting]:
        """Where its event log is, and how many replicas its blocks have if it uses HDFS."""
        settings: dict[str, Setting] = {"spark.eventLog.dir": f"{context.data(self.name)}/events"}
        if self.event_log:
            hdfs = context.resolve(f"{{{self.event_log}.url}}", self.name)
            settings["spark.eventLog.dir"] = hdfs + self._events
        used = self.event_log or self.checkpoint
        if used:
            replicas = context.resolve(f"{{{used}.replicas}}", self.name)
            settings["spark.hadoop.dfs.replication"] = replicas
        return settings

    def _settings(self, context: PlanContext) -> dict[str, str]:
        home = context.data(self.name)
        settings: dict[str, Setting] = {
            "spark.app.name": self.name,
            **self._where(context),
            "spark.driver.host": context.outside or self.node,
            "spark.driver.bindAddress": context.outside or self.node,
            "spark.local.dir": f"{home}/local",
            "spark.sql.warehouse.dir": f"{home}/warehouse",
            "spark.sql.shuffle.partitions": self.cores,
            "spark.eventLog.enabled": True,
            **self._storage_settings(context),
            "spark.eventLog.rolling.enabled": False,
            "spark.eventLog.compress": False,
            # It cannot be reached from outside the box, and takes a second to start.
            "spark.ui.enabled": False,
            "spark.ui.showConsoleProgress": False,
            **self.settings,
        }
        return {key: setting_text(setting) for key, setting in settings.items()}

    def log(self, world: World) -> SparkLog:
        """The reader of this job's event log, kept as long as the world."""
        folder = world.directory / "data" / self.name / "events"

        def open_log() -> SparkLog:
            true_ns = world.find(self.name).clock.true_ns
            if not self.event_log:
                return SparkLog(self.name, folder, true_ns=true_ns)
            copies = Copies(world, hdfs=self.event_log, folder=self._events, into=folder)
            return SparkLog(self.name, folder, copies.renew, true_ns)

        return world.keep(f"spark log {self.name}", open_log)

    def readiness(self, world: World) -> Missing:
        """Ready when each streaming query that it started has looked for input, or when a batch job
        has ended.
        """
        log = self.log(world)

        def missing() -> str:
            if not world.find(self.name).alive:
                return ""
            return log.missing()

        return missing

    def progress(self, world: World) -> Progress:
        """How far its finished batches have come, also in topics that it does not declare."""
        if not world.find(self.name).alive:
            return Progress()
        positions = self.log(world).positions()
        topics = tuple(dict.fromkeys((*self.reads, *positions)))
        return Progress(positions=(Position(reader=self.name, topics=topics, next=positions),))

    def exit_reason(self, directory: Path, components: Components) -> str:
        """The last cause of the exception that ended it."""
        failure = failure_of(directory, self.name)
        return failure_text(failure, self.reads, components) if failure else ""

    def batches(self, world: World) -> list[Batch]:
        """The batches that ended since the last call."""
        return self.log(world).take_batches()

    def batch_steps(self, world: World) -> Sequence[BatchStep]:
        """The new entries of its checkpoint, unless that is in HDFS."""
        folder = self.batch_log(world.directory / "data" / self.name)
        if folder is None:
            return ()
        log = world.keep(f"checkpoint {self.name}", lambda: CheckpointLog(self.name, folder))
        return log.steps()


def _page_address(context: PlanContext) -> dict[str, str]:
    """Outside a box, a page that the job asks for is not on all addresses of the machine."""
    return {"SPARK_LOCAL_IP": context.outside} if context.outside else {}
