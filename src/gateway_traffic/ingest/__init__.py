"""The ingest server: takes records by HTTP or WebSocket and acknowledges them once Kafka has."""
