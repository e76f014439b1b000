"""Clients: many gateways in one process that send a trace to an ingest server and keep a ledger."""
