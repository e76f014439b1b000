"""PostgreSQL: a database server on a host."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from streambed import artifacts
from streambed.kinds.components.component import Needs
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.placement_rule import Placed
from streambed.kinds.components.plan_context import PlanContext
from streambed.kinds.components.stores.server_store import (
    OnePort,
    server_answers,
    setup_command,
)
from streambed.kinds.declaring import Name, Port, Setting, declared, setting_text
from streambed.plan import OnExit, PlannedFile, ProcessSpec

USER = "postgres"
NOBODY = "65534"
AS_NOBODY = ("unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}", "--")
"""PostgreSQL refuses to run as root, which every process is in the box. In a new user namespace the
same user has another number.
"""
INITDB_OPTIONS = ("-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync", "--no-instructions")
ACCESS = "host all all 0.0.0.0/0 trust\n"
"""pg_hba.conf: clients on every host get in without a password."""
SMALL: dict[str, Setting] = {
    "shared_buffers": "32MB",
    "max_connections": 50,
    # Do not sync: only a failing machine loses what the kernel holds, and that ends the run too.
    "fsync": False,
    "listen_addresses": "*",
    "unix_socket_directories": "",
    # Keeps shared memory in its folder: files left in /dev/shm would outlive the run.
    "dynamic_shared_memory_type": "mmap",
}


@declared
class PostgreSQL(OnePort):
    """PostgreSQL 18 on `node`. Clients log in as `postgres`, without a password."""

    needs: ClassVar[Needs] = ("postgresql",)
    database: ClassVar[str] = "postgres"
    listens_on: ClassVar[str] = "listen_addresses"

    kind: Literal["postgresql"] = "postgresql"
    name: Name
    node: str = ""
    """The host."""
    place: Placed = None
    """How the host is chosen if `node` does not name it."""
    port: Port = 5432
    setup: tuple[str, ...] = ()
    """Statements to run once it answers, before the components that use it start."""
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of PostgreSQL's settings."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "auto"
    syncs_by: ClassVar[tuple[str, Setting]] = ("fsync", True)

    def answers(self, data: Path) -> dict[str, str]:
        """The usual references, {NAME.url} and {NAME.jdbc}."""
        database = f"{self.node}:{self.port}/{self.database}"
        return {
            **server_answers(self.node, self.port),
            "url": f"postgresql://{USER}@{database}",
            "jdbc": f"jdbc:postgresql://{database}?user={USER}",
        }

    def processes(self, context: PlanContext) -> list[ProcessSpec]:
        """One server; its folder is initialised at the first start."""
        home = context.data(self.name)
        programs = artifacts.server_home(self.kind) / "bin"
        cluster = f"{home}/cluster"
        access_file = f"{home}/pg_hba.conf"
        argv, order = setup_command(
            context,
            self.name,
            home=home,
            once=[[f"{programs}/initdb", "-D", cluster, "-U", USER, *INITDB_OPTIONS]],
            # The server would not start if another process has this pid by now.
            stale=[f"{cluster}/postmaster.pid"],
            argv=[f"{programs}/postgres", "-D", cluster, *self._options(access_file)],
        )
        files = (PlannedFile(path=access_file, text=ACCESS), order)
        return [self.server_process(context, (*AS_NOBODY, *argv), files)]

    def _options(self, access_file: str) -> list[str]:
        settings: dict[str, Setting] = {
            **SMALL,
            **self.settings,
            "port": self.port,
            "hba_file": access_file,
        }
        options = []
        for key, setting in settings.items():
            options += ["-c", f"{key}={setting_text(setting)}"]
        return options
