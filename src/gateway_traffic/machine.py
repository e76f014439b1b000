"""Limits of the operating system."""

from __future__ import annotations

import resource


def allow_many_sockets() -> None:
    """Raise the limit on open files to its maximum: a client has thousands of sockets."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
