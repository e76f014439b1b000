"""A page in a real browser that a test can click in, by the DevTools protocol over two pipes."""

from __future__ import annotations

import fcntl
import json
import os
import select
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
TO_BROWSER, FROM_BROWSER = 3, 4
"""The descriptors that Chromium reads and writes."""
ANSWER_S = 120
ABOVE_OTHERS = 100
STANDS_STILL = """
window.middleOf = (element) => {
  const box = element.getClientRects()[0];
  return [box.x + box.width / 2, box.y + box.height / 2];
};
new Promise((done) => {
  let before = [], still = 0;
  const look = () => {
    const now = middleOf(ELEMENT);
    still = String(now) === String(before) ? still + 1 : 0;
    before = now;
    if (still < 20) setTimeout(look, 20); else done(true);
  };
  look();
})
"""
"""Waits until an element has not moved for 0.4 s: figures above it may still be drawn."""


class Page:
    """One tab. Every call waits for the browser's answer."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._buffer = b""
        self._last_id = 0
        self._session: dict[str, str] = {}
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = {"sessionId": attached["sessionId"]}

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command; returns its result."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": params, **self._session}
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next_message()
            if answer.get("id") == self._last_id:
                assert "error" not in answer, f"{method}: {answer}"
                result: dict[str, Any] = answer["result"]
                return result

    def _next_message(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], ANSWER_S)
            assert ready, f"the browser did not answer within {ANSWER_S} s"
            received = os.read(self._from, 1 << 20)
            assert received, "the browser ended"
            self._buffer += received
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript; a promise is waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def open(self, address: str, *, ready: str) -> None:
        """Open an address and wait until an expression is true."""
        self.call("Page.navigate", url=address)
        self.wait_for(ready)

    def wait_for(self, condition: str) -> None:
        """Wait until an expression is true; in the browser, so that no time is lost."""
        self.evaluate(
            "new Promise((done, fail) => {"
            f"  const late = setTimeout(() => fail(new Error('never true')), {ANSWER_S * 250});"
            f"  const look = () => {{ if ({condition}) {{ clearTimeout(late); done(true); }}"
            "    else setTimeout(look, 20); };"
            "  look(); })"
        )

    def click(self, selector: str) -> None:
        """Click in the middle of the first element that a selector finds, once it stands still."""
        element = f"document.querySelector({json.dumps(selector)})"
        self.evaluate(f"{element}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        self.evaluate(STANDS_STILL.replace("ELEMENT", element))
        x, y = self.evaluate(f"middleOf({element})")
        for kind in ("mousePressed", "mouseReleased"):
            event = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
            self.call("Input.dispatchMouseEvent", **event)


@contextmanager
def open_page(
    browser: str, profile: Path, *, width: int = 1180, height: int = 900
) -> Iterator[Page]:
    """A browser with one empty tab, which ends with the block."""
    its_input, to_browser = os.pipe()
    from_browser, its_output = os.pipe()
    inherited = [fcntl.fcntl(end, fcntl.F_DUPFD, ABOVE_OTHERS) for end in (its_input, its_output)]

    def connect() -> None:
        for end, number in zip(inherited, (TO_BROWSER, FROM_BROWSER), strict=True):
            os.dup2(end, number)

    started = subprocess.Popen(
        [browser, *FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"],
        stderr=subprocess.DEVNULL,
        pass_fds=(TO_BROWSER, FROM_BROWSER),
        preexec_fn=connect,
    )
    for end in (its_input, its_output, *inherited):
        os.close(end)
    try:
        yield Page(to_browser, from_browser)
    finally:
        for end in (to_browser, from_browser):
            os.close(end)  # The browser ends when nobody listens.
        with suppress(subprocess.TimeoutExpired):
            started.wait(timeout=10)
        started.kill()
        started.wait()
