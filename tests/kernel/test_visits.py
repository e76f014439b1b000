"""During a run its hosts can be entered, its ports reached and its packets kept; background
traffic holds its rate.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

import polars as pl
import pytest

from streambed import Run
from streambed.record import read_json
from tests.support.running import (
    ROOT,
    STREAMBED,
    end_now,
    family,
    lives,
    only_run,
    phases,
    start,
    streambed,
    wait_for,
)

pytestmark = pytest.mark.kernel

LOAD_S = 15
RATE_BYTES_PER_S = 1_000_000
PAGE = "the page of b"
NOBODY = 65534
EXPERIMENT = """
version: 1
name: visits
duration: {load_s}s
topology:
  switches: [core]
  links:
    - {{ends: [a, core], delay: 5ms}}
    - {{ends: [core, b], rate: 100Mbit}}
    - {{ends: [core, idle]}}
capture: {{snap: 128B}}
expose: {{{port}: "b:8000"}}
components:
  web:  {{kind: command, node: b, argv: [python3, -m, http.server, "8000", --bind, 127.0.0.1],
         cwd: pages, ready: {{log: Serving HTTP}}}}
  hum:  {{kind: traffic, sources: a, to: b, rate: 8Mbit}}
  dice: {{kind: traffic, sources: [a, b], to: [a, b], rate: 4Mbit,
         pattern: poisson, flows: 2, size: 500B}}
  bulk: {{kind: traffic, sources: b, to: a, pattern: tcp, after: 1s, lasts: 2s}}
"""


@dataclass(frozen=True, kw_only=True)
class Packet:
    """One packet of a pcap file, read as its specification says."""

    time_ns: int
    length: int
    captured: bytes

    @property
    def is_hum(self) -> bool:
        """UDP over IP over Ethernet, to the second component's port."""
        return (
            self.captured[12:14] == b"\x08\x00"
            and self.captured[23] == 17
            and struct.unpack_from("!H", self.captured, 36)[0] == 20_001
        )


def read_pcap(path: Path) -> Iterator[Packet]:
    content = path.read_bytes()
    magic, major, minor, _, _, snap, kind = struct.unpack_from("=IHHiIII", content)
    assert (magic, major, minor, snap, kind) == (0xA1B23C4D, 2, 4, 128, 1)
    at = 24
    while at < len(content):
        seconds, nanoseconds, captured, length = struct.unpack_from("=IIII", content, at)
        yield Packet(
            time_ns=seconds * 10**9 + nanoseconds,
            length=length,
            captured=content[at + 16 : at + 16 + captured],
        )
        at += 16 + captured
    assert at == len(content)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


def begin(folder: Path, port: int, load_s: int) -> tuple[Path, subprocess.Popen[str]]:
    (folder / "pages").mkdir()
    (folder / "pages" / "index.html").write_text(PAGE)
    (folder / "experiment.yaml").write_text(EXPERIMENT.format(port=port, load_s=load_s))
    launcher = start(folder / "experiment.yaml", folder / "runs")
    directory = wait_for(lambda: only_run(folder / "runs"), 20, "the run's folder")
    wait_for(lambda: "load" in phases(directory), 20, "load")
    return directory, launcher


@pytest.fixture(scope="module")
def visited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, dict[str, object], str]:
    """A run, what visitors saw meanwhile, and what it said."""
    folder, port = tmp_path_factory.mktemp("visits"), free_port()
    directory, launcher = begin(folder, port, LOAD_S)

    def shell(*words: str) -> tuple[int, str]:
        done = streambed("shell", *words, cwd=folder)
        return done.returncode, done.stdout + done.stderr

    visits = {
        "host": (
            "a",
            "--",
            "sh",
            "-c",
            "touch /tmp/mine; ls /tmp/mine; hostname; getent hosts b; exit 7",
        ),
        "switch": ("visits", "core", "cat", "/proc/net/dev"),
        "wrong": ("latest", "bb"),
    }
    try:
        saw: dict[str, object] = {
            "page": urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).read().decode()
        }
        with ThreadPoolExecutor() as visitors:
            saw |= dict(
                zip(visits, visitors.map(lambda words: shell(*words), visits.values()), strict=True)
            )
        output, _ = launcher.communicate(timeout=30)
    finally:
        end_now(launcher)
    assert launcher.returncode == 0, output
    saw["after"] = shell("visits", "a", "true")
    return Run(directory), saw, output


def counted(run: Run, process: str, metric: str) -> float:
    found = run.samples().filter(
        (pl.col("metric") == f"traffic_{metric}") & (pl.col("of") == process)
    )
    return float(found["value"].max() or 0)


def test_traffic_is_sent_at_its_rate_and_arrives(visited):
    run, _, _ = visited

    assert (
        counted(run, "hum/a", "sent_bytes") + 1000 * counted(run, "hum/a", "missed_packets")
        == LOAD_S * RATE_BYTES_PER_S
    )
    assert counted(run, "hum/b", "received_packets") == counted(run, "hum/a", "sent_packets") > 0


def test_random_traffic_goes_both_ways_at_its_rate(visited):
    run, _, _ = visited
    expected = LOAD_S * RATE_BYTES_PER_S / 2

    for node in "ab":
        assert 0.8 * expected < counted(run, f"dice/{node}", "sent_bytes") < 1.2 * expected


def test_tcp_traffic_takes_what_the_link_carries_for_as_long_as_it_lasts(visited):
    run, _, _ = visited
    received_mbit = counted(run, "bulk/a", "received_bytes") * 8 / 1e6

    assert 60 < received_mbit < 2 * 100 * 1.1


