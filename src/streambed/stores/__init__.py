"""Clients of stores: one module per engine, which alone imports its driver. See `store`."""
