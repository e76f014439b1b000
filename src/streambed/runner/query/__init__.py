"""Queries to the stores of a run that lasts, or that is over."""
