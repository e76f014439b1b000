"""Control groups: caps of CPU and memory for hosts and processes."""
