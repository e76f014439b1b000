"""Which `Host` and `Origin` a server accepts from browsers.

A web page from elsewhere can send requests to a server on the reader's own machine. The browser
names the page in `Origin`; and if the page's owner lets its DNS name point to that machine (DNS
rebinding), `Host` has that name. So a name is accepted only if it cannot be rebound, an address or
`localhost`, or if it was allowed by name.
"""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import urlsplit

LOCAL = "localhost"


def accepts_host(host: str, allowed: Collection[str]) -> bool:
    """Whether a server answers to this `Host`, with or without a port."""
    name = _name_of(f"//{host}")
    return name == LOCAL or _is_address(name) or name in allowed


def accepts_origin(origin: str, host: str, allowed: Collection[str]) -> bool:
    """Whether a page with this `Origin` may send records to the server that it calls `host`.

    Its own origin is accepted if its name cannot be rebound, any other only if it is allowed.
    """
    if origin in allowed:
        return True
    same = urlsplit(origin).netloc.lower() == host.lower()
    return same and accepts_host(host, ())


def _name_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
