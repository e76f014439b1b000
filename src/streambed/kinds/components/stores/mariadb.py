"""MariaDB: a database server that speaks the MySQL protocol."""

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

USER = "streambed"
ACCESS = f"""create database if not exists {USER};
create user if not exists '{USER}'@'%';
grant all on *.* to '{USER}'@'%' with grant option;
"""
"""Read by the server at each start: makes the database, and the user that clients log in as."""
SMALL: dict[str, Setting] = {
    "innodb_buffer_pool_size": "32M",
    "innodb_log_file_size": "16M",
    # Do not sync: only a failing machine loses what the kernel holds, and that ends the run too.
    "innodb_flush_log_at_trx_commit": 2,
    "innodb_use_native_aio": False,
    "key_buffer_size": "1M",
    "max_connections": 50,
    "performance_schema": False,
    "skip_name_resolve": True,
}


@declared
class MariaDB(OnePort):
    """MariaDB 11.4 on `node`. Clients log in as `streambed`, without a password."""

    needs: ClassVar[Needs] = ("mariadb",)
    database: ClassVar[str] = USER
    listens_on: ClassVar[str] = "bind_address"

    kind: Literal["mariadb"] = "mariadb"
    name: Name
    node: str = ""
    """The host."""
    place: Placed = None
    """How the host is chosen if `node` does not name it."""
    port: Port = 3306
    setup: tuple[str, ...] = ()
    """Statements to run once it answers, before the components that use it start."""
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of MariaDB's server settings."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "auto"

    def answers(self, data: Path) -> dict[str, str]:
        """The usual references, {NAME.url} and {NAME.jdbc}."""
        database = f"{self.node}:{self.port}/{self.database}"
        return {
            **server_answers(self.node, self.port),
            "url": f"mysql://{USER}@{database}",
            "jdbc": f"jdbc:mariadb://{database}?user={USER}",
        }

    def processes(self, context: PlanContext) -> list[ProcessSpec]:
        """One server; its folder is initialised at the first start."""
        home = context.data(self.name)
        programs = artifacts.server_home(self.kind)
        # Every process is root in the box, which MariaDB accepts only if asked to.
        folders = [f"--basedir={programs}", f"--datadir={home}/tables", "--user=root"]
        options = self._options()
        access_file = f"{home}/doors.sql"
        install = [
            f"{programs}/scripts/mariadb-install-db",
            "--no-defaults",
            *folders,
            "--skip-test-db",
            "--auth-root-authentication-method=normal",
            *options,
        ]
        serve = [
            f"{programs}/bin/mariadbd",
            "--no-defaults",
            *folders,
            *options,
            f"--init-file={access_file}",
            # A name without a folder is a file among its tables, where any path is short enough.
            f"--socket={self.name}.socket",
        ]
        argv, order = setup_command(context, self.name, home=home, once=[install], argv=serve)
        files = (PlannedFile(path=access_file, text=ACCESS), order)
        return [self.server_process(context, argv, files)]

    def _options(self) -> list[str]:
        # What the component itself decides comes last and wins.
        settings: dict[str, Setting] = {**SMALL, **self.settings, "port": self.port}
        settings.pop("init_file", None)
        return [
            f"--{key.replace('_', '-')}={setting_text(setting)}"
            for key, setting in settings.items()
        ]
