"""`streambed up` with real servers: one start for several tests, and ends that leave nothing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from confluent_kafka import Consumer, Producer

from streambed import artifacts
from streambed.kinds.components.kafka.cluster import KafkaCluster
from tests.support.pages import blocks, commands_in
from tests.support.running import ROOT, STREAMBED, children, streambed, wait_for

pytestmark = [pytest.mark.system, pytest.mark.together(45)]
READY_S = 120.0


@dataclass(frozen=True)
class Up:
    """A command that runs servers now."""

    process: subprocess.Popen[str]
    variables: dict[str, str]
    output: Path


def start(folder: Path, *words: str) -> Up:
    """Start servers and wait until the file of their variables is there."""
    env, output = folder / "up.env", folder / "output"
    with output.open("w") as out:
        process = subprocess.Popen(
            [*STREAMBED, "up", *words, "--env", str(env)],
            stdout=out,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def ready() -> bool:
        assert process.poll() is None, output.read_text()
        return "Ctrl-C ends them" in output.read_text()

    wait_for(ready, READY_S, "servers")
    lines = [line.removeprefix("export ").partition("=") for line in env.read_text().splitlines()]
    return Up(process, {key: value.strip("'") for key, _, value in lines}, output)


def folders() -> set[Path]:
    return set((artifacts.cache() / "up").glob("servers-*"))


@pytest.fixture(scope="module")
def servers(tmp_path_factory) -> Iterator[Up]:
    up = start(tmp_path_factory.mktemp("up"), "kafka", "postgresql", "redis", "--topic", "lines:3")
    yield up
    up.process.send_signal(signal.SIGTERM)
    assert up.process.wait(60) == 0
    assert "ended, data removed" in up.output.read_text()


def test_the_broker_takes_and_gives_records(servers):
    bootstrap = servers.variables["KAFKA_BOOTSTRAP"]
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce("lines", b"to be or not to be")
    assert producer.flush(20) == 0
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["lines"])
    record = wait_for(lambda: consumer.poll(0.5), 60, "the record")
    partitions = consumer.list_topics("lines").topics["lines"].partitions
    consumer.close()

    assert record.value() == b"to be or not to be"
    assert len(partitions) == 3


def test_the_state_of_a_cluster_has_its_partitions_and_groups(servers):
    """Follows the test above, whose consumer committed what it read."""
    state, *settings = KafkaCluster(servers.variables["KAFKA_BOOTSTRAP"]).state(
        "kafka", {1: "localhost"}, {"edge": "127.0.0.1"}
    )

    assert [part.partition for part in state.partitions if part.topic == "lines"] == [0, 1, 2]
    assert {part.leader for part in state.partitions} == {"localhost"}
    assert sum(part.end or 0 for part in state.partitions if part.topic == "lines") == 1
    committed = [group for group in state.groups if group.committed]
    assert [(group.group, group.topic, group.committed) for group in committed] == [
        ("g", "lines", 1)
    ]
    lines = [part for part in state.partitions if part.topic == "lines"]
    assert all((part.start, part.stable) == (0, part.end) for part in lines)
    of_lines = [event.settings for event in settings if event.topic == "lines"]
    assert of_lines[0]["min.insync.replicas"] == "1"


def test_the_database_answers_where_its_variable_says(servers):
    with psycopg.connect(servers.variables["POSTGRESQL_URL"]) as connection:
        connection.execute("create table words (word text)")
        connection.execute("insert into words values ('to'), ('be')")
        row = connection.execute("select count(*) from words").fetchone()

    assert row == (2,)


def test_setup_fetches_the_servers_that_the_readme_starts():
    (started,) = re.findall(r"`streambed up ([a-z ]+)`", (ROOT / "README.md").read_text())
    fetched = re.findall(r"^\S*streambed fetch (.*)$", (ROOT / "scripts/setup").read_text(), re.M)

    assert set(started.split()) <= set(fetched[0].split())


def test_every_port_is_on_the_loopback_only(servers):
    ports = {int(servers.variables[name]) for name in ("REDIS_PORT", "POSTGRESQL_PORT")}
    ports.add(int(servers.variables["KAFKA_BOOTSTRAP"].rpartition(":")[2]))
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    rows += [line.split() for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]]
    listening = [row[1].rpartition(":") for row in rows if row[3] == "0A"]
    addresses = [address for address, _, port in listening if int(port, 16) in ports]

    assert len(addresses) == 3
    # 127.0.0.1, as itself and as an IPv6 socket shows it.
    assert all(address.endswith("0100007F") for address in addresses)


def test_a_second_server_says_that_the_port_is_in_use(servers, tmp_path):
    port = servers.variables["REDIS_PORT"]
    second = streambed("up", "redis", "--port", f"redis={port}", cwd=tmp_path)

    assert second.returncode == 64
    assert f"--port redis={port}: port {port} is in use by redis-server (pid" in second.stderr


def test_the_first_commands_of_the_gateway_page_work(servers, tmp_path):
    """The block that follows `streambed up kafka`, with fewer homes and until the job begins."""
    [(_, text)] = blocks("docs/gateways.md", "first commands")
    lines = [command.line for command in commands_in(text)]
    assert lines[0] == "streambed up kafka"
    programs = Path(sys.executable).parent
    env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    serving: list[subprocess.Popen[bytes]] = []
    try:
        for line in lines[1:5]:
            line = line.replace("localhost:9092", servers.variables["KAFKA_BOOTSTRAP"])
            words = line.replace("--gateways 200", "--gateways 2").split()
            if words[1] == "serve":
                serving.append(subprocess.Popen(words, cwd=tmp_path, env=env))
                wait_for(lambda: answers(8080), 60, "the ingest server")
            else:
                subprocess.run(words, cwd=tmp_path, env=env, check=True, timeout=120)
    finally:
        for process in serving:
            process.terminate()
            process.wait(20)
    assert (tmp_path / "ledger.parquet").exists()


def answers(port: int) -> bool:
    rows = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return any(f":{port:04X}" in row.split()[1] and row.split()[3] == "0A" for row in rows)


def test_a_server_that_dies_is_reported_with_its_last_lines(tmp_path):
    up = start(tmp_path, "redis")
    [redis] = [pid for pid in descendants(up.process.pid) if is_program(pid, "redis-server")]
    os.kill(redis, signal.SIGKILL)

    assert up.process.wait(60) == 3
    output = up.output.read_text()
    assert "redis on localhost" in output and "Its last lines" in output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_ctrl_c_and_a_killed_parent_leave_nothing(tmp_path, number):
    before = folders()
    up = start(tmp_path, "redis")
    [folder] = folders() - before
    family = descendants(up.process.pid)
    assert any(is_program(pid, "redis-server") for pid in family)
    os.kill(up.process.pid, number)
    up.process.wait(60)

    wait_for(lambda: not folder.exists(), 60, "its folder to be removed")
    wait_for(lambda: not any(map(is_alive, family)), 60, "its processes to end")


def test_a_command_gets_the_variables_and_gives_the_status(tmp_path):
    script = "import os; print(os.environ['REDIS_URL']); raise SystemExit(7)"
    ended = streambed("up", "redis", "--", sys.executable, "-c", script, cwd=tmp_path)

    assert ended.returncode == 7, ended.stderr
    assert "redis://localhost:" in ended.stdout


def test_kept_data_are_there_again(tmp_path):
    from streambed import up

    keep = tmp_path / "kept"
    for expected in (None, b"world"):
        with up("redis", keep=keep) as servers:
            assert ask(servers.redis.port, b"GET hello") == expected
            ask(servers.redis.port, b"SET hello world")


def ask(port: int, command: bytes) -> bytes | None:
    import socket

    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.sendall(command + b"\r\n")
        time.sleep(0.1)
        lines = connection.recv(1000).split(b"\r\n")
    return None if lines[0] == b"$-1" else lines[-2]


def descendants(pid: int) -> list[int]:
    below = children(pid)
    return below + [other for child in below for other in descendants(child)]


def is_program(pid: int, name: str) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() == name
    except OSError:
        return False


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
