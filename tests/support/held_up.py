"""Tell whether this machine was held up, and measure again only then.

A machine is held up when the hypervisor takes its processors away, or other programs use them.
This is the one policy for repeating a measurement; nothing else in the tests retries a failure:

- What passes counts, held up or not: a busy machine makes it harder to pass, never easier.
- What fails in calm fails at once.
- What fails while the machine is held up is measured again in calm, ATTEMPTS times in all.
- What failed each time while the machine was held up is `NotMeasured`: it is skipped, and the end
  of the test run lists and counts it. With `scripts/test --strict` the test run then fails.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Generator
from typing import TypeVar

import pytest

NAP_S = 0.002
LATE_S = 0.02
"""A thread that wakes up later than this was held up."""
CALM_S = 1.0
PATIENCE_S = 20.0
ATTEMPTS = 3
EXCUSED = (AssertionError, subprocess.TimeoutExpired)
"""What a machine that is held up can cause. Any other exception is a defect of the test."""

Result = TypeVar("Result")

repeated: list[str] = []
"""One line for each measurement that was taken again, for the summary."""
not_measured: list[str] = []
"""One line for each test that was never measured in calm, for the summary."""


class NotMeasured(pytest.skip.Exception):
    """The machine was held up at each attempt, so nothing is known."""


class Pulse(threading.Thread):
    """Takes short naps during a block, and notes when it woke up late."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.latest_s = 0.0
        self.late_at_s: list[float] = []
        """When it woke up later than LATE_S, on the monotonic clock."""
        self._over = threading.Event()

    def run(self) -> None:
        before = time.monotonic()
        while not self._over.wait(NAP_S):
            now = time.monotonic()
            late_s = now - before - NAP_S
            self.latest_s = max(self.latest_s, late_s)
            if late_s > LATE_S:
                self.late_at_s.append(now)
            before = now

    @property
    def held_up(self) -> bool:
        return bool(self.late_at_s)

    def held_up_between(self, start_s: float, end_s: float) -> bool:
        return any(start_s <= late_s <= end_s for late_s in self.late_at_s)

    def __enter__(self) -> Pulse:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()


def measure_in_calm(
    measurement: Callable[[], Result], *, excused: tuple[type[Exception], ...] = EXCUSED
) -> Result:
    """Return what the measurement returns. Raise what it raises in calm, or `NotMeasured`."""
    for attempt in range(1, ATTEMPTS + 1):
        with Pulse() as pulse:
            try:
                return measurement()
            except excused as error:
                failure = error
        if not pulse.held_up:
            raise failure
        reason = f"woken {pulse.latest_s * 1000:.0f} ms late: {first_line(failure)}"
        if attempt < ATTEMPTS:
            repeated.append(f"{current_test()}: {reason}")
            wait_for_calm()
    raise NotMeasured(f"not measured: held up at each of {ATTEMPTS} attempts: {reason}")


def first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def current_test() -> str:
    """The id of the running test; pytest appends the stage in brackets."""
    return os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]


def wait_for_calm() -> None:
    """Wait until the machine was not held up for CALM_S, but at most PATIENCE_S."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with Pulse() as pulse:
            time.sleep(CALM_S)
        if not pulse.held_up:
            return


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all-measured",
        action="store_true",
        help="fail if anything could not be measured because the machine was held up",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    if call.excinfo and isinstance(call.excinfo.value, NotMeasured):
        not_measured.append(f"{item.nodeid}: {call.excinfo.value}")
    return (yield)


def pytest_sessionfinish(session: pytest.Session) -> None:
    strict = session.config.getoption("--all-measured")
    if strict and not_measured and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in repeated:
        terminalreporter.write_line(f"MEASURED AGAIN {line}")
    for line in not_measured:
        terminalreporter.write_line(f"NOT MEASURED {line}")
    if repeated or not_measured:
        terminalreporter.write_line(
            f"{len(repeated)} measured again, {len(not_measured)} not measured in calm"
        )
