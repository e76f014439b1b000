"""The errors of gateway_traffic.

GatewayTrafficError
├── UsageError        a wrong option, a file that is no trace, a store with other tables
│   └── NoStoreError  the store does not exist yet; a job may still create it
├── RecordError       a record that breaks its format; it is counted by its `flaw`
└── ServiceError      a port is taken, Kafka does not answer, topics are missing
"""

from __future__ import annotations


class GatewayTrafficError(Exception):
    """Any error of ours; its text is one clear sentence."""


class UsageError(GatewayTrafficError):
    """The user asked for something impossible."""


class NoStoreError(UsageError):
    """The store or its tables do not exist yet: a job creates them."""


class RecordError(GatewayTrafficError):
    """A record that breaks its format; `flaw` is the short name it is counted by."""

    def __init__(self, flaw: str, says: str) -> None:
        super().__init__(says)
        self.flaw = flaw


class ServiceError(GatewayTrafficError):
    """A server or the machine failed."""
