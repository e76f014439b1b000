"""What faults do to processes, besides killing and pausing them whole."""
