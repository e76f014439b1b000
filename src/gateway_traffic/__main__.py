"""`python -m gateway_traffic`: the same as `gateway-traffic`."""

from gateway_traffic.cli import main

main()
