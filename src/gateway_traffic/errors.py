"""What can go wrong.

GatewayTrafficError
├── UsageError      what was asked for cannot be: a wrong option, a file that is no trace, a store with other tables
│   └── NoStoreError    no job has made the store; one may still do
├── RecordError     a record that is not as its format says; `flaw` is the short name under which it is counted
└── ServiceError    the world failed: a port is taken, Kafka does not answer, topics are missing
"""

from __future__ import annotations


class GatewayTrafficError(Exception):
    """Any error of ours; its text is one clear sentence."""


class UsageError(GatewayTrafficError):
    """What was asked for cannot be."""


class NoStoreError(UsageError):
    """There is no such store, or its tables are not there: a job makes them."""


class RecordError(GatewayTrafficError):
    """A record that is not as its format says."""

    def __init__(self, flaw: str, says: str) -> None:
        super().__init__(says)
        self.flaw = flaw


class ServiceError(GatewayTrafficError):
    """A server or the machine failed."""
