"""One Kafka broker on the loopback interface, without a run: for tests and benchmarks."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from streambed import artifacts
from streambed.artifacts.one_shot import free_ports, listens
from streambed.errors import WorldError
from streambed.record import wait_until

READY_LIMIT_S = 60.0
FORMATTED = (
    "version=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\nnode.id=1\ndirectory.id=AkU3OEVBNTcwNTJENDM2Qw\n"
)
LOGGING = """status = warn
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss.SSS} %p %c{1} %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""


@dataclass(frozen=True)
class LoneBroker:
    """A running broker."""

    bootstrap: str
    folder: Path
    pid: int

    def pause(self) -> None:
        """Stop the process: connections stay open, requests get no response."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused broker continue."""
        os.kill(self.pid, signal.SIGCONT)


@contextmanager
def lone_broker(
    folder: Path, *, flags: Sequence[str] = (), settings: Mapping[str, str] | None = None
) -> Iterator[LoneBroker]:
    """Start a broker with its log in `folder`/log; it is killed after the block.

    `flags` are added to Java's flags.
    """
    port, controller = free_ports(2)
    properties = write_properties(folder, port, controller, settings or {})
    java = artifacts.find_java()
    artifacts.jars("kafka")
    command = [
        *artifacts.kafka_command(java),
        *flags,
        f"-Dlog4j2.configurationFile={folder}/logging.properties",
    ]
    with (folder / "kafka.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "kafka.Kafka", str(properties)],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            answers = wait_until(
                lambda: process.poll() is not None or listens(port), limit_s=READY_LIMIT_S
            )
            if not answers or process.poll() is not None:
                raise WorldError(
                    f"the broker did not start within {READY_LIMIT_S:.0f} "
                    f"s:\n{(folder / 'kafka.log').read_text()[-2000:]}"
                )
            yield LoneBroker(f"127.0.0.1:{port}", folder, process.pid)
        finally:
            process.kill()
            process.wait()


def write_properties(folder: Path, port: int, controller: int, settings: Mapping[str, str]) -> Path:
    """All that a broker finds on its disk when it starts for the first time."""
    (folder / "log").mkdir(parents=True)
    shutil.copy(artifacts.kafka_checkpoint(), folder / "log" / "bootstrap.checkpoint")
    (folder / "log" / "meta.properties").write_text(FORMATTED)
    (folder / "logging.properties").write_text(LOGGING)
    wanted = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "log.dirs": f"{folder}/log",
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        "log.cleaner.dedupe.buffer.size": str(2 << 20),  # The default alone would fill the heap.
        "auto.create.topics.enable": "false",
        **settings,
    }
    properties = folder / "server.properties"
    properties.write_text("".join(f"{key}={value}\n" for key, value in wanted.items()))
    return properties
