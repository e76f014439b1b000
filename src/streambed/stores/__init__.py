"""Stores seen from a client: one module for each engine, which alone knows its driver. See `store`
for what they share.
"""
