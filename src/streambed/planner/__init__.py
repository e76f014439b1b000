"""Turn an experiment into a plan for one machine. Pure: no sockets, no environment."""
