"""What the conductor loads delays every run, so it loads no library that only planning or judging
needs.
"""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("altair", "networkx", "polars", "rich", "ruamel", "typer", "vl_convert")


def test_the_conductor_loads_no_library_of_planning_or_judging() -> None:
    code = (
        "import sys, streambed.runner.conductor; "
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )

    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )
