"""The command line of gateway_traffic, as far as it needs no server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from gateway_traffic.cli import main
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
    kept = pl.read_parquet(ledger)
    assert (len(kept), kept["acked"].null_count()) == (5, 5)
