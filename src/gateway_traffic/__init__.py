"""Traffic of home gateways: records, traces, clients and an ingest server in front of any Kafka.
Knows nothing of streambed.
"""
