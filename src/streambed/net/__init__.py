"""The only code that touches the kernel's network: hosts, wires, shaping, and what this machine can
do.
"""
