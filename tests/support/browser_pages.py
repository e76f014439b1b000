"""A page as a headless browser shows it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

QUIET = (
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def document(browser: str, path: Path, profile: Path, part: str = "") -> str:
    """The page as the browser holds it once its scripts have run; `part` is the address's hash."""
    flags = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        *QUIET,
        f"--user-data-dir={profile}",
        "--window-size=1400,1200",
        "--virtual-time-budget=20000",
    )
    done = subprocess.run(
        [browser, *flags, "--dump-dom", path.as_uri() + part],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    return done.stdout


def marks(document: str) -> dict[str, int]:
    """How many marks each figure drew, by its name."""
    parts = re.split(r'id="figure-(\w+)"', document)[1:]
    figures = zip(parts[::2], parts[1::2], strict=True)
    return {
        name: len(re.findall(r'<path [^>]*\bd="M', text.split("<figcaption")[0]))
        for name, text in figures
    }
