"""What is asked of the machine."""

from __future__ import annotations

import resource


def allow_many_sockets() -> None:
    """As many open files as this user may have: each socket is one, and there are thousands."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
