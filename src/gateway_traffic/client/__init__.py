"""Clients: many gateways in one process, which send a trace to an ingest server and keep a ledger
of what became of each record.
"""
