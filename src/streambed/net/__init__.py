"""The only code that changes the kernel's network: hosts, wires, shaping, machine probes."""
