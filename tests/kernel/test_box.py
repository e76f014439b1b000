"""The box and the hosts in it: what they see, who may make them, what they leave behind."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest

from streambed.net import machine
from streambed.plan import Shape
from tests.support.kernel.boxes import SOURCE, Measure, run_box
from tests.support.small_plans import MS, pairs_of_switch_and_host, star, wide

pytestmark = pytest.mark.kernel

DELAY = Shape(delay_ns=10 * MS)
NOBODY = 65534


def test_a_host_has_its_own_name_names_tmp_and_interfaces(measure: Measure, tmp_path: Path) -> None:
    measured = measure(star(DELAY), "surroundings")

    assert measured["hostname"] == "a"
    assert measured["names"] == ["localhost", "a", "switch1", "b"]
    assert measured["interfaces"] == ["eth0", "lo"]
    assert set(measured["tmp"]) <= {
        "mine",
        *tmp_path.parts,
    }  # The run's folder stays visible if it is in /tmp.
    assert not Path("/tmp/mine").exists()


def test_the_machine_itself_sees_nothing_of_a_box(measure: Measure) -> None:
    before = socket.if_nameindex(), Path("/proc/self/mountinfo").read_text()

    measure(star(DELAY), "built")

    assert (socket.if_nameindex(), Path("/proc/self/mountinfo").read_text()) == before


def test_a_row_of_switches_is_built(measure: Measure) -> None:
    assert measure(pairs_of_switch_and_host(5), "built")["hosts"] == 10


def test_the_ports_of_a_switch_are_read_however_many_there_are(measure: Measure) -> None:
    assert measure(wide(100), "built") == {"hosts": 101, "ports": 200}


def test_both_ends_of_a_link_count_the_same_and_only_hosts_in_use_have_threads(
    measure: Measure,
) -> None:
    measured = measure(pairs_of_switch_and_host(60), "counted")

    assert measured["said"] == measured["own"]
    assert measured["said"]["h0/eth0"][2:] == [1, 1] == measured["said"]["h1/eth0"][2:]
    assert measured["threads"] == ["host h0", "host h1"]


def test_an_ordinary_user_gets_the_same_network() -> None:
    user = NOBODY if os.geteuid() == 0 else os.geteuid()
    interpreter = _interpreter_for(user)
    path = os.pathsep.join((SOURCE, sysconfig.get_path("purelib")))
    folder = Path(tempfile.mkdtemp())  # Not tmp_path: other users may not look into it.
    os.chown(folder, user, -1)
    try:
        measured = run_box(
            star(DELAY), "round_trips", folder, interpreter=interpreter, path=path, user=user
        )
    finally:
        shutil.rmtree(folder)

    assert 19 < measured["median_ms"] < 25


def _interpreter_for(user: int) -> str:
    """An interpreter that this user may run; the test is skipped if there is none."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for interpreter in (sys.executable, f"/usr/bin/{version}"):
        try:
            subprocess.run(
                [interpreter, "-c", ""], cwd="/", check=True, capture_output=True, user=user
            )
        except (OSError, subprocess.CalledProcessError):
            continue
        return interpreter
    pytest.skip(f"user {user} may not run {sys.executable}, and there is no {version} in /usr/bin")


def test_this_machine_is_examined_without_harm() -> None:
    examined = machine.examine()

    assert examined.namespaces and examined.cores and examined.kernel
    assert examined.means in ("netem", "delay_line")
