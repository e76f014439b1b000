"""Ways into a running network: shells, namespaces, exposed ports."""