def test_a_host_is_entered_with_its_names_and_its_tmp(visited):
    _, saw, _ = visited
    status, output = saw["host"]

    assert (status, output.split()) == (7, ["/tmp/mine", "a", "10.0.0.2", "b", "b.streambed"])
    assert not Path("/tmp/mine").exists()


def test_a_switch_is_entered_too(visited):
    status, output = visited[1]["switch"]

    assert status == 0
    assert {"eth0:", "eth1:", "eth2:"} < set(output.split())


def test_a_host_that_is_not_there_is_said_with_what_may_be_meant(visited):
    status, output = visited[1]["wrong"]

    assert status == 64
    assert "has no host 'bb'. Did you mean 'b'?" in output


def test_a_run_that_has_ended_cannot_be_entered(visited):
    status, output = visited[1]["after"]

    assert status == 64
    assert "does not run, it is finished: hosts are there only while a run lasts" in output


def test_a_port_that_listens_on_its_hosts_loopback_only_is_reached_on_ours(visited):
    _, saw, output = visited

    assert saw["page"] == PAGE
    assert "b:8000 is on http://localhost:" in output


def test_every_link_has_its_packets_kept_with_their_times(visited):
    run, _, _ = visited
    sent = counted(run, "hum/a", "sent_packets")
    first, second = (
        [packet for packet in read_pcap(run.directory / "captures" / name) if packet.is_hum]
        for name in ("a+core.pcap", "core+b.pcap")
    )

    assert len(first) == len(second) == sent
    assert {packet.length for packet in first} == {1000 + 14}
    assert all(before.time_ns <= after.time_ns for before, after in pairwise(first))
    assert (
        4.5e6
        < median(there.time_ns - here.time_ns for here, there in zip(first, second, strict=True))
        < 20e6
    )


def test_ctrl_c_leaves_no_port_and_no_process_and_a_file_that_can_be_read(tmp_path):
    port = free_port()
    directory, launcher = begin(tmp_path, port, load_s=60)
    wait_for(
        lambda: read_json(directory / "gauges" / "hum.b.json").get("received_packets"), 5, "packets"
    )
    everybody = list(family(launcher.pid))
    with socket.create_connection(("127.0.0.1", port), 5):  # A visitor who stays.
        os.killpg(launcher.pid, signal.SIGINT)
        output, _ = launcher.communicate(timeout=20)

    assert launcher.returncode == 3, output
    assert "Traceback" not in output + (directory / "logs" / "box.log").read_text()
    assert not any(lives(pid) for pid in everybody)
    assert list(read_pcap(directory / "captures" / "core+b.pcap"))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 1)


def test_a_port_that_is_taken_is_said_and_nothing_is_left(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        (tmp_path / "pages").mkdir()
        (tmp_path / "experiment.yaml").write_text(
            EXPERIMENT.format(port=taken.getsockname()[1], load_s=1)
        )
        done = streambed("run", "experiment.yaml", cwd=tmp_path)

    assert done.returncode == 3
    assert "b:8000 cannot be exposed on port" in done.stderr
    assert "another program listens there: end it, or expose another port" in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder of the ordinary user's; not tmp_path, into which other users may not look."""
    with tempfile.TemporaryDirectory(prefix="ordinary-") as name:
        folder = Path(name)
        (folder / "pages").mkdir()
        (folder / "pages" / "index.html").write_text(PAGE)
        (folder / "experiment.yaml").write_text(EXPERIMENT.format(port=free_port(), load_s=20))
        if os.getuid() == 0:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
        yield folder


def as_ordinary_user(*words: str, home: Path) -> subprocess.Popen[str]:
    program = [*STREAMBED, *words]
    if os.getuid() == 0:
        needed = [str(ROOT), sys.prefix, sys.base_prefix]
        program = [
            sys.executable,
            str(ROOT / "tests" / "support" / "ordinary.py"),
            str(NOBODY),
            *needed,
            "--",
            *program,
        ]
    environment = {**os.environ, "HOME": str(home), "STREAMBED_CACHE": str(home / "cache")}
    return subprocess.Popen(
        program,
        cwd=home,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def test_an_ordinary_user_enters_hosts_reaches_ports_and_keeps_packets_too(home):
    launcher = as_ordinary_user("run", "experiment.yaml", "--no-report", home=home)
    try:
        directory = wait_for(
            lambda: launcher.poll() is None and only_run(home / "runs"), 20, "the run's folder"
        )
        wait_for(
            lambda: read_json(directory / "gauges" / "hum.b.json").get("received_packets"),
            20,
            "packets",
        )
        look = ("sh", "-c", "touch /tmp/mine; hostname; getent hosts b; exit 7")
        visitors = [
            as_ordinary_user("shell", host, *look, home=home) for host in ("a", "idle")
        ]  # Nothing has run on the second yet.
        output = [visitor.communicate(timeout=20)[0].split() for visitor in visitors]
        port = next(iter(Run(directory).plan.exposures)).port
        page = urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).read().decode()
        os.killpg(launcher.pid, signal.SIGINT)
        launcher.communicate(timeout=20)
    finally:
        end_now(launcher)

    assert [visitor.returncode for visitor in visitors] == [7, 7]
    assert output == [
        ["a", "10.0.0.2", "b", "b.streambed"],
        ["idle", "10.0.0.2", "b", "b.streambed"],
    ]
    assert page == PAGE and not Path("/tmp/mine").exists()
    assert list(read_pcap(directory / "captures" / "core+b.pcap"))
