"""Libraries that a command loads when it first uses them."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path


def loaded(program: str, folder: Path) -> str:
    """What a program prints, run beside the modules that a test has written."""
    words = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def test_before_the_box_starts_a_run_loads_no_data_frames(tmp_path: Path):
    program = """
        import sys
        from streambed.cli import startup
        startup.load_when_used()
        import streambed.cli.run
        late = [name for name in startup.LARGE if isinstance(sys.modules[name], startup.LateModule)]
        print(*late)
        """

    assert {"polars", "pyarrow", "networkx", "numpy"} <= set(loaded(program, tmp_path).split())


def test_two_threads_that_first_use_a_library_both_get_it_whole(tmp_path: Path):
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(0.3)\nvalue = 7\n")
    program = """
        import threading
        from streambed.cli import startup
        startup.load_when_used(("slow",))
        import slow
        values = []
        threads = [threading.Thread(target=lambda: values.append(slow.value)) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(values)
        """

    assert loaded(program, tmp_path).strip() == "[7, 7, 7, 7]"


def test_a_name_that_a_library_lacks_is_an_attribute_error(tmp_path: Path):
    (tmp_path / "small.py").write_text("value = 7\n")
    program = """
        from streambed.cli import startup
        startup.load_when_used(("small",))
        import small
        print(hasattr(small, "other"), small.value, type(small).__name__)
        """

    assert loaded(program, tmp_path).strip() == "False 7 module"
