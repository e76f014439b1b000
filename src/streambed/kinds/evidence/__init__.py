"""What checks and reports find out from a history: the course of a run, its readers, and what
covers what.
"""
