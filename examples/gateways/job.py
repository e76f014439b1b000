"""The command gateway-traffic as a script, for programs that start scripts, such as Spark's."""

from gateway_traffic.cli import main

main()
