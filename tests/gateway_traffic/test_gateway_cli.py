"""The command line of gateway_traffic, as far as it needs no server."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from gateway_traffic.cli import COMMANDS, main
from gateway_traffic.cli.servers import refuse_unreachable
from gateway_traffic.errors import ServiceError, UsageError
from streambed.artifacts.one_shot import free_ports


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


GatewayTraffic = Callable[..., Done]


@pytest.fixture
def gateway_traffic(monkeypatch, capsys) -> GatewayTraffic:
    def run(*words: str | Path) -> Done:
        monkeypatch.setattr("sys.argv", ["gateway-traffic", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return Done(int(ended.value.code or 0), *capsys.readouterr())

    return run


def test_a_line_about_a_file_with_a_long_path_is_one_line(gateway_traffic, tmp_path):
    """The demo waits for a line of this form: a wrapped one would not match."""
    file = tmp_path / ("d" * 100) / "day.parquet"
    file.parent.mkdir()

    made = gateway_traffic("trace", file, "--gateways", "2", "--days", "0.01")

    (line,) = made.stdout.splitlines()
    assert line.startswith(f"{file}: ") and line.endswith(" records of 2 gateways, seed 1")


def test_a_trace_is_made_and_its_answer_shown(gateway_traffic, tmp_path):
    made = gateway_traffic("trace", tmp_path / "day.parquet", "--gateways", "15", "--days", "0.1")
    assert made.returncode == 0, made.stderr
    assert "records of 15 gateways" in made.stdout
    shown = gateway_traffic("answer", tmp_path / "day.parquet")
    assert "Monday 2024-01-01" in shown.stdout
    assert "gw-0000" in shown.stdout


def test_help_tells_every_verb(gateway_traffic):
    told = gateway_traffic("--help").stdout
    assert [
        verb
        for verb in (
            "trace",
            "topics",
            "serve",
            "token",
            "send",
            "answer",
            "job",
            "top",
            "watch",
            "audit",
            "latency",
            "page",
            "run",
        )
        if verb not in told
    ] == []


def test_help_groups_the_commands(gateway_traffic):
    told = gateway_traffic("--help").stdout
    assert [heading for heading in COMMANDS if heading not in told] == []
    assert told.index("─ Traces") < told.index("│ answer") < told.index("─ Kafka and")


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["trace", "x.parquet", "--gateways", "0"], 64, "a trace needs a gateway"),
        (["send", "there_is_none.parquet"], 64, "cannot be read as a trace"),
        (["send", "{trace}", "--url", "ftp://somewhere"], 64, "looks like http://host:port"),
        (["send", "{trace}", "--share", "3/2"], 64, "a share is 1/1"),
        (
            ["serve", "--bootstrap", "", "--outstanding", "0"],
            64,
            "the limit outstanding_records must be above 0",
        ),
        (["serve", "--bootstrap", "", "--host", "192.0.2.1"], 3, "cannot listen on 192.0.2.1"),
        (["token", "gw-1", "--secret", "there_is_none"], 64, "the secret cannot be read"),
    ],
)
def test_a_mistake_is_one_clear_sentence(gateway_traffic, tmp_path, words, status, says):
    trace = tmp_path / "trace.parquet"
    if "{trace}" in words:
        gateway_traffic("trace", trace, "--gateways", "2", "--days", "0.01")
    done = gateway_traffic(*(word.replace("{trace}", str(trace)) for word in words))
    assert (done.returncode, done.stderr.count("\n")) == (status, 1), done.stderr
    assert says in done.stderr


def test_a_client_without_a_server_gives_up_in_time_and_its_ledger_says_so(
    gateway_traffic, tmp_path
):
    trace, ledger = tmp_path / "trace.parquet", tmp_path / "ledger.parquet"
    gateway_traffic("trace", trace, "--gateways", "2", "--days", "0.01")
    nobody = f"http://127.0.0.1:{free_ports(1)[0]}"
    done = gateway_traffic(
        "send",
        trace,
        "--url",
        nobody,
        "--speed-up",
        "0",
        "--records",
        "5",
        "--patience",
        "0.3",
        "--ledger",
        ledger,
    )
    assert done.returncode == 1, done.stderr
    entries = pl.read_parquet(ledger)
    assert (len(entries), entries["acked"].null_count()) == (5, 5)


def test_a_kafka_that_is_not_there_is_said_at_once():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ServiceError, match=f"no Kafka listens there .127.0.0.1:{port}: .*refused"):
        refuse_unreachable(f"127.0.0.1:{port}")


def test_one_address_of_kafka_that_answers_is_enough():
    with socket.create_server(("127.0.0.1", 0)) as server:
        refuse_unreachable(f"127.0.0.1:1,127.0.0.1:{server.getsockname()[1]}")


def test_an_address_of_kafka_without_a_port_is_refused():
    with pytest.raises(UsageError, match="'localhost' is not an address: write HOST:PORT"):
        refuse_unreachable("localhost")
