"""Entry point for an isolated Python, which finds only the standard library: add our package."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    sys.path[0] = os.path.abspath(os.path.join(__file__, "..", "..", "..", ".."))
    from streambed.agents.delay_line.program import main

    main(sys.argv[1])
