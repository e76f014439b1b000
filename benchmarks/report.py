"""Size of a report, and how long a browser takes to draw what it shows first.

    scripts/bench report [--quick] [RUN]

A real run of 60 s on 10 hosts, with three brokers, a fault and checks; or an existing run. `bytes`
is the size of report.html, `drawn_s` the time from the start of the navigation until every figure
in the window is drawn, in headless Chromium, the median of three. The last line is one JSON object.
`--quick`: a load of 4 s on 4 hosts, drawn once.
"""

from __future__ import annotations

import json
import queue
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import streambed
from benchmarks._arguments import parser
from streambed import Consumer, Experiment, Kafka, Latency, Link, NoLoss, Producer, Topology
from streambed.kinds.faults.kill import Kill
from streambed.reports import page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--window-size=1400,1000",
)
LIMIT_S = 60
BYTES_MAX, DRAWN_S_MAX = 1_500_000, 1.0
FRAME = b"""<!doctype html><body style="margin: 0">
<iframe src="/report.html" style="border: 0; width: 1400px; height: 1000px"></iframe>
<script>
setInterval(() => {
  const drawn = frames[0].document.body && frames[0].document.body.dataset.firstMs;
  if (drawn) fetch("/drawn", { method: "POST", body: drawn });
}, 100);
</script>"""
"""A page that opens the report and reports when its first figures were drawn."""


class Server(ThreadingHTTPServer):
    """Serves a report on loopback, and waits for the time at which it was drawn."""

    def __init__(self, report: bytes) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.report = report
        self.drawn: queue.Queue[int] = queue.Queue()


class Handler(BaseHTTPRequestHandler):
    """Answers the browser."""

    server: Server

    def do_GET(self) -> None:
        """The frame, or the report in it."""
        body = self.server.report if self.path == "/report.html" else FRAME
        self._answer(body)

    def do_POST(self) -> None:
        """The browser drew the report; the body says after how many milliseconds."""
        drawn_ms = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.drawn.put(int(drawn_ms))
        self._answer(b"")

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Do not log requests."""


def experiment(*, hosts: int, seconds: int) -> Experiment:
    """Three brokers; a producer on each other host, and a consumer on one of them."""
    names = [f"host{number}" for number in range(hosts)]
    brokers, clients = names[:3], names[3:]
    producers = [
        Producer(name=f"producer{number}", node=node, writes="lines", rate="50/s")
        for number, node in enumerate(clients)
    ]
    return Experiment(
        name="report-bench",
        duration=f"{seconds}s",
        topology=Topology(
            switches=["core"], links=[Link(ends=[name, "core"], delay="5ms") for name in names]
        ),
        components=[
            Kafka(name="kafka", nodes=brokers, topics={"lines": {"partitions": 3, "replicas": 3}}),
            *producers,
            Consumer(name="reader", node=clients[-1], reads="lines"),
        ],
        faults=[Kill(at=f"{seconds // 4}s", lasts=f"{seconds // 4}s", target="leader of lines/0")],
        checks=[NoLoss(topic="lines"), Latency(of="reader", p99="200ms")],
    )


def drawn_s(browser: str, path: Path) -> float:
    """Open the page in a fresh profile and wait until its first figures are drawn."""
    with (
        Server(path.read_bytes()) as server,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        command = [browser, *FLAGS, f"--user-data-dir={profile}", address]
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            return server.drawn.get(timeout=LIMIT_S) / 1e3
        except queue.Empty:
            raise SystemExit(f"the browser did not draw the page within {LIMIT_S} s") from None
        finally:
            running.terminate()
            running.wait(timeout=LIMIT_S)
            server.shutdown()


def main(folder: Path | None, *, quick: bool) -> None:
    """Make a run, time writing its report, and open it."""
    browser = next(
        (path_of_browser for name in BROWSERS if (path_of_browser := shutil.which(name))), None
    )
    if browser is None:
        raise SystemExit(f"this needs one of {', '.join(BROWSERS)} on PATH")
    hosts, seconds = (4, 4) if quick else (10, 60)
    with tempfile.TemporaryDirectory() as into:
        if folder is None:
            run = streambed.run(experiment(hosts=hosts, seconds=seconds), into=Path(into))
            streambed.check(run)
            folder = run.directory
        print(f"run in {folder}", file=sys.stderr)
        began = time.monotonic()
        path = page.write(folder)
        written_s = time.monotonic() - began
        times = [drawn_s(browser, path) for _ in range(1 if quick else 3)]
        size = path.stat().st_size
    figures: dict[str, Any] = {
        "bench": "report",
        "bytes": size,
        "drawn_s": round(statistics.median(times), 3),
        "written_s": round(written_s, 2),
    }
    within_limits = size <= BYTES_MAX and figures["drawn_s"] <= DRAWN_S_MAX
    print(json.dumps({**figures, "within_limits": within_limits}))


if __name__ == "__main__":
    words = parser(__doc__, quick="a load of 4 s on 4 hosts")
    words.add_argument("run", nargs="?", type=Path, help="the folder of a run to use instead")
    asked = words.parse_args()
    main(asked.run, quick=asked.quick)
