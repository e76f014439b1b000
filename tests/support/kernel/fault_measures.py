"""What faults and other routes do to packets; `box.py` calls it inside a box."""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from streambed import record
from streambed.net.network import Network
from streambed.net.tampering.disks import SmallDisk
from streambed.plan import Plan
from tests.support.kernel.link_measures import (
    ECHO_LIMIT_S,
    PORT,
    gaps,
    let_flow,
    mbit_per_s,
    round_trip_ms,
    serve_echo,
    settle,
    wire_of_a,
)


def cuts(net: Network) -> dict[str, Any]:
    """Whether b is asked, and a answered, while the wire of a is cut in one direction, in the
    other, in both, and when it is mended.
    """
    wire, ends = wire_of_a(net)
    count = serve_echo(net, "b")
    seen = {}
    for name, sources in {
        "whole": (),
        "from a": ("a",),
        "to a": ends[1:],
        "both": ends,
        "mended": (),
    }.items():
        wire.cut(sources)
        settle()
        before = count["asked"]
        answered = round_trip_ms(net, "a", "b", 0.2) is not None
        seen[name] = {"asked": count["asked"] > before, "answered": answered}
        wire.mend(sources)
        settle()
    return seen


def long_cut(net: Network) -> dict[str, Any]:
    """How a connection to b ends that begins during a cut, and the first round trip after it."""

    def connect() -> str:
        try:
            socket.create_connection(("b", PORT), 4).close()
        except OSError as error:
            return str(error)
        return "connected"

    wire, ends = wire_of_a(net)
    serve_echo(net, "b")
    wire.cut(ends)
    settle()
    ended = net.hosts["a"].call(connect)
    wire.mend(ends)
    settle()
    return {"ended": ended, "first_ms": round_trip_ms(net, "a", "b")}


def degraded(net: Network) -> dict[str, Any]:
    """Throughput and a round trip before, during and after the wire of a is made worse: a tenth of
    10 Mbit/s, 40 ms each way.
    """

    def look() -> dict[str, Any]:
        record.wait_until(
            lambda: False, limit_s=1
        )  # TCP learns of the change, and the queue of before runs dry.
        return {
            "mbit_per_s": mbit_per_s(net, 1.0),
            "round_trip_ms": round_trip_ms(net, "a", "b", 3.0),
        }

    wire, ends = wire_of_a(net)
    serve_echo(net, "b")
    let_flow(net)
    found = {"before": look()}
    heal = wire.degrade(ends, {"rate_bps": 1_000_000, "delay_ns": 40_000_000})
    found["during"] = look()
    heal()
    return found | {"after": look()}


def on_its_way(net: Network) -> dict[str, Any]:
    """Whether a datagram arrives that was on its way when its wire was cut."""
    wire, _ = wire_of_a(net)
    count = serve_echo(net, "b")
    with net.hosts["a"].call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as client:
        net.hosts["a"].call(lambda: client.sendto(b"?", ("b", PORT)))
    settle()
    before = count["asked"]
    wire.cut(("a",))
    settle()
    return {
        "before": before,
        "after": record.wait_until(lambda: count["asked"] > before, limit_s=ECHO_LIMIT_S),
    }


def killed_delay_line(net: Network) -> dict[str, Any]:
    """Whether a reaches b before and after the delay line is killed."""
    serve_echo(net, "b")
    before = round_trip_ms(net, "a", "b")
    assert net.delay_line
    net.delay_line.kill()
    net.delay_line.wait()
    return {"before": before is not None, "after": round_trip_ms(net, "a", "b", 0.3) is not None}


def walls(net: Network) -> dict[str, Any]:
    """Who reaches whom of h0, h1 and h2 before, during and after h0 and h1 are separated, twice at
    once; how long it took to begin.
    """

    def reached() -> list[str]:
        pairs = [(source, target) for source in hosts for target in hosts if source != target]
        return [
            f"{source}-{target}"
            for source, target in pairs
            if round_trip_ms(net, source, target, 0.2) is not None
        ]

    hosts = ("h0", "h1", "h2")
    for host in hosts:
        serve_echo(net, host)
    found: dict[str, Any] = {"before": reached()}
    start = time.perf_counter()
    heals = [net.deafen({"h0": ["h1"], "h1": ["h0"]}) for _ in range(2)]
    found |= {"begun_ms": (time.perf_counter() - start) * 1e3 / 2, "during": reached()}
    for name, heal in zip(("healed once", "after"), heals, strict=True):
        heal()
        found[name] = reached()
    return found


def deaf(net: Network) -> dict[str, Any]:
    """How many datagrams of each direction arrive while h0 hears nothing of h1."""
    counts = {host: serve_echo(net, host) for host in ("h0", "h1")}
    heal = net.deafen({"h0": ["h1"]})
    settle()
    before = {host: count["asked"] for host, count in counts.items()}
    round_trip_ms(net, "h0", "h1", 0.2)
    round_trip_ms(net, "h1", "h0", 0.2)
    heard = {host: count["asked"] - before[host] for host, count in counts.items()}
    heal()
    return {"heard": heard, "after": round_trip_ms(net, "h1", "h0", 0.5) is not None}


