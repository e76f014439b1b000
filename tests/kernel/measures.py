"""What is measured in a small network; `box.py` calls it inside a box."""

from __future__ import annotations

import math
import os
import socket
import statistics
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import packet_measures
from streams import STREAMS

from streambed import plan as plans
from streambed import record
from streambed.net.network import Network, network
from streambed.net.ports import METRICS
from streambed.net.wires import Wire
from streambed.plan import Plan
from streambed.runner.cgroups import caps, hierarchies

PORT = 7777
ECHO_LIMIT_S = 1.0
ETHERTYPE_IP = 0x0800


def serve_echo(net: Network, node: str) -> Counter[str]:
    """Answer datagrams on a host for as long as the box lasts, and count them."""

    def serve() -> None:
        while True:
            asked, client = server.recvfrom(2048)
            count["asked"] += 1
            server.sendto(asked, client)

    count: Counter[str] = Counter()
    server = net.hosts[node].call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    server.bind(("", PORT))
    threading.Thread(target=serve, daemon=True).start()
    return count


def round_trip_ms(
    net: Network, source: str, target: str, limit_s: float = ECHO_LIMIT_S
) -> float | None:
    """The time of one datagram there and back by name; None if it did not come back."""

    def ask() -> float | None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(limit_s)
            start = time.perf_counter()
            try:
                client.sendto(b"?", (target, PORT))
                client.recvfrom(2048)
            except OSError:
                return None
            return (time.perf_counter() - start) * 1e3

    return net.hosts[source].call(ask)


def round_trips(net: Network, count: int = 40) -> dict[str, Any]:
    """Round trips from the first host to the last."""
    source, *_, target = [
        name for name, host in net.hosts.items() if not host.name.startswith("switch")
    ]
    serve_echo(net, target)
    round_trip_ms(net, source, target)  # Neighbours learn of each other by the first.
    times = [found for _ in range(count) if (found := round_trip_ms(net, source, target))]
    quarter, median, three_quarters = statistics.quantiles(times)
    return {"least_ms": min(times), "median_ms": median, "middle_half_ms": three_quarters - quarter}


def throughput(net: Network, seconds: float = 3.0) -> dict[str, Any]:
    """What TCP brings from a to b, counted at the port of b: a reader would wait in vain now and
    then while TCP repairs a loss.
    """
    _let_flow(net)
    record.wait_until(lambda: False, limit_s=0.5)  # TCP's slow start.
    return {"mbit_per_s": _mbit_per_s(net, seconds)}


def loaded_round_trips(net: Network, count: int = 15) -> dict[str, Any]:
    """Round trips from a to b while TCP fills that way."""
    serve_echo(net, "b")
    _let_flow(net)
    record.wait_until(lambda: False, limit_s=2)  # TCP's slow start, and what it overshoots.
    times = [found for _ in range(count) if (found := round_trip_ms(net, "a", "b"))]
    return {"median_ms": statistics.median(times), "mbit_per_s": _mbit_per_s(net, 1.0)}


def _let_flow(net: Network) -> None:
    """Fill the way from a to b for as long as the box lasts."""
    server = net.hosts["b"].call(lambda: socket.create_server(("", PORT)))
    client = net.hosts["a"].call(lambda: socket.create_connection(("b", PORT), 5))
    channel, _ = server.accept()
    for act in (_pour, _drink):
        threading.Thread(
            target=act, args=(client if act is _pour else channel,), daemon=True
        ).start()


def _mbit_per_s(net: Network, seconds: float) -> float:
    start, before = time.monotonic(), _bytes_at(net, "b/eth0")
    record.wait_until(lambda: False, limit_s=seconds)
    return (_bytes_at(net, "b/eth0") - before) * 8 / (time.monotonic() - start) / 1e6


def _pour(client: socket.socket) -> None:
    with suppress(OSError):  # The box goes while this still pours.
        while True:
            client.sendall(bytes(65536))


def _drink(channel: socket.socket) -> None:
    while channel.recv(65536):
        pass


def _bytes_at(net: Network, port: str) -> int:
    return int(net.ports.read()[len(METRICS) * net.ports.names.index(port)])


def loss(net: Network, count: int = 2000) -> dict[str, Any]:
    """How many of `count` datagrams from a arrive at b."""
    server, client = (
        net.hosts[name].call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        for name in "ba"
    )
    server.bind(("", PORT))
    net.hosts["a"].call(lambda: client.connect(("b", PORT)))
    arrived = 0
    for _ in range(
        count // 50
    ):  # What waits to be read is bounded: a full buffer would lose packets too.
        for _ in range(50):
            client.send(b"?")
        arrived += _received(server, 0.005)
    return {"sent": count, "arrived": arrived + _received(server, 0.5)}


def _received(server: socket.socket, patience_s: float) -> int:
    """How many datagrams come until none comes for so long."""
    server.settimeout(patience_s)
    count = 0
    with suppress(TimeoutError):
        while server.recv(64):
            count += 1
    return count


