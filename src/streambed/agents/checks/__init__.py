"""Agents that read stores and run batch jobs on behalf of checks."""