def jammed(net: Network) -> dict[str, Any]:
    """How many of five datagrams b has heard while the wire of a is jammed, and after it."""
    wire, ends = wire_of_a(net)
    count = serve_echo(net, "b")
    heal = wire.jam(ends)
    settle()
    with net.hosts["a"].call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as client:
        for _ in range(5):
            net.hosts["a"].call(lambda: client.sendto(b"?", ("b", PORT)))
        settle()
        during = count["asked"]
        start = time.perf_counter()
        heal()
        record.wait_until(lambda: count["asked"] == 5, limit_s=ECHO_LIMIT_S)
    return {
        "during": during,
        "after": count["asked"],
        "released_ms": (time.perf_counter() - start) * 1e3,
        "round_trip_ms": round_trip_ms(net, "a", "b"),
    }


def lossy(net: Network) -> dict[str, Any]:
    """What `gaps` sees while the wire of a loses one packet in fifty, although none is lost by the
    plan.
    """
    wire, ends = wire_of_a(net)
    wire.degrade(ends, {"loss": 0.02})
    return gaps(net)


def narrowed(net: Network) -> dict[str, Any]:
    """Throughput before, during and after the wire of a, which has no rate, is limited to 10
    Mbit/s.
    """

    def look() -> float:
        record.wait_until(lambda: False, limit_s=0.7)
        return mbit_per_s(net, 0.7)

    wire, ends = wire_of_a(net)
    let_flow(net)
    found = {"before": look()}
    heal = wire.degrade(ends, {"rate_bps": 10_000_000})
    found["during"] = look()
    heal()
    return found | {"after": look()}


def passed(net: Network, source: str = "a", target: str = "b") -> list[str]:
    """The switches that a datagram and its answer pass; none if it is not answered."""
    before = packets_at_switches(net)
    if round_trip_ms(net, source, target, 0.3) is None:
        return []
    return [
        switch for switch, packets in packets_at_switches(net).items() if packets > before[switch]
    ]


def packets_at_switches(net: Network) -> dict[str, int]:
    """How many packets each switch has received."""
    counts: Counter[str] = Counter({name: 0 for name in net.hosts if name.startswith("s")})
    for port, (_, _, received, _) in net.ports.by_name().items():
        if port.startswith("s"):
            counts[port.partition("/")[0]] += int(received)
    return dict(sorted(counts.items()))


def rerouted(net: Network, plan: Plan) -> dict[str, Any]:
    """The ways from a to b: whole, with the link of the first fault cut, when other routes hold,
    and some time after it is mended.
    """
    # Only here: the machine with netem lacks the libraries that it needs.
    from streambed.runner.rerouting import Rerouter

    events: list[dict[str, Any]] = []
    rerouter = Rerouter(plan, net, lambda event: events.append(asdict(event)), [])
    wire = net.wires[" – ".join(plan.declaration["faults"][0]["link"])]
    serve_echo(net, "b")
    found: dict[str, Any] = {"whole": passed(net)}
    wire.cut(wire.ends)
    settle()
    rerouter.look()
    found["cut"] = passed(net)
    record.wait_until(lambda: len(events) == 1, limit_s=5)
    found["rerouted"] = passed(net)
    wire.mend(wire.ends)
    rerouter.look()
    record.wait_until(lambda: len(events) == 2, limit_s=5)
    found["back"] = passed(net)
    rerouter.close()
    return found | {"events": events}


def spread(net: Network, connections: int = 100) -> dict[str, Any]:
    """How many packets each switch receives when a asks b from many ports."""
    serve_echo(net, "b")
    before = packets_at_switches(net)
    answered = sum(round_trip_ms(net, "a", "b") is not None for _ in range(connections))
    packets = {name: count - before[name] for name, count in packets_at_switches(net).items()}
    return {"asked": connections, "answered": answered, "packets": packets}


def filled_disk(net: Network, folder: Path) -> dict[str, Any]:
    """How a write inside a host ends before, during and after its disk is filled, and how long it
    takes; the files that are left below.
    """
    disk = SmallDisk(folder / "disk", 1 << 20)

    def write(name: str) -> dict[str, Any]:
        start = time.perf_counter()
        try:
            (folder / "disk" / name).write_bytes(bytes(8192))
            ended = "written"
        except OSError as error:
            ended = error.strerror or ""
        return {"ended": ended, "took_ms": (time.perf_counter() - start) * 1e3}

    found = {"before": net.hosts["a"].call(lambda: write("first"))}
    heals = [disk.fill(), disk.fill()]
    found["during"] = net.hosts["a"].call(lambda: write("second"))
    heals[0]()
    found["healed once"] = net.hosts["a"].call(lambda: write("second"))
    heals[1]()
    found["after"] = net.hosts["a"].call(lambda: write("third"))
    net.hosts["a"].call(lambda: (folder / "disk" / "second").unlink())
    disk.keep()
    return found


MEASURES: dict[str, Callable[..., dict[str, Any]]] = {
    function.__name__: function
    for function in (
        cuts,
        killed_delay_line,
        long_cut,
        degraded,
        on_its_way,
        walls,
        deaf,
        jammed,
        lossy,
        narrowed,
        spread,
    )
}