def segments(net: Network) -> dict[str, Any]:
    """How many packets the delay line lets go, or drops, for one megabyte of TCP."""
    server = net.hosts["b"].call(lambda: socket.create_server(("", PORT)))
    client = net.hosts["a"].call(lambda: socket.create_connection(("b", PORT), 5))
    channel, _ = server.accept()
    threading.Thread(target=client.sendall, args=(bytes(1_000_000),), daemon=True).start()
    left = 1_000_000
    while left:
        left -= len(channel.recv(left))
    before = net.delay_line_gauges()
    record.wait_until(lambda: net.delay_line_gauges() != before, limit_s=3)
    return net.delay_line_gauges()[-1]


def wire_of_a(net: Network) -> tuple[Wire, tuple[str, ...]]:
    """The wire of a, and the names of its ends."""
    (wire,) = [
        wire for wire in net.wires.values() if "a" in {port.node for port in wire.link.ports}
    ]
    return wire, tuple(port.node for port in wire.link.ports)


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
            "mbit_per_s": _mbit_per_s(net, 1.0),
            "round_trip_ms": round_trip_ms(net, "a", "b", 3.0),
        }

    wire, ends = wire_of_a(net)
    serve_echo(net, "b")
    _let_flow(net)
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


def gaps(net: Network, size: int = 1_000_000) -> dict[str, Any]:
    """How many segments TCP missed at a time on the way to b, as seen at the port of b: {how many
    in a row: how often}.
    """
    server = net.hosts["b"].call(lambda: socket.create_server(("", PORT)))
    server.setsockopt(
        socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16
    )  # No more on its way than `watch` can hold.
    watch = net.hosts["b"].call(
        lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETHERTYPE_IP))
    )
    watch.settimeout(ECHO_LIMIT_S)
    client = net.hosts["a"].call(lambda: socket.create_connection(("b", PORT), 5))
    channel, _ = server.accept()
    threading.Thread(target=client.sendall, args=(bytes(size),), daemon=True).start()
    threading.Thread(target=_drink, args=(channel,), daemon=True).start()
    longest = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
    missed: Counter[int] = Counter()
    reached = 0
    for start, end in _segments_seen(watch):
        if start > reached:
            missed[math.ceil((start - reached) / longest)] += (
                1  # A segment at the end of a window may be short.
            )
        reached = max(reached, end)
    return {"missed": missed}


def _segments_seen(watch: socket.socket) -> Iterator[tuple[int, int]]:
    """Where each segment with content begins and ends in the stream, until nothing comes any
    more.
    """
    first = None
    with suppress(TimeoutError):
        while True:
            packet, (_, _, kind, *_) = watch.recvfrom(128)
            if kind == socket.PACKET_OUTGOING:
                continue
            total_bytes, head_bytes = (
                struct.unpack_from("!H", packet, 2)[0],
                20 + (packet[32] >> 4) * 4,
            )
            sequence = struct.unpack_from("!I", packet, 24)[0]
            first = (
                first or sequence + 1
            )  # The connection's first packet has no content, but counts as one byte.
            start = (sequence - first) % (1 << 32)
            if total_bytes > head_bytes:
                yield start, start + total_bytes - head_bytes


def settle() -> None:
    """An order to the delay line takes a moment to arrive."""
    record.wait_until(lambda: False, limit_s=0.05)


def killed_delay_line(net: Network) -> dict[str, Any]:
    """Whether a reaches b before and after the delay line is killed."""
    serve_echo(net, "b")
    before = round_trip_ms(net, "a", "b")
    assert net.delay_line
    net.delay_line.kill()
    net.delay_line.wait()
    return {"before": before is not None, "after": round_trip_ms(net, "a", "b", 0.3) is not None}


def surroundings(net: Network) -> dict[str, Any]:
    """What a program on a host sees: names, its /tmp, its interfaces."""

    def look() -> dict[str, Any]:
        Path("/tmp/mine").touch()
        names = [line.split()[1] for line in Path("/etc/hosts").read_text().splitlines()]
        interfaces = sorted(name for _, name in socket.if_nameindex())
        return {
            "hostname": socket.gethostname(),
            "names": names,
            "tmp": sorted(os.listdir("/tmp")),
            "interfaces": interfaces,
        }

    return net.hosts["a"].call(look)


def built(net: Network) -> dict[str, Any]:
    """Nothing but that it could be built, and its ports be read."""
    return {"hosts": len(net.hosts), "ports": len(net.ports.by_name())}


def counted(net: Network) -> dict[str, Any]:
    """What the ports are said to have carried after a round trip, and what the host at each of them
    itself counts; idle hosts' threads.
    """
    serve_echo(net, "h1")
    round_trip_ms(net, "h0", "h1")
    ports = {"h0", "h1", "switch0", "switch1"}
    said = dict(
        zip(
            net.ports.names, zip(*[iter(net.ports.read())] * len(METRICS), strict=True), strict=True
        )
    )
    own = {
        f"{name}/{row[0].rstrip(':')}": (int(row[1]), int(row[9]), int(row[2]), int(row[10]))
        for name in ports
        for row in map(str.split, net.hosts[name].counters().decode().splitlines()[2:])
        if row[0] != "lo:"
    }
    threads = [thread.name for thread in threading.enumerate() if thread.name.startswith("host ")]
    return {"said": {port: said[port] for port in own}, "own": own, "threads": sorted(threads)}


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
    heals = [net.separate([["h0"], ["h1"]]) for _ in range(2)]
    found |= {"begun_ms": (time.perf_counter() - start) * 1e3 / 2, "during": reached()}
    for name, heal in zip(("healed once", "after"), heals, strict=True):
        heal()
        found[name] = reached()
    return found


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
        return _mbit_per_s(net, 0.7)

    wire, ends = wire_of_a(net)
    _let_flow(net)
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


