"""The address at which clusters outside reach this machine."""

from __future__ import annotations

import socket

from streambed.errors import WorldError


def own_address(cluster: str) -> str:
    """The address of this machine that the kernel uses towards a cluster, such as
    spark://HOST:PORT or HOST:PORT,HOST:PORT. WorldError if there is no way to it.
    """
    first = cluster.rpartition("://")[2].split(",")[0]
    host, _, port = first.rpartition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((host, int(port)))  # Nothing is sent: the kernel only chooses an address.
        except (OSError, ValueError) as error:
            raise WorldError(
                f"'{cluster}' cannot be reached: {error}. "
                "Give it as HOST:PORT, Spark's master as spark://HOST:PORT"
            ) from None
        return str(probe.getsockname()[0])
