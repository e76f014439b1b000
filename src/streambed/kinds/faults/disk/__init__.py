"""Faults of disks and files."""