def calibration(net: Network, **declaration: str) -> dict[str, Any]:
    """What calibration records of every way."""
    from streambed.record.events import Calibrated, Event
    from streambed.runner.calibration.calibration import (
        calibrate,
    )  # Only here: the machine with netem lacks the libraries that it needs.

    ways: list[dict[str, Any]] = []

    def keep(event: Event) -> None:
        if isinstance(event, Calibrated):
            ways.extend(map(asdict, event.ways))

    plan = replace(
        plans.read(Path(sys.argv[1])), declaration=declaration
    )  # What this box was started with.
    world = SimpleNamespace(plan=plan, network=net, record=keep)
    world.watch_network = lambda: None
    world.rest_until = lambda time_ns: record.wait_until(
        lambda: record.now_ns() >= time_ns, limit_s=5
    )
    calibrate(world)  # type: ignore[arg-type]
    return {"ways": ways}


def calibration_of_a_wrong_link(net: Network) -> dict[str, Any]:
    """The same while the wire of a takes 15 ms, whatever the plan says."""
    wire, ends = wire_of_a(net)
    wire.degrade(ends, {"delay_ns": 15_000_000})
    return calibration(net)


def calibration_of_rates(net: Network) -> dict[str, Any]:
    """The same with rates."""
    return calibration(net, calibrate="rate")


def capped_by_v2(net: Network) -> dict[str, Any]:
    """What becomes of a process that needs more memory than its group has, at the top of cgroup v2
    and in a delegated group of our own.
    """
    top = Path("/sys/fs/cgroup")
    found = {"top": _capped(hierarchies.find())}
    (top / "cgroup.subtree_control").write_text("+cpu +memory")
    (top / "scope").mkdir()
    (top / "scope" / "cgroup.procs").write_text(str(os.getpid()))
    found["scope"] = _capped(hierarchies.find())
    found["left"] = {
        "folders": sorted(path.name for path in top.rglob("streambed-*")),
        "own": Path("/proc/self/cgroup").read_text().strip(),
    }
    return found


def _capped(folders: dict[Any, str]) -> dict[str, Any]:
    allowed = plans.Allowance(cpu=0.25, memory_bytes=32 << 20, priority=5)
    spec = plans.ProcessSpec(name="hog", component="hog", node="a", argv=(), allowance=allowed)
    machine = plans.Machine(cores=2, cpu_groups=folders["cpu"], memory_groups=folders["memory"])
    host = plans.PlannedNode(
        name="a", switch=False, address="10.0.0.1", routes=(), allowance=plans.Allowance(cpu=0.5)
    )
    plan = plans.Plan(
        name="v2",
        seed=1,
        duration_ns=0,
        ready_limit_ns=0,
        drain_limit_ns=0,
        directory="1",
        machine=machine,
        nodes=(host,),
        links=(),
        processes=(spec,),
        declaration={},
    )
    with caps.apply_caps(plan) as made:
        (group,) = made.processes[0].groups
        hog = os.fork()
        if hog == 0:
            Path(group, "cgroup.procs").write_text(str(os.getpid()))
            os._exit(len(bytearray(100 << 20).replace(bytes(1), bytes(1))) & 1)
        status = os.waitstatus_to_exitcode(os.waitpid(hog, 0)[1])
        files = {
            name: Path(group, name).read_text().strip()
            for name in ("cpu.max", "cpu.weight.nice", "memory.max")
        }
        return {"folders": folders, "status": status, "kills": caps.memory_kills([group]), **files}


MEASURES: dict[str, Callable[..., dict[str, Any]]] = {
    function.__name__: function
    for function in (
        round_trips,
        throughput,
        loaded_round_trips,
        loss,
        segments,
        cuts,
        killed_delay_line,
        surroundings,
        built,
        counted,
        long_cut,
        degraded,
        on_its_way,
        gaps,
        walls,
        lossy,
        narrowed,
        rerouted,
        spread,
        calibration,
        calibration_of_a_wrong_link,
        calibration_of_rates,
        capped_by_v2,
    )
}


MEASURES |= packet_measures.MEASURES


def measure(plan_path: str, folder: str, name: str) -> dict[str, Any]:
    """Build the plan and take one measurement."""
    plan = plans.read(Path(plan_path))
    with network(plan, Path(folder)) as net:
        return rerouted(net, plan) if name == "rerouted" else (MEASURES | STREAMS)[name](net)
