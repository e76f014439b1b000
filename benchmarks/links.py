"""How accurately links emulate their declared properties, compared with plain veth devices.

    scripts/bench links [--quick]

    rtt_error_ms_max       the largest |median round trip − 2 × delay − that of a plain veth|, over
                           one-way delays from 0.5 to 100 ms. The plain veth is measured after a
                           pause as long as the delay, because a CPU then wakes more slowly:
                           0.05 ms after 1 ms, 0.18 ms after 100 ms (plain_rtt_ms).
    tcp_ratio_10ms         what TCP carries over a link of 10 ms, ÷ over a plain veth
    rate_error_max         the largest deviation of TCP's throughput from 1448/1514 of the rate, the
                           share of payload in full frames
    loss_in_interval       1 if losses of 1 % and 10 % are within the 99.9 % interval, for datagrams
                           and for single TCP segments
    small_packets_lost     of 100,000 datagrams of 64 bytes a second, lost by the emulation; also
                           small_packets_reordered. Drops in the receiver's buffer count separately.

Root's delay line has real-time priority; `user` holds the same figures for an ordinary user
(nobody). The programs at the ends are always ordinary processes. Measurements with stolen CPU time
are repeated up to four times, and the calmest counts. It takes four to twelve minutes. The last
line is one JSON object. `--quick`: everything once and briefly, as the calling user only.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks._link_ends import MS, say

HERE = Path(__file__).resolve()
ENDS = HERE.with_name("_link_ends.py")
ORDINARY = HERE.parents[1] / "tests" / "support" / "ordinary.py"
NOBODY = 65534
TRIES, CALM_SHARE = 4, 0.01
"""Most tries, and the largest share of stolen CPU time in a measurement that is not repeated."""
DELAYS_MS = (0.5, 1, 5, 20, 50, 100)
RATES_MBIT = (1, 10, 100, 1000)
LOSSES = (0.01, 0.1)
CONTENT_SHARE = 1448 / 1514
LIMIT_S = 300
SMALL_BYTES, SMALL_PER_S, DELAY_OF_SMALL_MS = 64, 100_000, 1
WIDTH_OF_99_9 = 3.2905


class Extent:
    """How long and how often things are measured."""

    def __init__(self, quick: bool) -> None:
        self.rounds = 2 if quick else 40
        self.tcp_rounds, self.tcp_s = (1, 0.5) if quick else (3, 3.0)
        self.rate_s, self.rate_cut_s = (1.5, 0.5) if quick else (22.0, 2.0)
        self.datagrams, self.stream_s = (2_000, 0.5) if quick else (50_000, 10.0)
        self.small_s = 0.5 if quick else 5.0


class End:
    """A program on a host."""

    def __init__(self, net: Any, host: str, *words: object) -> None:
        argv = [sys.executable, "-I", "-S", str(ENDS), *map(str, words)]
        start = partial(
            subprocess.Popen, argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.process = net.hosts[host].call(start)

    def answer(self) -> dict[str, Any]:
        figures: dict[str, Any] = json.loads(self.process.stdout.readline())
        return figures

    def ask(self, line: object) -> dict[str, Any]:
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.answer()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@contextmanager
def at(net: Any, host: str, *words: object) -> Iterator[End]:
    end = End(net, host, *words)
    try:
        yield end
    finally:
        end.end()


# The measures, inside a box. A network has pairs of hosts, a0-b0, a1-b1 …, each pair with its link.


def round_trips(net: Any, extent: Extent) -> dict[str, Any]:
    """Measure all links in turn, each together with the plain one, so that other load on the
    machine affects both.
    """
    places = range(len(DELAYS_MS) + 1)
    servers = [End(net, f"b{place}", "echo") for place in places]
    for server in servers:
        server.answer()
    plain, *others = (End(net, f"a{place}", "ping", address(place, "b")) for place in places)
    times: list[list[tuple[float, float]]] = [[] for _ in DELAYS_MS]
    for _ in range(extent.rounds):
        for delay_ms, other, figures in zip(DELAYS_MS, others, times, strict=True):
            # Not counted: before it, this end paused for the delay of another link.
            plain.ask(delay_ms / 1e3)
            figures.append((plain.ask(delay_ms / 1e3)["ms"], other.ask(delay_ms / 1e3)["ms"]))
    for end in (*servers, plain, *others):
        end.end()
    plain_ms, other_ms = (
        [statistics.median(one[way] for one in figures) for figures in times] for way in (0, 1)
    )
    errors = [
        round(there - 2 * delay - near, 4)
        for delay, near, there in zip(DELAYS_MS, plain_ms, other_ms, strict=True)
    ]

    def by_delay(values: list[float]) -> dict[str, float]:
        pairs = zip(DELAYS_MS, values, strict=True)
        return {f"{delay:g} ms": value for delay, value in pairs}

    return {
        "rtt_error_ms_max": max(map(abs, errors)),
        "rtt_error_ms": by_delay(errors),
        "plain_rtt_ms": by_delay([round(near, 4) for near in plain_ms]),
    }


def tcp(net: Any, extent: Extent) -> dict[str, Any]:
    """Alternate the plain link and the one of 10 ms."""
    figures: list[list[float]] = [[], []]
    for _ in range(extent.tcp_rounds):
        for place in (0, 1):
            figures[place].append(stream(net, place, extent.tcp_s + 1, 1.0)["mbit_per_s"])
    plain, delayed = map(statistics.median, figures)
    return {
        "tcp_ratio_10ms": round(delayed / plain, 3),
        "tcp_gbit_per_s": {"plain": round(plain / 1e3, 2), "10 ms": round(delayed / 1e3, 2)},
    }


def stream(net: Any, place: int, seconds: float, cut_s: float) -> dict[str, Any]:
    with at(net, f"b{place}", "drink", cut_s, seconds) as reader:
        reader.answer()
        with at(net, f"a{place}", "pour", address(place, "b"), seconds) as writer:
            writer.answer()
            return reader.answer()


def rates(net: Any, extent: Extent) -> dict[str, Any]:
    """Measure the slow links at once and the fast one alone."""
    *slow, fast = range(len(RATES_MBIT))
    figures = [*filled(net, slow, extent), *filled(net, [fast], extent)]
    errors = {
        f"{rate} Mbit": round(mbit / (rate * CONTENT_SHARE) - 1, 4)
        for rate, mbit in zip(RATES_MBIT, figures, strict=True)
    }
    return {"rate_error_max": max(map(abs, errors.values())), "rate_error": errors}


def filled(net: Any, places: list[int], extent: Extent) -> list[float]:
    """TCP's throughput over some links at once. Reno fills them; BBR, the default of many machines,
    leaves one or two percent unused.
    """
    readers = [End(net, f"b{place}", "drink", extent.rate_cut_s, extent.rate_s) for place in places]
    for reader in readers:
        reader.answer()
    writers = [
        End(net, f"a{place}", "pour", address(place, "b"), extent.rate_s + 1, 1, "reno")
        for place in places
    ]
    figures = [reader.answer()["mbit_per_s"] for reader in readers]
    for end in (*readers, *writers):
        end.end()
    return figures


def loss(net: Any, extent: Extent) -> dict[str, Any]:
    """Measure datagrams, then segments of many streams at once, some of which always flow."""
    shares, inside = {}, []
    for place, share in enumerate(LOSSES):
        for name, (sent, lost) in {
            "udp": datagrams(net, place, extent),
            "tcp": streams(net, place, extent),
        }.items():
            width = WIDTH_OF_99_9 * (share * (1 - share) / sent) ** 0.5
            shares[f"{share:.0%} {name}"] = f"{lost / sent:.3%} of {sent}, interval ±{width:.3%}"
            inside.append(abs(lost / sent - share) <= width)
    return {"loss_in_interval": int(all(inside)), "loss": shares}


def datagrams(net: Any, place: int, extent: Extent) -> tuple[int, int]:
    with at(net, f"b{place}", "take_small", 1.0, 64) as reader:
        reader.answer()
        with at(
            net, f"a{place}", "send_small", address(place, "b"), 10_000, extent.datagrams, 64
        ) as writer:
            sent, got = writer.answer(), reader.answer()
    return sent["sent"], sent["sent"] - got["got"] - got["buffer_dropped"]


def streams(net: Any, place: int, extent: Extent, count: int = 20) -> tuple[int, int]:
    with at(net, f"b{place}", "drink", 0, extent.stream_s, count) as reader:
        reader.answer()
        with at(net, f"a{place}", "pour", address(place, "b"), extent.stream_s, count) as writer:
            went, came = writer.answer()["segments"], reader.answer()["segments"]
    return went, went - came


def small(net: Any, extent: Extent) -> dict[str, Any]:
    with at(net, "b0", "take_small", 1.0, SMALL_BYTES) as reader:
        reader.answer()
        with at(
            net,
            "a0",
            "send_small",
            address(0, "b"),
            SMALL_PER_S,
            int(extent.small_s * SMALL_PER_S),
            SMALL_BYTES,
        ) as writer:
            sent, got = writer.answer(), reader.answer()
    return {
        "small_packets_lost": sent["sent"] - got["got"] - got["buffer_dropped"],
        "small_packets_reordered": got["reordered"],
        "small_packets_per_s": round(sent["per_s"]),
        "small_packets_dropped_by_the_receiver": got["buffer_dropped"],
    }


MEASURES: dict[str, Callable[[Any, Extent], dict[str, Any]]] = {
    one.__name__: one for one in (round_trips, tcp, rates, loss, small)
}


def address(place: int, end: str) -> str:
    return f"10.0.{place}.{1 if end == 'a' else 2}"


def plan_of(name: str) -> Any:
    """The pairs of hosts that a measure needs."""
    from streambed.plan import Machine, Plan, PlannedLink, PlannedNode, Port, Route, Shape

    shapes = {
        "round_trips": [Shape(), *(Shape(delay_ns=int(delay * MS)) for delay in DELAYS_MS)],
        "tcp": [Shape(), Shape(delay_ns=10 * MS)],
        "rates": [Shape(delay_ns=MS, rate_bps=rate * 1_000_000) for rate in RATES_MBIT],
        "loss": [Shape(loss=share) for share in LOSSES],
        "small": [Shape(delay_ns=DELAY_OF_SMALL_MS * MS)],
    }[name]
    nodes, links = [], []
    for place, shape in enumerate(shapes):
        for here, there in ("ab", "ba"):
            route = Route(destination=f"{address(place, there)}/32", interface="eth0")
            nodes.append(
                PlannedNode(
                    name=f"{here}{place}",
                    switch=False,
                    address=address(place, here),
                    routes=(route,),
                )
            )
        ports = (
            Port(node=f"a{place}", interface="eth0", index=10),
            Port(node=f"b{place}", interface="eth0", index=10),
        )
        # Only one direction loses packets; the other one reports what arrived.
        back = Shape() if shape.loss else shape
        links.append(
            PlannedLink(
                name=f"a{place}-b{place}",
                ports=ports,
                shapes=(shape, back),
                emulated=shape != Shape(),
            )
        )
    limits = {"duration_ns": 0, "ready_limit_ns": 0, "drain_limit_ns": 0}
    machine = Machine(means="delay_line")
    return Plan(
        name=name,
        seed=7,
        directory="",
        machine=machine,
        nodes=tuple(nodes),
        links=tuple(links),
        processes=(),
        declaration={},
        **limits,
    )


def in_a_box(name: str, folder: str, quick: str, in_real_time: str) -> None:
    """Enter namespaces, build the network, measure, print JSON."""
    from streambed.net import box_entry, realtime

    if in_real_time == "True":
        realtime.claim()
    box_entry.enter_namespaces()
    if first := os.fork():
        realtime.give_up()
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]))
    box_entry.settle_as_first()
    realtime.keep()
    from streambed.net.network import network

    with network(plan_of(name), Path(folder)) as net:
        figures = MEASURES[name](net, Extent(quick == "True"))
        time.sleep(1.1)  # The gauge is written each second.
        gauges = net.delay_line_gauges()
        late_mean_ns = gauges[-1].late_mean_ns if gauges else 0
        say(figures | {"delay_line": net.delay_line_runs, "late_mean_us": late_mean_ns / 1e3})


def measured(quick: bool, as_user: bool) -> dict[str, Any]:
    """Take all measures, each in its own box."""
    # Imported late: it may start threads, and a process with threads cannot enter a box.
    from benchmarks._calm import calmest

    figures: dict[str, Any] = {}
    for name in MEASURES:
        one = calmest(
            lambda _, name=name: in_turn(name, quick, as_user),
            enough=CALM_SHARE,
            tries=1 if quick else TRIES,
        )
        line = json.dumps({**one.found, "stolen_share": one.stolen_share})
        print(f"{'as a user' if as_user else 'as root'}: {name}: {line}", flush=True)
        figures |= one.found
    return figures


def in_turn(name: str, quick: bool, as_user: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        argv = [sys.executable, "-m", "benchmarks.links", "box"]
        argv += [name, folder, str(quick), str(not as_user)]
        if as_user and os.geteuid() == 0:
            Path(folder).chmod(0o777)
            folders = [sys.base_prefix, str(HERE.parents[1])]
            argv = [sys.executable, str(ORDINARY), str(NOBODY), *folders, "--", *argv]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode:
        sys.exit(f"{name} could not be measured:\n{done.stderr}")
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main(words: list[str]) -> None:
    if words[:1] == ["box"]:
        return in_a_box(*words[1:])
    from benchmarks._arguments import parser  # Imported late: a box needs none.

    quick = parser(__doc__, quick="everything once and briefly").parse_args(words).quick
    if quick:
        print(json.dumps({"bench": "links", **measured(quick, as_user=os.geteuid() != 0)}))
        return
    user = measured(quick, as_user=True)
    figures = dict(user) if os.geteuid() else measured(quick, as_user=False)
    print(json.dumps({"bench": "links", **figures, "user": user}))


if __name__ == "__main__":
    main(sys.argv[1:])
