"""Accuracy of a skewed clock as seen by processes: Python and each Java on this machine.

Each process reports its wall clock against its monotonic clock and how long timed waits take,
before, during and after its clock is skewed. `measure()` returns, for each runtime:

    wall_error_ms   largest error of the wall clock (± 1 ms is promised)
    wait_error_ms   largest error of a timed wait (± 2 ms is promised)
    inject_ms       how long it took to skew the clock
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streambed.artifacts import java
from streambed.net.tampering.clocks import SessionClock

WAIT_MS, TRIES = 60, 3
AHEAD_NS, RATE, DRIFT_S = 3600 * 10**9, -0.1, 0.5
PYTHON_PROGRAM = f"""
import queue, select, sys, threading, time

def clocks():
    reads = [(time.monotonic_ns(), time.time_ns(), time.monotonic_ns()) for _ in range(50)]
    first, wall, last = min(reads, key=lambda read: read[2] - read[0])
    return wall - (first + last) // 2, last

def take(wait):
    start = time.monotonic_ns()
    wait({WAIT_MS} / 1e3)
    return (time.monotonic_ns() - start) / 1e6

def poll(seconds):
    try:
        queue.Queue().get(timeout=seconds)
    except queue.Empty:
        pass

waits = [time.sleep, threading.Event().wait, poll, lambda s: select.select([], [], [], s)]
for line in sys.stdin:
    if line == "clocks\\n":
        print(*clocks(), flush=True)
    else:
        print(*[min(take(wait) for _ in range({TRIES})) for wait in waits], flush=True)
"""
JAVA_PROGRAM = f"""
import java.time.Instant;
import java.util.Scanner;
import java.util.concurrent.*;
import static java.util.concurrent.TimeUnit.MILLISECONDS;

public class Skewed {{
  interface Wait {{ void take() throws Exception; }}
  static final Object LOCK = new Object();

  static String clocks() {{
    long best = Long.MAX_VALUE, difference = 0, at = 0;
    for (int i = 0; i < 2000; i++) {{
      long first = System.nanoTime();
      Instant now = Instant.now();
      long last = System.nanoTime();
      if (last - first < best) {{
        best = last - first;
        at = last;
        difference = now.getEpochSecond() * 1_000_000_000L + now.getNano() - (first + last) / 2;
      }}
    }}
    return difference + " " + at;
  }}

  static String shortest(Wait wait) throws Exception {{
    double best = 1e9;
    for (int i = 0; i < {TRIES}; i++) {{
      long start = System.nanoTime();
      wait.take();
      best = Math.min(best, (System.nanoTime() - start) / 1e6);
    }}
    return best + " ";
  }}

  public static void main(String[] words) throws Exception {{
    Scanner lines = new Scanner(System.in);
    while (lines.hasNextLine())
      if (lines.nextLine().equals("clocks"))
        System.out.println(clocks());
      else
        System.out.println(
            shortest(() -> Thread.sleep({WAIT_MS}))
            + shortest(() -> {{ synchronized (LOCK) {{ LOCK.wait({WAIT_MS}); }} }})
            + shortest(() -> new LinkedBlockingQueue<String>().poll({WAIT_MS}, MILLISECONDS))
            + shortest(() -> new CountDownLatch(1).await({WAIT_MS}, MILLISECONDS)));
  }}
}}
"""


class Observed:
    """A process that reports its clocks and takes timed waits on request."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.clock = SessionClock(lambda: [process.pid])

    def ask(self, question: str) -> list[float]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(f"{question}\n")
        self._process.stdin.flush()
        return [float(word) for word in self._process.stdout.readline().split()]

    def clocks(self) -> tuple[int, int]:
        """The wall clock minus the monotonic clock, and the monotonic clock, in nanoseconds."""
        difference, at = self.ask("clocks")
        return int(difference), int(at)

    def wait_error_ms(self) -> float:
        """The largest error of a timed wait."""
        return max(abs(taken_ms - WAIT_MS) for taken_ms in self.ask("waits"))


def runtimes(folder: Path) -> dict[str, list[str]]:
    """Commands of the observed programs: Python, and each Java if a compiler is available."""
    commands = {"python": [sys.executable, "-c", PYTHON_PROGRAM]}
    homes = sorted(Path("/usr/lib/jvm").glob("*/bin/java"))
    wheel = java.wheel_java()
    programs = [*java.installed_programs({"PATH": "/usr/bin:/bin"}), *homes]
    compilers = [path for path in (Path(p).with_name("javac") for p in programs) if path.exists()]
    compiler = next(map(str, compilers), shutil.which("javac"))
    if not compiler:
        return commands
    (folder / "Skewed.java").write_text(JAVA_PROGRAM)
    arguments = ["--release", "17", "-d", str(folder), str(folder / "Skewed.java")]
    subprocess.run([compiler, *arguments], check=True)
    for program in filter(None, [*programs, wheel]):
        version, _ = java.version_of(Path(program))
        commands.setdefault(
            f"java {version}", [str(program), "-Xshare:auto", "-cp", str(folder), "Skewed"]
        )
    return commands


@contextmanager
def observed(command: list[str]) -> Iterator[Observed]:
    """Run an observed process during the block."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Observed(process)
        finally:
            process.kill()


def measure_one(process: Observed) -> dict[str, float]:
    """Measure one runtime: a jump, then a drift, then healed."""
    process.ask("waits")  # Lets the runtime compile and warm up.
    right_ns, _ = process.clocks()
    start = time.perf_counter()
    heal = process.clock.skew(ahead_ns=AHEAD_NS, rate=0.0)
    inject_ms = (time.perf_counter() - start) * 1e3
    errors_ns = [process.clocks()[0] - right_ns - AHEAD_NS]
    wait_errors_ms = [process.wait_error_ms()]
    heal()
    errors_ns.append(process.clocks()[0] - right_ns)
    heal = process.clock.skew(ahead_ns=0, rate=RATE)
    first_ns, first_at = process.clocks()
    time.sleep(DRIFT_S)
    last_ns, last_at = process.clocks()
    errors_ns.append(last_ns - first_ns - round(RATE * (last_at - first_at)))
    wait_errors_ms.append(process.wait_error_ms())
    heal()
    errors_ns.append(process.clocks()[0] - right_ns)
    return {
        "wall_error_ms": round(max(map(abs, errors_ns)) / 1e6, 4),
        "wait_error_ms": round(max(wait_errors_ms), 3),
        "inject_ms": round(inject_ms, 2),
    }


def measure() -> dict[str, dict[str, float]]:
    """Figures of each runtime on this machine."""
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, command in runtimes(Path(folder)).items():
            with observed(command) as process:
                figures[name] = measure_one(process)
    return figures
