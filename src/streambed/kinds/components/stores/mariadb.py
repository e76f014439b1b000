"""MariaDB: a database server on a host that speaks the protocol of MySQL."""

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

USER = "streambed"
DOORS = f"""create database if not exists {USER};
create user if not exists '{USER}'@'%';
grant all on *.* to '{USER}'@'%' with grant option;
"""
"""What the server reads at each start: who may come in, and to which database."""
SMALL: dict[str, Setting] = {
    "innodb_buffer_pool_size": "32M",
    "innodb_log_file_size": "16M",
    # What the kernel has is safe unless the machine fails, and that ends the run as well.
    "innodb_flush_log_at_trx_commit": 2,
    "innodb_use_native_aio": False,
    "key_buffer_size": "1M",
    "max_connections": 50,
    "performance_schema": False,
    "skip_name_resolve": True,
}


@declared
class MariaDB(OnePort):
    """MariaDB 11.4 on `node`. Anybody may come in as the user `streambed`, without a password."""

    needs: ClassVar[Needs] = ("mariadb",)
    database: ClassVar[str] = USER

    kind: Literal["mariadb"] = "mariadb"
    name: Name
    node: str = ""
    """The host."""
    place: Placed = None
    """How the host is chosen if `node` does not name it."""
    port: Port = 3306
    setup: tuple[str, ...] = ()
    """Statements that are carried out once it answers, before others start."""
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of MariaDB's server settings."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "fail"

    def answers(self, data: Path) -> dict[str, str]:
        """References to it."""
        place = f"{self.node}:{self.port}/{self.database}"
        return {
            **server_answers(self.node, self.port),
            "url": f"mysql://{USER}@{place}",
            "jdbc": f"jdbc:mariadb://{place}?user={USER}",
        }

    def processes(self, site: Site) -> list[ProcessSpec]:
        """One server; its folder is initialised the first time."""
        home, programs = site.data(self.name), artifacts.server_home(self.kind)
        places = [
            f"--basedir={programs}",
            f"--datadir={home}/tables",
            "--user=root",
        ]  # Everybody is root in the box.
        settings: dict[str, Setting] = {
            **SMALL,
            **self.settings,
            "port": self.port,
            "init_file": f"{home}/doors.sql",
        }
        options = [
            f"--{key.replace('_', '-')}={setting_text(setting)}"
            for key, setting in settings.items()
        ]
        initialise = [
            f"{programs}/scripts/mariadb-install-db",
            "--no-defaults",
            *places,
            "--skip-test-db",
        ]
        start, order = with_setup(
            site,
            self.name,
            home=home,
            once=[[*initialise, "--auth-root-authentication-method=normal", *options[:-1]]],
            argv=[
                f"{programs}/bin/mariadbd",
                "--no-defaults",
                *places,
                *options,
                f"--socket=/tmp/{self.name}.socket",
            ],
        )
        return [
            ProcessSpec(
                name=self.name,
                component=self.name,
                node=self.node,
                argv=start,
                env=site.variables(self.name, self.node, site.bootstrap_for()),
                cwd=str(home),
                files=(PlannedFile(path=f"{home}/doors.sql", text=DOORS), order),
                on_exit=self.on_exit,
            )
        ]
