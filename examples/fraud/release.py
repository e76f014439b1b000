"""Release the detector that waits, some time after the load has begun."""

from __future__ import annotations

import sys
import time
from pathlib import Path


def main(models: str, version: str, after_s: str) -> None:
    """Move it to where the job looks for models."""
    time.sleep(float(after_s))
    (Path(models) / "waiting" / version).rename(Path(models) / version)


if __name__ == "__main__":
    main(*sys.argv[1:])
