"""The address blocks of hosts and switches."""

from __future__ import annotations

HOSTS_NETWORK = "10.0"
SWITCHES_NETWORK = "10.255"
