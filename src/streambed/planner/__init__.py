"""The planner: an experiment and a machine become a plan. Pure: no sockets, no environment."""
