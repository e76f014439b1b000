"""`streambed up`: which servers, at which ports, and what is refused before anything starts."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from streambed.artifacts.one_shot import free_ports
from streambed.errors import UsageError
from streambed.plan import Machine
from streambed.planner.planner import plan_servers
from streambed.runner.up import life
from streambed.runner.up.choice import choose, kinds
from streambed.runner.up.ports import listener, ports_for, why_not_free
from streambed.runner.up.servers import Servers, server_of

EXPERIMENT = """
version: 1
name: three
duration: 5s
topology: {switches: [core], links: [{ends: [a, core]}, {ends: [b, core]}, {ends: [c, core]}]}
components:
  cluster:
    kind: kafka
    nodes: [a, b, c]
    topics: {lines: {partitions: 2, replicas: 3, config: {min.insync.replicas: 2}}}
  rows: {kind: postgresql, node: a, setup: [create table rows (n int)]}
  poet: {kind: producer, node: b, writes: lines, rate: 10/s}
"""


@pytest.fixture
def experiment(tmp_path):
    path = tmp_path / "three.yaml"
    path.write_text(EXPERIMENT)
    return str(path)


@pytest.fixture
def used_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def chosen(*what: str, **options):
    return choose(what, **{"ports": {}, "topics": {}, **options})


def commands(*what: str) -> dict[str, str]:
    """The command line and the files of each server, as one text."""
    experiment = chosen(*what).experiment
    machine = Machine(java="/java", java_version=17, python="python")
    plan = plan_servers(experiment, machine, base=Path("/"), directory=Path("/up"))
    assert plan.serves and plan.outside
    return {
        spec.component: " ".join([*spec.argv, *(file.text for file in spec.files)])
        for spec in plan.processes
    }


def test_every_server_with_one_host_runs_on_the_loopback():
    assert kinds() == ["kafka", "postgresql", "mariadb", "cassandra", "redis", "mongodb"]


@pytest.mark.parametrize(
    ("kind", "listens"),
    [
        ("kafka", "listeners=PLAINTEXT://localhost:"),
        ("redis", "--bind 127.0.0.1"),
        ("cassandra", '"rpc_address": "127.0.0.1"'),
    ],
)
def test_a_server_listens_on_the_loopback_address_only(kind, listens):
    command = commands(kind)[kind]

    assert listens in command
    assert "0.0.0.0" not in command


@pytest.mark.parametrize(
    ("kind", "key"),
    [("postgresql", "listen_addresses"), ("mariadb", "bind_address"), ("mongodb", "bind_ip")],
)
def test_a_store_gets_the_loopback_address(kind, key):
    store = chosen(kind).experiment.components[kind]

    assert store.settings[key] == "127.0.0.1"


def test_a_used_port_that_was_asked_for_is_refused_with_who_has_it(used_port):
    with pytest.raises(UsageError) as error:
        chosen("redis", ports={"redis": used_port})

    assert f"--port redis={used_port}: port {used_port} is in use by" in str(error.value)
    assert "pid" in str(error.value) and "Name another port" in str(error.value)


def test_a_used_usual_port_is_replaced_by_a_free_one(used_port):
    ports = ports_for("redis", (used_port,), asked=None, taken=set())

    assert ports != (used_port,)
    assert why_not_free(ports[0]) == ""


def test_two_servers_never_get_the_same_port():
    port, other = free_ports(2)
    taken: set[int] = set()
    first = ports_for("a", (other, port), asked=port, taken=taken)
    second = ports_for("b", (port,), asked=None, taken=taken)

    assert first[0] == port
    assert len({*first, *second}) == 3


def test_who_listens_is_named(used_port):
    assert "(pid " in listener(used_port)


def test_an_experiment_gives_its_servers_with_topics_and_setup(experiment):
    choice = chosen(experiment)

    cluster, rows = choice.experiment.components.values()
    assert cluster.nodes == ("localhost",)
    assert cluster.topics["lines"].partitions == 2
    assert cluster.topics["lines"].replicas == 1
    assert cluster.topics["lines"].config == {}
    assert rows.setup == ("create table rows (n int)",)
    assert choice.notes[0] == "cluster: one server instead of 3, and one replica of everything"
    assert "left out: poet, the network, faults and limits" in choice.notes


def test_setup_does_not_run_again_on_kept_data(experiment):
    choice = chosen(experiment, has_data=["rows"])

    assert choice.experiment.components["rows"].setup == ()


def test_topics_can_be_added():
    kafka = chosen("kafka", topics={"lines": 3}).experiment.components["kafka"]

    assert kafka.partitions == {"lines": 3}


@pytest.mark.parametrize(
    ("what", "options", "says"),
    [
        (["kafak"], {}, "'kafak' is no server. Did you mean 'kafka'?"),
        (["hdfs"], {}, "'hdfs' does not run on the loopback"),
        (["redis", "redis"], {}, "redis is asked for twice"),
        (["redis"], {"ports": {"kafka": 9092}}, "--port kafka: no such server is started"),
        (["redis"], {"topics": {"lines": 1}}, "--topic is for one kafka"),
        ([], {}, "name the servers to start"),
    ],
)
def test_impossible_values_are_refused(what, options, says):
    with pytest.raises(UsageError, match="^" + says.replace("?", r"\?")):
        chosen(*what, **options)


def test_servers_are_found_by_name_and_by_variable():
    components = chosen("kafka", "redis", ports={"kafka": 29092}).experiment.components
    by_name = {name: server_of(component, Path("/data")) for name, component in components.items()}
    servers = Servers(by_name=by_name, directory=Path("/up"))

    assert servers.kafka.bootstrap == "localhost:29092"
    assert servers.variables()["KAFKA_BOOTSTRAP"] == "localhost:29092"
    assert servers.variables()["REDIS_URL"] == servers.redis.url
    with pytest.raises(AttributeError, match="kafka has no 'bootstrp'"):
        _ = servers.kafka.bootstrp
    with pytest.raises(AttributeError, match="there is no server 'postgresql'"):
        _ = servers.postgresql


def test_data_are_not_kept_among_other_files(tmp_path):
    (tmp_path / "thesis.tex").write_text("...")

    with (
        pytest.raises(UsageError, match="other files are there"),
        life.running(["redis"], ports={}, topics={}, keep=tmp_path),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
