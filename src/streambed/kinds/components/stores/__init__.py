"""Stores: servers and files that sinks write and users query."""
