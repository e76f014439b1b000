"""Faults inside processes and below them: their clocks, their syncs, the size of their disks."""
