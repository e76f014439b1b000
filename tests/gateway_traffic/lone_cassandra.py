"""One Cassandra on the loopback interface, as streambed's component starts it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streambed import artifacts
from streambed.kinds.components.cassandra import LOGGING, SMALL
from streambed.lone_broker import free_ports, listens
from streambed.record import wait_until


@contextmanager
def lone_cassandra(folder: Path) -> Iterator[str]:
    """Gives HOST:PORT; the server dies with the block."""
    port, gossip = free_ports(2)
    folder.mkdir()
    settings = {
        **SMALL,
        "cluster_name": "tests",
        "num_tokens": 1,
        "listen_address": "127.0.0.1",
        "rpc_address": "127.0.0.1",
        "native_transport_port": port,
        "storage_port": gossip,
        "seed_provider": [
            {"class_name": "org.apache.cassandra.locator.SimpleSeedProvider", "parameters": [{"seeds": f"127.0.0.1:{gossip}"}]}
        ],
        "data_file_directories": [f"{folder}/tables"],
        **{f"{name}_directory": f"{folder}/{name}" for name in ("commitlog", "saved_caches", "hints", "cdc_raw")},
    }
    (folder / "cassandra.yaml").write_text(json.dumps(settings))
    (folder / "logback.xml").write_text(LOGGING)
    options = [f"-Dcassandra.config=file://{folder}/cassandra.yaml", f"-Dlogback.configurationFile={folder}/logback.xml"]
    command = [*artifacts.cassandra_command(artifacts.find_java()), "-Xmx192m", *options, f"-Dcassandra.storagedir={folder}"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, artifacts.CASSANDRA_MAIN], stdout=log, stderr=log, cwd=folder, start_new_session=True)
        try:
            started = wait_until(lambda: process.poll() is not None or listens(port), limit_s=90)
            assert started and process.poll() is None, (folder / "log").read_text()[-2000:]
            yield f"127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()
