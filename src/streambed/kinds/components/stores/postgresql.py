"""PostgreSQL: a database server on a host."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from streambed import artifacts
from streambed.kinds.components.component import Needs
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.placement_rule import Placed
from streambed.kinds.components.site import Site
from streambed.kinds.components.stores.server_store import OnePort, Port, server_answers, with_setup
from streambed.kinds.declaring import Name, Setting, declared, setting_text
from streambed.plan import OnExit, PlannedFile, ProcessSpec

USER = "postgres"
NOBODY = "65534"
AS_NOBODY = ("unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}", "--")
"""It refuses to be root, which everybody is in the box: in a user namespace of its own the same
user has another number.
"""
SMALL: dict[str, Setting] = {
    "shared_buffers": "32MB",
    "max_connections": 50,
    # Only a failing machine would lose what the kernel has, and that ends the run as well.
    "fsync": False,
    "listen_addresses": "*",
    "unix_socket_directories": "",
    # In its own folder: what is left in /dev/shm would outlast the run.
    "dynamic_shared_memory_type": "mmap",
}


@declared
class PostgreSQL(OnePort):
    """PostgreSQL 18 on `node`. Anybody may come in as the user `postgres`, without a password."""

    needs: ClassVar[Needs] = ("postgresql",)
    database: ClassVar[str] = "postgres"

    kind: Literal["postgresql"] = "postgresql"
    name: Name
    node: str = ""
    """The host."""
    place: Placed = None
    """How the host is chosen if `node` does not name it."""
    port: Port = 5432
    setup: tuple[str, ...] = ()
    """Statements that are carried out once it answers, before others start."""
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of PostgreSQL's settings."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "fail"

    def answers(self, data: Path) -> dict[str, str]:
        """References to it."""
        place = f"{self.node}:{self.port}/{self.database}"
        return {
            **server_answers(self.node, self.port),
            "url": f"postgresql://{USER}@{place}",
            "jdbc": f"jdbc:postgresql://{place}?user={USER}",
        }

    def processes(self, site: Site) -> list[ProcessSpec]:
        """One server; its folder is initialised the first time."""
        home, programs = site.data(self.name), artifacts.server_home(self.kind) / "bin"
        cluster = f"{home}/cluster"
        settings: dict[str, Setting] = {
            **SMALL,
            **self.settings,
            "port": self.port,
            "hba_file": f"{home}/pg_hba.conf",
        }
        options = [
            word
            for key, setting in settings.items()
            for word in ("-c", f"{key}={setting_text(setting)}")
        ]
        initialise = [
            f"{programs}/initdb",
            "-D",
            cluster,
            "-U",
            USER,
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--no-locale",
            "--no-sync",
        ]
        start, order = with_setup(
            site,
            self.name,
            home=home,
            once=[[*initialise, "--no-instructions"]],
            stale=[
                f"{cluster}/postmaster.pid"
            ],  # A number of another box's process may be somebody else's here.
            argv=[f"{programs}/postgres", "-D", cluster, *options],
        )
        return [
            ProcessSpec(
                name=self.name,
                component=self.name,
                node=self.node,
                argv=(*AS_NOBODY, *start),
                env=site.variables(self.name, self.node, site.bootstrap_for()),
                cwd=str(home),
                files=(
                    PlannedFile(path=f"{home}/pg_hba.conf", text="host all all 0.0.0.0/0 trust\n"),
                    order,
                ),
                on_exit=self.on_exit,
            )
        ]
