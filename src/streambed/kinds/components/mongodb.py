"""MongoDB: a server of documents on a host, whose program must be on PATH."""

from __future__ import annotations

import socket
import struct
from pathlib import Path
from typing import Literal

from pydantic import Field

from streambed import artifacts
from streambed.kinds.components.component import Site
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.place import Placed
from streambed.kinds.components.store import OPEN_S, OnePort, Port, server_answers
from streambed.kinds.declaring import Name, Setting, declared, setting_text
from streambed.plan import OnExit, ProcessSpec
from streambed.stores.store import Address
from streambed.world import Missing, World

MESSAGE = 2013
HELLO = b"\x10hello\x00" + struct.pack("<i", 1) + b"\x02$db\x00" + struct.pack("<i", 6) + b"admin\x00"


@declared
class MongoDB(OnePort):
    """A `mongod` of the machine on `node`. No client of it comes with streambed: jobs and commands bring their own."""

    kind: Literal["mongodb"] = "mongodb"
    name: Name
    node: str = ""
    """The host."""
    place: Placed = None
    """How the host is chosen if `node` does not name it."""
    port: Port = 27017
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of mongod's options, without the hyphens in front."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "fail"

    def answers(self) -> dict[str, str]:
        """References to it."""
        return {**server_answers(self.node, self.port), "url": f"mongodb://{self.node}:{self.port}"}

    def store_address(self, data: Path) -> Address | None:
        """No client of it is known here."""
        return None

    def processes(self, site: Site) -> list[ProcessSpec]:
        """One server."""
        home = site.data(self.name)
        settings: dict[str, Setting] = {**self.settings, "bind_ip_all": True, "port": self.port, "dbpath": str(home)}
        options = [f"--{key}" if value is True else f"--{key}={setting_text(value)}" for key, value in settings.items()]
        return [
            ProcessSpec(
                name=self.name,
                component=self.name,
                node=self.node,
                argv=(str(artifacts.mongod()), *options),
                env=site.variables(self.name, self.node, site.bootstrap_for()),
                cwd=str(home),
                on_exit=self.on_exit,
            )
        ]

    def readiness(self, world: World) -> Missing:
        """Ready when it answers a hello."""

        def missing() -> str:
            try:
                return world.call(self.node, lambda: ask_hello(self.node, self.port))
            except OSError as error:
                return f"it does not answer: {error}"

        return missing


def ask_hello(host: str, port: int) -> str:
    """Say hello in MongoDB's protocol; what is wrong with the answer, empty if nothing is."""
    document = struct.pack("<i", 4 + len(HELLO) + 1) + HELLO + b"\x00"
    body = struct.pack("<i", 0) + b"\x00" + document
    with socket.create_connection((host, port), OPEN_S) as door:
        door.sendall(struct.pack("<4i", 16 + len(body), 1, 0, MESSAGE) + body)
        answer = door.recv(16, socket.MSG_WAITALL)
    if len(answer) < 16 or struct.unpack("<4i", answer)[2:] != (1, MESSAGE):
        return "its answer to a hello is not MongoDB's"
    return ""
