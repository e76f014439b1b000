"""HDFS: a name node and data nodes, where Spark jobs may keep checkpoints and event logs."""

from __future__ import annotations

import http.client
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from streambed import artifacts
from streambed.errors import Problem, suggestion
from streambed.kinds.components.component import ComponentBase, Needs
from streambed.kinds.components.hdfs.files import PAGE_PORT, data_nodes_alive
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.plan_context import PlanContext
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import Name, Setting, declared, setting_text
from streambed.plan import OnExit, PlannedFile, ProcessSpec
from streambed.units import Size
from streambed.world import Missing, World

if TYPE_CHECKING:
    from streambed.kinds.components.spark.job import SparkJob

NAMES_PORT, BLOCKS_PORT, CALLS_PORT, BLOCKS_PAGE_PORT = 8020, 9866, 9867, 9864
REPLICAS_MAX = 3
SMALL: dict[str, Setting] = {
    "dfs.permissions.enabled": False,
    "dfs.namenode.handler.count": 4,
    "dfs.namenode.service.handler.count": 2,
    "dfs.datanode.handler.count": 3,
    "dfs.namenode.safemode.extension": 0,  # It begins empty: there is nothing to wait for.
    "dfs.blockreport.initialDelay": 0,
}
"""Settings for many servers on one machine."""


@declared
class Hdfs(ComponentBase):
    """A distributed file system. Jobs name it in `checkpoint` and `event_log`."""

    needs: ClassVar[Needs] = ("hdfs",)

    kind: Literal["hdfs"] = "hdfs"
    name: Name
    name_node: str
    """The host of the name node."""
    data_nodes: Annotated[tuple[str, ...], Field(min_length=1)]
    """The hosts of the data nodes."""
    replicas: Annotated[int, Field(ge=0, le=512)] = 0
    """How many data nodes keep each block; 0: three, or as many as there are."""
    heap: Size = Size(128 << 20)
    """Java heap of each of its processes."""
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of Hadoop's settings of core-site and hdfs-site."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "auto"
    power_failure_refusal: ClassVar[str] = ""
    append_only: ClassVar[tuple[str, ...]] = ("edits_*", "blk_*")

    @property
    def places(self) -> dict[str, str]:
        """The key that names each node."""
        return {
            "name_node": self.name_node,
            **{f"data_nodes.{number}": node for number, node in enumerate(self.data_nodes)},
        }

    @property
    def disks(self) -> dict[str, str]:
        """The edits and images of the name node, the blocks of data nodes."""
        blocks = {node: f"{node}/blocks" for node in self.data_nodes}
        return {self.name_node: f"{self.name_node}/names", **blocks}

    @property
    def server(self) -> bool:
        """Jobs start once it is ready."""
        return True

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports of name nodes and data nodes."""
        return (NAMES_PORT, PAGE_PORT, BLOCKS_PORT, CALLS_PORT, BLOCKS_PAGE_PORT)

    def problems(self, others: Components, base: Path) -> list[Problem]:
        """Each host runs one process, and there must be a data node for each replica."""
        problems = []
        nodes = len(self.data_nodes)
        if len(set(self.data_nodes)) < nodes:
            says = "a node is named twice: each runs one data node"
            problems.append(Problem(key="data_nodes", says=says))
        if self.name_node in self.data_nodes:
            says = (
                f"'{self.name_node}' is a data node too, and faults could not tell the two apart: "
                "give the name node a separate host"
            )
            problems.append(Problem(key="name_node", says=says))
        if self.replicas > nodes:
            says = (
                f"{self.replicas} replicas need as many data nodes, and it has {nodes}: "
                "add some or ask for fewer"
            )
            problems.append(Problem(key="replicas", says=says))
        return problems

    def answers(self, data: Path) -> dict[str, str]:
        """{NAME.url}, {NAME.replicas}, and {NAME.page}: the name node's page, with WebHDFS."""
        return {
            "url": f"hdfs://{self.name_node}:{NAMES_PORT}",
            "page": f"http://{self.name_node}:{PAGE_PORT}",
            "replicas": str(self.replicas or min(REPLICAS_MAX, len(self.data_nodes))),
        }

    def processes(self, context: PlanContext) -> list[ProcessSpec]:
        """The name node, formatted already, then the data nodes."""
        names = PlannedFile(
            path=f"{context.data(self.name)}/{self.name_node}/names",
            source=str(artifacts.empty_names()),
        )
        name_node = self._process(context, "namenode", self.name_node, (names,))
        return [name_node, *(self._process(context, "datanode", node) for node in self.data_nodes)]

    def _process(
        self,
        context: PlanContext,
        role: Literal["namenode", "datanode"],
        node: str,
        files: tuple[PlannedFile, ...] = (),
    ) -> ProcessSpec:
        home = context.data(self.name) / node
        settings = {**SMALL, **self.settings, **self._addresses(node, home)}
        text = artifacts.configuration_text(
            {key: setting_text(setting) for key, setting in settings.items()}
        )
        configuration = home / "hdfs.xml"
        return ProcessSpec(
            name=f"{self.name}/{node}",
            component=self.name,
            node=node,
            argv=tuple(
                artifacts.hdfs_command(
                    context.java, role, configuration, heap_mib=self.heap.bytes >> 20
                )
            ),
            env=context.variables(self.name, node, context.bootstrap_for()),
            cwd=str(home),
            files=(PlannedFile(path=str(configuration), text=text), *files),
            on_exit=self.on_exit,
            heap_bytes=self.heap.bytes,
        )

    def _addresses(self, node: str, home: Path) -> dict[str, Setting]:
        answers = self.answers(home)
        return {
            "fs.defaultFS": answers["url"],
            "dfs.replication": answers["replicas"],
            "dfs.namenode.http-address": f"{self.name_node}:{PAGE_PORT}",
            "dfs.namenode.name.dir": (home / "names").as_uri(),
            "dfs.datanode.data.dir": (home / "blocks").as_uri(),
            "dfs.datanode.hostname": node,
            "dfs.datanode.address": f"{node}:{BLOCKS_PORT}",
            "dfs.datanode.ipc.address": f"{node}:{CALLS_PORT}",
            "dfs.datanode.http.address": f"{node}:{BLOCKS_PAGE_PORT}",
            "hadoop.tmp.dir": f"{home}/temporary",
        }

    def readiness(self, world: World) -> Missing:
        """Ready when the name node knows every data node and is not in safe mode."""

        def missing() -> str:
            try:
                alive, safe_mode = world.call(
                    self.name_node, lambda: data_nodes_alive(self.name_node)
                )
            except (OSError, http.client.HTTPException, ValueError) as error:
                return f"its name node does not answer yet ({error})"
            lacking = [node for node in self.data_nodes if node not in alive]
            return f"its name node has not heard of {', '.join(lacking)}" if lacking else safe_mode

        return missing


def unknown_hdfs(job: SparkJob, others: Components) -> list[Problem]:
    """A problem for each undeclared HDFS that a job names for its checkpoint or event log."""
    known = [name for name, other in others.items() if other.kind == "hdfs"]
    problems = []
    for key, name in {"checkpoint": job.checkpoint, "event_log": job.event_log}.items():
        if name and name not in known:
            says = f"there is no hdfs '{name}'. {suggestion(name, known)}"
            problems.append(Problem(key=key, says=says, about=frozenset({name})))
    return problems
