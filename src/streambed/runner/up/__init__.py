"""Servers on this machine's loopback, without an experiment: `streambed up`."""
