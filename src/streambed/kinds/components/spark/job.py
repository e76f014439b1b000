"""Spark job: a PySpark script, unchanged, with Spark's driver on its host; its tasks run in the
driver, or on a cluster.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from streambed import artifacts
from streambed.errors import Problem
from streambed.kinds.components.broker import unknown_topics
from streambed.kinds.components.component import (
    ExistingCluster,
    Needs,
    OnOneNode,
    missing_file,
    missing_folder,
    reference_texts,
)
from streambed.kinds.components.engine import CoveredByBatches
from streambed.kinds.components.hdfs.files import Copies
from streambed.kinds.components.hdfs.hdfs import keeping_problems
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.placement_rule import Placed
from streambed.kinds.components.progress import DeclaredReader, Position, Progress
from streambed.kinds.components.site import Site
from streambed.kinds.components.spark.cluster import Quickness, flags_for, lending_problems
from streambed.kinds.components.spark.event_log import SparkLog
from streambed.kinds.declaring import Name, Names, Setting, declared, setting_text
from streambed.plan import OnExit, ProcessSpec
from streambed.record.events import Batch
from streambed.record.orders import SparkDriverOrder
from streambed.units import Size
from streambed.world import Missing, World

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
    """The folder that it runs in; default: one of its own in the run's folder."""
    python: str = ""
    """An interpreter of its own, with pyspark in it."""
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
    on_exit: OnExit = "fail"
    takes_existing: ClassVar[tuple[ExistingCluster, ...]] = ("spark_master",)
    may_write_more: ClassVar[bool] = True
    box_reason: ClassVar[str] = ""

    @property
    def as_engine(self) -> SparkJob:
        """Itself."""
        return self

    @property
    def on_existing_master(self) -> bool:
        """Whether its tasks run on a cluster that is not declared here."""
        return "://" in self.cluster

    @property
    def readers(self) -> tuple[DeclaredReader, ...]:
        """It reads by offsets of its own, in no group."""
        return (
            (DeclaredReader(name=self.name, topics=self.reads, group=False),) if self.reads else ()
        )

    @property
    def topics_written(self) -> tuple[str, ...]:
        """Its topics."""
        return self.writes

    @property
    def state_places(self) -> dict[str, str]:
        """Its checkpoint and its event log."""
        return {"checkpoint": self.checkpoint, "event log": self.event_log}

    @property
    def texts(self) -> dict[str, str]:
        """Its arguments and variables."""
        return reference_texts("args", self.args, self.env)

    def own_answers(self, data: Path, answers: Mapping[str, str]) -> dict[str, str]:
        """Its checkpoint may lie in an hdfs."""
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

    def problems(self, others: Mapping[str, Any], base: Path) -> list[Problem]:
        """Its script must be there, its topics declared."""
        found = missing_file(self.job, base, "job") + (
            missing_file(self.python, base, "python") if self.python else []
        )
        found += missing_folder(self.cwd, base, "cwd") if self.cwd else []
        for number, folder in enumerate(self.python_path):
            found += missing_folder(folder, base, f"python_path.{number}")
        found += (
            lending_problems(self, others) if self.cluster and not self.on_existing_master else []
        )
        found += keeping_problems(self, others)
        return (
            found
            + unknown_topics(self.reads, others, "reads")
            + unknown_topics(self.writes, others, "writes")
        )

    def processes(self, site: Site) -> list[ProcessSpec]:
        """The driver agent, which starts Spark's Java and then runs the script."""
        bootstrap = site.bootstrap_for((*self.reads, *self.writes))
        interpreter = str(site.base / self.python) if self.python else site.machine.python
        flags = flags_for(self.start, self.memory)
        java = artifacts.spark_command(
            site.java, pyspark_home=artifacts.find_pyspark(), flags=flags
        )
        order = SparkDriverOrder(
            java=tuple(java),
            settings=self._settings(site),
            job=str(site.base / self.job),
            args=tuple(site.resolve(word, self.name) for word in self.args),
            folders=self._folders(site),
        )
        file = site.order(self.name, order)
        return [
            ProcessSpec(
                name=self.name,
                component=self.name,
                node=self.node,
                argv=(interpreter, str(DRIVER), file.path),
                env={
                    **site.variables(self.name, self.node, bootstrap),
                    "PYTHONPATH": self._python_path(site),
                    **{key: site.resolve(text, self.name) for key, text in self.env.items()},
                },
                cwd=str(site.base / self.cwd if self.cwd else site.data(self.name)),
                files=(file,),
                on_exit=self.on_exit,
                heap_bytes=self.memory.bytes,
            )
        ]

    def _folders(self, site: Site) -> tuple[str, ...]:
        """What Spark wants to be there in HDFS."""
        if not self.event_log:
            return ()
        return (site.resolve(f"{{{self.event_log}.page}}/webhdfs/v1{self._events}", self.name),)

    def _python_path(self, site: Site) -> str:
        folders = [
            str((site.base / self.job).parent),
            *(str(site.base / folder) for folder in self.python_path),
        ]
        if site.machine.python_path:
            folders.append(site.machine.python_path)
        return os.pathsep.join(folders)

    def _where(self, site: Site) -> dict[str, Setting]:
        """Where its tasks run. All hosts see the same files, so that a path is all that executors
        need to find its modules.
        """
        if not self.cluster:
            return {"spark.master": f"local[{self.cores}]"}
        return {
            "spark.master": self.cluster
            if self.on_existing_master
            else site.resolve(f"{{{self.cluster}.url}}", self.name),
            "spark.cores.max": self.cores,
            "spark.executor.memory": f"{self.executor_memory.bytes >> 20}m",
            **(
                self._shipped(site)
                if self.on_existing_master
                else {"spark.executorEnv.PYTHONPATH": self._python_path(site)}
            ),
        }

    def _shipped(self, site: Site) -> dict[str, Setting]:
        """What workers of others cannot be expected to have: the connectors, and the modules beside
        the script and in `python_path`.
        """
        folders = [
            (site.base / self.job).parent,
            *(site.base / folder for folder in self.python_path),
        ]
        modules = [
            str(module)
            for folder in folders
            for module in sorted(folder.glob("*.py"))
            if module != site.base / self.job
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

    def _kept(self, site: Site) -> dict[str, Setting]:
        """Where its event log lies, and how often its blocks are kept if it uses HDFS."""
        home = (
            site.resolve(f"{{{self.event_log}.url}}", self.name) + self._events
            if self.event_log
            else f"{site.data(self.name)}/events"
        )
        used = self.event_log or self.checkpoint
        replicas = (
            {"spark.hadoop.dfs.replication": site.resolve(f"{{{used}.replicas}}", self.name)}
            if used
            else {}
        )
        return {"spark.eventLog.dir": home, **replicas}

    def _settings(self, site: Site) -> dict[str, str]:
        home = site.data(self.name)
        settings: dict[str, Setting] = {
            "spark.app.name": self.name,
            **self._where(site),
            "spark.driver.host": site.outside or self.node,
            "spark.driver.bindAddress": site.outside or self.node,
            "spark.local.dir": f"{home}/local",
            "spark.sql.warehouse.dir": f"{home}/warehouse",
            "spark.sql.shuffle.partitions": self.cores,
            "spark.eventLog.enabled": True,
            **self._kept(site),
            "spark.eventLog.rolling.enabled": False,
            "spark.eventLog.compress": False,
            # Nobody outside the box can reach it, and it takes a second to start.
            "spark.ui.enabled": False,
            "spark.ui.showConsoleProgress": False,
            **self.settings,
        }
        return {key: setting_text(setting) for key, setting in settings.items()}

    def log(self, world: World) -> SparkLog:
        """The reader of this job's event log, kept as long as the world."""
        folder = world.directory / "data" / self.name / "events"

        def made() -> SparkLog:
            return SparkLog(
                self.name,
                folder,
                Copies(world, hdfs=self.event_log, folder=self._events, into=folder).renew
                if self.event_log
                else None,
            )

        return world.keep(f"spark log {self.name}", made)

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

    def batches(self, world: World) -> list[Batch]:
        """The batches that ended since the last call."""
        return self.log(world).take_batches()
