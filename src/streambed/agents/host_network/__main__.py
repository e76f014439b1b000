"""Enter the networks of several hosts, and then become the agent that the command line names."""

from __future__ import annotations

import runpy
import sys

from streambed.agents import host_network

if __name__ == "__main__":
    host_network.enter_all()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
