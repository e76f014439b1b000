"""The ingest server: records of gateways come in by HTTP or WebSocket, and are acknowledged once
Kafka has acknowledged them.
"""
