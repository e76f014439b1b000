"""One Cassandra on the loopback interface, as streambed's component starts it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streambed import artifacts
from streambed.artifacts.one_shot import free_ports, listens
from streambed.kinds.components.stores.cassandra import LOGGING, SMALL
from streambed.record import wait_until


class LoneCassandra:
    """A server that can be killed and started again with what it had."""

    def __init__(self, folder: Path) -> None:
        self.port, gossip = free_ports(2)
        self._folder = folder
        folder.mkdir()
        (folder / "cassandra.yaml").write_text(json.dumps(settings(folder, self.port, gossip)))
        (folder / "logback.xml").write_text(LOGGING)
        self.start()

    @property
    def address(self) -> str:
        """HOST:PORT."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Until it listens."""
        folder = self._folder
        options = [
            f"-Dcassandra.config=file://{folder}/cassandra.yaml",
            f"-Dlogback.configurationFile={folder}/logback.xml",
        ]
        command = [
            *artifacts.cassandra_command(artifacts.find_java()),
            "-Xmx256m",
            *options,
            f"-Dcassandra.storagedir={folder}",
        ]
        with (folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, artifacts.CASSANDRA_MAIN],
                stdout=log,
                stderr=log,
                cwd=folder,
                start_new_session=True,
            )
        started = wait_until(
            lambda: self._process.poll() is not None or listens(self.port), limit_s=300
        )
        if not started or self._process.poll() is not None:
            self.kill()
            raise AssertionError((folder / "log").read_text()[-2000:])

    def kill(self) -> None:
        """Without a word."""
        self._process.kill()
        self._process.wait()


@contextmanager
def lone_cassandra(folder: Path) -> Iterator[LoneCassandra]:
    """It dies with the block."""
    server = LoneCassandra(folder)
    try:
        yield server
    finally:
        server.kill()


def settings(folder: Path, port: int, gossip: int) -> dict[str, object]:
    """What cassandra.yaml says; JSON is YAML."""
    seeds = [{"seeds": f"127.0.0.1:{gossip}"}]
    return {
        **SMALL,
        "cluster_name": "tests",
        "num_tokens": 1,
        "listen_address": "127.0.0.1",
        "rpc_address": "127.0.0.1",
        "native_transport_port": port,
        "storage_port": gossip,
        "seed_provider": [
            {"class_name": "org.apache.cassandra.locator.SimpleSeedProvider", "parameters": seeds}
        ],
        "data_file_directories": [f"{folder}/tables"],
        **{
            f"{name}_directory": f"{folder}/{name}"
            for name in ("commitlog", "saved_caches", "hints", "cdc_raw")
        },
    }
