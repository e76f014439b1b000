"""A box for one measurement: `python -m tests.support.kernel.box plan.json folder measure` enters
namespaces, builds the plan, measures, writes JSON.

Each test starts a fresh process of it, because the kernel refuses a user namespace to a process
with threads.
"""

from __future__ import annotations

import json
import os
import sys

from streambed.net import box_entry, realtime


def main(plan_path: str, folder: str, name: str) -> None:
    """Process 1 of the box builds, measures and writes; this one waits for it."""
    realtime.claim()
    box_entry.enter_namespaces()
    first = os.fork()
    if first:
        realtime.give_up()
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]))
    box_entry.settle_as_first()
    realtime.keep()
    from tests.support.kernel.measures import (
        measure,  # Only now: some of what it imports starts threads.
    )

    sys.stdout.write(json.dumps(measure(plan_path, folder, name)))


if __name__ == "__main__":
    main(*sys.argv[1:])
